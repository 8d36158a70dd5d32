// SPDX-License-Identifier: Apache-2.0
// The settings from the environment.
#include <fmt/format.h>
#include <stdlib.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "collectives/core/select.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/startup/session.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/peer/relay_options.hpp"
#include "wire/settings/join_settings.hpp"
#include "wire/shuffle/shuffle_options.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::shim {
namespace {

std::optional<int> whole_number(const char* text, int low, int high) {
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high)
    return std::nullopt;
  return value;
}

Error bad(const char* variable, const char* text, const char* allowed) {
  return Error{ErrorKind::kConfiguration, fmt::format("{}={}: {}", variable, text, allowed)};
}

/// Reads where the job meets.
Result<void> read_server(JobSettings& request) {
  const char* server = secure_getenv("IMPISHIM_SERVER");
  const char* client = secure_getenv("IMPISHIM_CLIENT");
  request.wanted = server != nullptr || client != nullptr;
  if (!request.wanted) return {};
  if (server != nullptr && std::strcmp(server, "self") == 0) {
    return client == nullptr ? Result<void>()
                             : bad("IMPISHIM_CLIENT", client,
                                   "with IMPISHIM_SERVER=self this system is the whole job; unset "
                                   "it");
  }
  if (server == nullptr || client == nullptr) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("{} is set but {} is not: a joined job needs both (impirun sets them)",
                             server != nullptr ? "IMPISHIM_SERVER" : "IMPISHIM_CLIENT",
                             server != nullptr ? "IMPISHIM_CLIENT" : "IMPISHIM_SERVER")};
  }
  if (*server == '\0')
    return bad("IMPISHIM_SERVER", server,
               "the address:port of the rendezvous server is needed, or self");
  request.server = server;
  const auto index = whole_number(client, 0, 31);
  if (!index) return bad("IMPISHIM_CLIENT", client, "a client's number from 0 to 31 is needed");
  request.client = *index;
  return {};
}

/// Reads IMPISHIM_GATEWAY. The valid ranks are known only to the system as a whole, so join()
/// checks them.
Result<void> read_gateways(JobSettings& request) {
  if (const char* text = secure_getenv("IMPISHIM_GATEWAY"); text != nullptr) {
    request.gateways = text;
    if (request.gateways.empty())
      return bad("IMPISHIM_GATEWAY", text, "native ranks are needed, as in 0 or 0,8,16 or 0-3");
    if (request.joining.size.host_procs != wire::kHostProcsAuto) {
      return bad("IMPISHIM_GATEWAY", text,
                 "each gateway has a host of its own, so that IMPISHIM_HOST_PROCS has no meaning; "
                 "unset one of the two");
    }
  }
  if (const char* text = secure_getenv("IMPISHIM_GATEWAY_ADDRESS"); text != nullptr) {
    if (request.gateways.empty())
      return bad("IMPISHIM_GATEWAY_ADDRESS", text, "it needs IMPISHIM_GATEWAY, which is not set");
    request.gateway_address = text;
  }
  return {};
}

/// Reads IMPISHIM_MONITOR. The server must be one that others reach.
Result<void> read_monitor(JobSettings& request) {
  const char* text = secure_getenv("IMPISHIM_MONITOR");
  if (text == nullptr) return {};
  request.monitor = std::strcmp(text, "on") == 0;
  if (!request.monitor && std::strcmp(text, "off") != 0)
    return bad("IMPISHIM_MONITOR", text, "use on, or off (default)");
  if (request.monitor && request.server.empty())
    return bad("IMPISHIM_MONITOR", text,
               "no other program reaches the server of IMPISHIM_SERVER=self: unset one of the two");
  return {};
}

/// Reads IMPISHIM_ANSWER_TIME.
Result<void> read_answer_time(JobSettings& request) {
  constexpr int kLeastAnswerTime = 10;
  auto answer = read_variable("IMPISHIM_ANSWER_TIME", 0, wire::kMostReconnect, request.answer_time);
  if (!answer || request.answer_time == 0 || request.answer_time >= kLeastAnswerTime) return answer;
  return bad("IMPISHIM_ANSWER_TIME", std::to_string(request.answer_time).c_str(),
             "0, or at least 10 seconds are needed: processes are asked every three");
}

}  // namespace

Result<JobSettings> JobSettings::from_environment() {
  JobSettings request;
  auto wanted = read_server(request);
  if (!wanted) return wanted.error();
  if (!request.wanted) return request;
  auto logging = configure_log();
  if (!logging) return logging.error();
  set_log_place(request.client, -1);
  auto joining = wire::JoinSettings::from_environment();
  if (!joining) return joining.error();
  request.joining = std::move(*joining);
  auto gateways = read_gateways(request);
  if (!gateways) return gateways.error();
  if (const char* text = secure_getenv("IMPISHIM_WORLD"); text != nullptr) {
    request.split_world = std::strcmp(text, "split") == 0;
    if (!request.split_world && std::strcmp(text, "joined") != 0)
      return bad("IMPISHIM_WORLD", text, "use joined (default) or split");
  }
  if (const char* text = secure_getenv("IMPISHIM_NATIVE_COLLECTIVES"); text != nullptr) {
    request.poll_native = std::strcmp(text, "polled") == 0;
    if (!request.poll_native && std::strcmp(text, "blocking") != 0)
      return bad("IMPISHIM_NATIVE_COLLECTIVES", text, "use blocking (default) or polled");
  }
  request.wire_format = "auto";
  if (const char* text = secure_getenv("IMPISHIM_WIRE_FORMAT"); text != nullptr) {
    request.wire_format = text;
    if (request.wire_format != "auto" && !wire::format_from_name(text)) {
      return bad("IMPISHIM_WIRE_FORMAT", text, "use auto (default), external32, native or wide");
    }
  }
  if (const char* text = secure_getenv("IMPISHIM_FOREIGN"); text != nullptr) {
    request.as_lam = std::strcmp(text, "lam") == 0;
    if (!request.as_lam && std::strcmp(text, "strict") != 0)
      return bad("IMPISHIM_FOREIGN", text, "use strict (default) or lam");
  }
  if (const char* text = secure_getenv("IMPISHIM_TEST_DELAY_MS"); text != nullptr) {
    const auto delay = whole_number(text, 0, 60000);
    if (!delay)
      return bad("IMPISHIM_TEST_DELAY_MS", text, "milliseconds from 0 to 60000 are needed");
    request.test_delay_ms = *delay;
  }
  auto monitor = read_monitor(request);
  if (!monitor) return monitor.error();
  auto answer_time = read_answer_time(request);
  if (!answer_time) return answer_time.error();
  auto nodes = read_variable("IMPISHIM_TEST_NODE_PROCS", 1, 1 << 20, request.test_node_procs);
  if (!nodes) return nodes.error();
  if (const char* text = secure_getenv("IMPISHIM_FABRIC"); text != nullptr) {
    auto fabric = wire::FabricChoice::parse(text);
    if (!fabric) return fabric.error();
    request.fabric = *fabric;
  }
  auto diagnostics = Diagnostics::from_environment();
  if (!diagnostics) return diagnostics.error();
  request.diagnostics = *diagnostics;
  // A shuffle may start hours later, so wrong options are reported now.
  auto shuffle = wire::ShuffleOptions::from_environment();
  if (!shuffle) return shuffle.error();
  auto relay = wire::RelayOptions::from_environment();
  if (!relay) return relay.error();
  request.relay = *relay;
  if (const char* text = secure_getenv("IMPISHIM_COLLECTIVES"); text != nullptr) {
    auto overrides = collectives::read_overrides(text);
    if (!overrides) return overrides.error();
    request.collectives = *overrides;
  }
  return request;
}

}  // namespace impishim::shim
