// SPDX-License-Identifier: Apache-2.0
// The settings from the environment.
#include <fmt/format.h>
#include <stdlib.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "collectives/core/select.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/startup/session.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/compress/zstd_library.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/peer/relay_options.hpp"
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

Result<void> read_host_size(JobSettings& request) {
  if (const char* text = secure_getenv("IMPISHIM_HOST_PROCS"); text != nullptr) {
    const auto procs = wire::parse_host_procs(text);
    if (!procs)
      return bad("IMPISHIM_HOST_PROCS", text,
                 "use auto (default), node, or a number of processes per host of at least 1");
    request.host_procs = *procs;
  }
  const auto channels = read_variable("IMPISHIM_MAX_CHANNELS", 1, 1 << 20, request.max_channels);
  return channels ? read_variable("IMPISHIM_LANES", 1, 1 << 20, request.lanes) : channels;
}

/// Reads IMPISHIM_GATEWAY. The valid ranks are known only to the system as a whole, so join()
/// checks them.
Result<void> read_gateways(JobSettings& request) {
  if (const char* text = secure_getenv("IMPISHIM_GATEWAY"); text != nullptr) {
    request.gateways = text;
    if (request.gateways.empty())
      return bad("IMPISHIM_GATEWAY", text, "native ranks are needed, as in 0 or 0,8,16 or 0-3");
    if (request.host_procs != wire::kHostProcsAuto) {
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

/// Reads where the hosts of this system listen.
Result<void> read_listening(JobSettings& request) {
  if (const char* text = secure_getenv("IMPISHIM_HOST_ADDRESS"); text != nullptr)
    request.address = text;
  if (const char* text = secure_getenv("IMPISHIM_PORT"); text != nullptr) {
    const auto ports = wire::PortRange::parse("IMPISHIM_PORT", text);
    if (!ports) return ports.error();
    request.ports = *ports;
  }
  const char* text = secure_getenv("IMPISHIM_LISTEN_ADDRESS");
  if (text == nullptr) return {};
  request.listen_address = text;
  if (!request.address.empty() && request.ports.first != 0) return {};
  return bad("IMPISHIM_LISTEN_ADDRESS", text,
             "an address translator forwards a known port: set IMPISHIM_HOST_ADDRESS to the "
             "address at which others reach this machine, and IMPISHIM_PORT to the port there");
}

/// Reads IMPISHIM_STREAMS, after IMPISHIM_RECONNECT.
Result<void> read_streams(JobSettings& request) {
  const char* text = secure_getenv("IMPISHIM_STREAMS");
  if (text == nullptr) return {};
  const auto streams = wire::parse_streams(text);
  if (!streams) return bad("IMPISHIM_STREAMS", text, "auto or a number from 1 to 16 is needed");
  request.streams = *streams;
  if (*streams == 1 || request.reconnect != 0) return {};
  return bad("IMPISHIM_STREAMS", text,
             "only connections that are taken up again can be several: IMPISHIM_RECONNECT must not "
             "be 0");
}

/// Reads IMPISHIM_COMPRESSION. Fails also if there is no zstd.
Result<void> read_compression(JobSettings& request) {
  const char* text = secure_getenv("IMPISHIM_COMPRESSION");
  if (text == nullptr) return {};
  const auto compressed = wire::parse_compression(text);
  if (!compressed) return bad("IMPISHIM_COMPRESSION", text, "use off (default) or zstd");
  request.compressed = *compressed;
  if (!*compressed) return {};
  const auto loaded = wire::load_zstd();
  return loaded ? loaded : bad("IMPISHIM_COMPRESSION", text, loaded.error().text.c_str());
}

/// Reads the options of connections: how long they last without answers, how long lost ones are
/// tried again, and how fast they send.
Result<void> read_connections(JobSettings& request) {
  constexpr int kMostHeartbeat = 3600;
  auto reconnect = read_variable("IMPISHIM_RECONNECT", 0, wire::kMostReconnect, request.reconnect);
  if (!reconnect) return reconnect;
  auto streams = read_streams(request);
  if (!streams) return streams;
  auto compression = read_compression(request);
  if (!compression) return compression;
  constexpr int kLeastAnswerTime = 10;
  auto answer = read_variable("IMPISHIM_ANSWER_TIME", 0, wire::kMostReconnect, request.answer_time);
  if (!answer) return answer;
  if (request.answer_time > 0 && request.answer_time < kLeastAnswerTime)
    return bad("IMPISHIM_ANSWER_TIME", std::to_string(request.answer_time).c_str(),
               "0, or at least 10 seconds are needed: processes are asked every three");
  int seconds = static_cast<int>(request.tcp.heartbeat.interval.count());
  auto heartbeat = read_variable("IMPISHIM_HEARTBEAT", 1, kMostHeartbeat, seconds);
  if (!heartbeat) return heartbeat;
  request.tcp.heartbeat.interval = std::chrono::seconds(seconds);
  const char* text = secure_getenv("IMPISHIM_CONGESTION");
  if (text == nullptr) return {};
  request.tcp.congestion_control = text;
  return wire::check_congestion_control("IMPISHIM_CONGESTION", text);
}

}  // namespace

Result<JobSettings> JobSettings::from_environment() {
  JobSettings request;
  auto wanted = read_server(request);
  if (!wanted) return wanted.error();
  if (!request.wanted) return request;
  auto hosts = read_host_size(request);
  if (!hosts) return hosts.error();
  auto gateways = read_gateways(request);
  if (!gateways) return gateways.error();
  auto listening = read_listening(request);
  if (!listening) return listening.error();
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
  auto lasting = read_connections(request);
  if (!lasting) return lasting.error();
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
