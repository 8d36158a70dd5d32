// SPDX-License-Identifier: Apache-2.0
// impirun -server and impirun -name-server.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/metrics_form.hpp"
#include "wire/launch/name_server.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/port/name_service.hpp"
#include "wire/port/open_port.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/server/startup_server.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::launch {

int run_server(const CommandLine& line) {
  wire::RendezvousOptions options;
  options.verbose = line.verbose;
  options.quiet = line.quiet;
  options.clients = line.clients;
  options.relays = line.relay;
  options.port = static_cast<std::uint16_t>(line.port);
  options.timeout_ms = line.timeout_s == 0 ? -1 : line.timeout_s * 1000;
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsageStatus);
  options.methods = *methods;
  if (const char* address = secure_getenv("IMPISHIM_HOST_ADDRESS"); address != nullptr)
    options.address = address;
  auto reconnect = read_variable("IMPISHIM_RECONNECT", 0, wire::kMostReconnect, options.reconnect);
  if (!reconnect) return complain(reconnect.error(), kUsageStatus);
  if (line.preference) {
    auto preference = wire::parse_preference(*line.preference);
    if (!preference) return complain(preference.error(), kUsageStatus);
    options.preference = *preference;
    if (std::none_of(preference->begin(), preference->end(),
                     [&](auto method) { return methods->enables(method); })) {
      return complain(
          {ErrorKind::kAuthentication, fmt::format("no authentication method available: -auth {} "
                                                   "names none that is enabled (0: IMPI_AUTH_NONE, "
                                                   "1: IMPI_AUTH_KEY or IMPI_AUTH_KEY_FILE)",
                                                   *line.preference)},
          kUsageStatus);
    }
  }
  // It must outlive the server, of which it asks.
  auto metrics = open_metrics();
  if (!metrics) return complain(metrics.error(), kUsageStatus);
  auto server = wire::Rendezvous::open(options);
  if (!server) return complain(server.error(), kUsageStatus);
  if (const int status = print(server->address() + "\n"); status != 0) return status;
  if (*metrics) {
    auto started = (*metrics)->start(server->address(), options.methods);
    if (!started) return complain(started.error(), kFailureStatus);
  }
  auto served = server->serve();
  return served ? 0 : complain(served.error(), kFailureStatus);
}

int run_name_server(const CommandLine& line) {
  const auto end = watch_end_signals();
  if (!end) return complain(end.error(), kFailureStatus);
  auto server = open_name_server(static_cast<std::uint16_t>(line.port));
  if (!server) return complain(server.error(), kUsageStatus);
  const int status =
      print(fmt::format("{}={}\n", wire::kNameServerVariable, (*server)->name().text()));
  if (status != 0) return status;
  auto served = wire::serve_names(**server, end->get());
  return served ? 0 : complain(served.error(), kFailureStatus);
}

}  // namespace impishim::launch
