// SPDX-License-Identifier: Apache-2.0
#include "wire/settings/join_settings.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/compress/zstd_library.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::wire {
namespace {

Error bad(const char* variable, std::string_view text, const char* what) {
  return {ErrorKind::kConfiguration, fmt::format("{}={}: {}", variable, text, what)};
}

/// Fails also if there is no zstd.
Result<void> read_compression(SystemSize& size) {
  const char* text = secure_getenv("IMPISHIM_COMPRESSION");
  if (text == nullptr) return {};
  const auto compressed = parse_compression(text);
  if (!compressed) return bad("IMPISHIM_COMPRESSION", text, "use off (default) or zstd");
  size.compressed = *compressed;
  if (!*compressed) return {};
  const auto loaded = load_zstd();
  return loaded ? loaded : bad("IMPISHIM_COMPRESSION", text, loaded.error().text.c_str());
}

Result<void> read_size(SystemSize& size) {
  if (const char* text = secure_getenv("IMPISHIM_HOST_PROCS"); text != nullptr) {
    const auto procs = parse_host_procs(text);
    if (!procs)
      return bad("IMPISHIM_HOST_PROCS", text,
                 "use auto (default), node, or a number of processes per host of at least 1");
    size.host_procs = *procs;
  }
  auto read = read_variable("IMPISHIM_MAX_CHANNELS", 1, 1 << 20, size.max_channels);
  if (read) read = read_variable("IMPISHIM_LANES", 1, 1 << 20, size.lanes);
  if (read) read = read_variable("IMPISHIM_RECONNECT", 0, kMostReconnect, size.reconnect);
  if (!read) return read;
  if (const char* text = secure_getenv("IMPISHIM_STREAMS"); text != nullptr) {
    const auto streams = parse_streams(text);
    if (!streams) return bad("IMPISHIM_STREAMS", text, "auto or a number from 1 to 16 is needed");
    size.streams = *streams;
    if (*streams != 1 && size.reconnect == 0)
      return bad("IMPISHIM_STREAMS", text,
                 "only connections that are taken up again can be several: IMPISHIM_RECONNECT must "
                 "not be 0");
  }
  return read_compression(size);
}

Result<void> read_tcp(TcpOptions& tcp) {
  constexpr int kMostHeartbeat = 3600;
  int seconds = static_cast<int>(tcp.heartbeat.interval.count());
  auto read = read_variable("IMPISHIM_HEARTBEAT", 1, kMostHeartbeat, seconds);
  if (!read) return read;
  tcp.heartbeat.interval = std::chrono::seconds(seconds);
  const char* text = secure_getenv("IMPISHIM_CONGESTION");
  if (text == nullptr) return {};
  tcp.congestion_control = text;
  return check_congestion_control("IMPISHIM_CONGESTION", tcp.congestion_control);
}

/// Reads IMPISHIM_KERNEL_TLS, after IMPISHIM_RECONNECT.
Result<void> read_kernel_tls(JoinSettings& settings) {
  constexpr const char* kName = "IMPISHIM_KERNEL_TLS";
  const char* text = secure_getenv(kName);
  if (text == nullptr) return {};
  settings.tcp.kernel_tls = std::string_view(text) == "on";
  if (!settings.tcp.kernel_tls && std::string_view(text) != "off")
    return bad(kName, text, "use off (default) or on");
  if (!settings.tcp.kernel_tls || settings.size.reconnect != 0) return {};
  return bad(kName, text,
             "the kernel cannot change the key of a connection, so another connection has to take "
             "over when it is used up: IMPISHIM_RECONNECT must not be 0");
}

/// Reads where this host listens.
Result<void> read_listening(JoinSettings& settings) {
  if (const char* text = secure_getenv("IMPISHIM_HOST_ADDRESS"); text != nullptr)
    settings.address = text;
  if (const char* text = secure_getenv("IMPISHIM_PORT"); text != nullptr) {
    const auto ports = PortRange::parse("IMPISHIM_PORT", text);
    if (!ports) return ports.error();
    settings.ports_text = text;
    settings.ports = *ports;
  }
  const char* text = secure_getenv("IMPISHIM_LISTEN_ADDRESS");
  if (text == nullptr) return {};
  settings.listen_address = text;
  if (!settings.address.empty() && settings.ports.first != 0) return {};
  return bad("IMPISHIM_LISTEN_ADDRESS", text,
             "an address translator forwards a known port: set IMPISHIM_HOST_ADDRESS to the "
             "address at which others reach this machine, and IMPISHIM_PORT to the port there");
}

/// Returns the address of this host if no user has named one.
Result<HostId> automatic_address(const std::string& server) {
  if (!server.empty()) return address_towards(server);
  // Other jobs will connect, so the loopback address is for a machine that has no other.
  auto address = address_for_others();
  return address ? address : parse_address("127.0.0.1");
}

}  // namespace

Result<JoinSettings> JoinSettings::from_environment() {
  JoinSettings settings;
  auto read = read_listening(settings);
  if (read) read = read_size(settings.size);
  if (read) read = read_tcp(settings.tcp);
  if (read) read = read_kernel_tls(settings);
  if (!read) return read.error();
  return settings;
}

Result<HostPlace> find_place(const JoinSettings& settings, const std::string& server) {
  HostPlace place;
  if (settings.address.empty()) {
    auto address = automatic_address(server);
    if (!address) return address.error();
    place.announced = {*address};
  } else {
    auto own = parse_own_addresses("IMPISHIM_HOST_ADDRESS", settings.address);
    if (!own) return own.error();
    place.announced = std::move(*own);
  }
  place.listening = place.announced;
  if (settings.listen_address.empty()) return place;
  if (place.announced.size() > 1)
    return bad("IMPISHIM_HOST_ADDRESS", settings.address,
               "with IMPISHIM_LISTEN_ADDRESS it is the address of the translator, and can only be "
               "one");
  auto listening = parse_own_address("IMPISHIM_LISTEN_ADDRESS", settings.listen_address);
  if (!listening) return listening.error();
  place.listening = {*listening};
  return place;
}

std::int64_t count_free_ports(const JoinSettings& settings, const HostPlace& place) {
  constexpr int kMostTried = 64;
  std::int64_t free = 0;
  const int last = std::min<int>(settings.ports.last, settings.ports.first + kMostTried - 1);
  for (int port = settings.ports.first; port > 0 && port <= last; ++port) {
    const auto only = PortRange::only(static_cast<std::uint16_t>(port));
    if (HostListener::open(place.listening, only)) ++free;
  }
  return free;
}

}  // namespace impishim::wire
