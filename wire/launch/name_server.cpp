// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/name_server.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/port/name_service.hpp"
#include "wire/port/open_port.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {

Result<std::unique_ptr<wire::OpenPort>> open_name_server(std::uint16_t port) {
  const char* const named = secure_getenv("IMPISHIM_HOST_ADDRESS");
  if (named != nullptr) {
    const auto own = wire::parse_own_addresses("IMPISHIM_HOST_ADDRESS", named);
    if (!own) return own.error();
    return wire::OpenPort::open(own->front(), wire::PortRange::only(port));
  }
  const auto address = wire::address_for_others();
  if (!address) return address.error();
  return wire::OpenPort::open(*address, wire::PortRange::only(port));
}

Result<std::unique_ptr<wire::OpenPort>> open_own_name_server() {
  if (secure_getenv(wire::kNameServerVariable) != nullptr) return std::unique_ptr<wire::OpenPort>();
  const auto address = wire::parse_address("127.0.0.1");
  if (!address) return address.error();
  auto opened = wire::OpenPort::open(*address);
  if (opened) setenv(wire::kNameServerVariable, (*opened)->name().text().c_str(), 1);
  return opened;
}

Result<Descriptor> watch_end_signals() {
  Descriptor signals = watch_signals(signals_among({SIGINT, SIGTERM, SIGHUP}));
  if (!signals.valid())
    return Error{ErrorKind::kSystem, fmt::format("signalfd failed: {}", std::strerror(errno))};
  return signals;
}

void serve_in_background(std::shared_ptr<wire::OpenPort> server) {
  if (server == nullptr) return;
  quiet_thread("names", [server = std::move(server)] {
    const auto served = wire::serve_names(*server, -1);
    if (!served) log(LogArea::kStartup, LogLevel::kError, "name server: {}", served.error().text);
  }).detach();
}

}  // namespace impishim::launch
