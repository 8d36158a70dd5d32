// SPDX-License-Identifier: Apache-2.0
#include "shim/tool/tool_variables.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/base/variable.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

using Negotiated = wire::NegotiatedValues;
using Counters = wire::EngineCounters;

constexpr std::array kLogWords = {"error", "warn", "info", "debug"};
constexpr std::array kFormatWords = {"auto", "external32", "native", "wide"};
constexpr std::array kWorldWords = {"joined", "split"};
constexpr std::array kCollectivesWords = {"blocking", "polled"};
constexpr std::array kForeignWords = {"strict", "lam"};
constexpr std::array kSignalWords = {"usr1", "none"};

constexpr std::array<ToolWords, 6> kToolWords = {{
    {"impishim_log", kLogWords},
    {"impishim_wire_format", kFormatWords},
    {"impishim_world", kWorldWords},
    {"impishim_native_collectives", kCollectivesWords},
    {"impishim_foreign", kForeignWords},
    {"impishim_dump_signal", kSignalWords},
}};

ToolSetting number_setting(const char* name, const char* variable, std::uint64_t standard,
                           const char* description, std::uint32_t Negotiated::*agreed = nullptr) {
  return {name, variable, description, MPI_UNSIGNED_LONG_LONG, nullptr, standard, agreed};
}

ToolSetting word_setting(std::size_t which, const char* variable, const char* description) {
  return {kToolWords[which].name, variable, description, MPI_INT, &kToolWords[which], 0, nullptr};
}

ToolSetting text_setting(const char* name, const char* variable, const char* description) {
  return {name, variable, description, MPI_CHAR, nullptr, 0, nullptr};
}

constexpr std::uint64_t kToolKiB = 1024;
constexpr std::uint64_t kToolMiB = kToolKiB * kToolKiB;

}  // namespace

std::span<const ToolSetting> tool_settings() {
  static const std::array table = {
      text_setting("impishim_server", "IMPISHIM_SERVER",
                   "address:port of the rendezvous server, or self"),
      number_setting("impishim_client", "IMPISHIM_CLIENT", 0, "number of this system"),
      word_setting(2, "IMPISHIM_WORLD", "what MPI_COMM_WORLD is: the joined job or this system"),
      text_setting(
          "impishim_host_address", "IMPISHIM_HOST_ADDRESS",
          "address that this host advertises; empty: that of the connection to the server"),
      text_setting("impishim_listen_address", "IMPISHIM_LISTEN_ADDRESS",
                   "address at which this host listens; empty: impishim_host_address"),
      text_setting("impishim_port", "IMPISHIM_PORT",
                   "port or range of ports of this node's hosts; empty: the kernel chooses"),
      text_setting(
          "impishim_tls", "IMPISHIM_TLS",
          "encryption: auto (also if empty; if there is a secret), on (a secret is required) "
          "or off"),
      text_setting("impishim_kernel_tls", "IMPISHIM_KERNEL_TLS",
                   "who encrypts what is sent between hosts: off (also if empty; OpenSSL) or on "
                   "(the kernel, if it can)"),
      text_setting("impishim_reconnect", "IMPISHIM_RECONNECT",
                   "seconds for which a lost connection between hosts is tried again; empty: 60 "
                   "between machines"),
      text_setting("impishim_streams", "IMPISHIM_STREAMS",
                   "connections of a channel between hosts at once: a number or auto; empty: 1"),
      text_setting("impishim_compression", "IMPISHIM_COMPRESSION",
                   "compression of channels between hosts: off (also if empty) or zstd"),
      number_setting("impishim_heartbeat", "IMPISHIM_HEARTBEAT", 5,
                     "seconds between two probes of an idle connection"),
      number_setting("impishim_answer_time", "IMPISHIM_ANSWER_TIME", 0,
                     "seconds within which a process of another host must answer; 0: no limit"),
      text_setting("impishim_congestion", "IMPISHIM_CONGESTION",
                   "congestion control of connections to other hosts; empty: the kernel's"),
      text_setting("impishim_gateway", "IMPISHIM_GATEWAY",
                   "native ranks that alone hold connections to other systems; empty: all can"),
      text_setting("impishim_gateway_address", "IMPISHIM_GATEWAY_ADDRESS",
                   "address at which a gateway listens; empty: all interfaces"),
      text_setting("impishim_host_procs", "IMPISHIM_HOST_PROCS",
                   "processes for each IMPI host: auto (also if empty), node or a number"),
      number_setting("impishim_max_channels", "IMPISHIM_MAX_CHANNELS", wire::kDefaultMaxChannels,
                     "channels of a process from which hosts have more processes"),
      number_setting("impishim_lanes", "IMPISHIM_LANES", 1, "most channels between two hosts"),
      text_setting("impishim_fabric", "IMPISHIM_FABRIC",
                   "what channels run over: auto (also if empty), none, or providers of libfabric"),
      word_setting(1, "IMPISHIM_WIRE_FORMAT", "representation of data between systems"),
      word_setting(4, "IMPISHIM_FOREIGN", "how foreign implementations are treated"),
      number_setting("impishim_datalen", "IMPISHIM_DATALEN", 64 * kToolKiB,
                     "largest payload of a packet in bytes; in a joined job the one agreed on",
                     &Negotiated::datalen),
      number_setting("impishim_ackmark", "IMPISHIM_ACKMARK", 10,
                     "packets between two acknowledgements; in a joined job the number agreed on",
                     &Negotiated::ackmark),
      number_setting("impishim_hiwater", "IMPISHIM_HIWATER", 20,
                     "packets that a sender may be ahead; in a joined job the number agreed on",
                     &Negotiated::hiwater),
      text_setting("impishim_collectives", "IMPISHIM_COLLECTIVES",
                   "forms of collectives; empty: chosen by size and number of systems"),
      word_setting(3, "IMPISHIM_NATIVE_COLLECTIVES",
                   "blocking collectives of native communicators"),
      number_setting("impishim_local_sender_limit", "IMPISHIM_LOCAL_SENDER_LIMIT", kToolMiB,
                     "bytes that this process may have at a representative of its host"),
      number_setting("impishim_remote_sender_limit", "IMPISHIM_REMOTE_SENDER_LIMIT", 4 * kToolMiB,
                     "bytes that this process may have at a representative of another host"),
      number_setting("impishim_relay_buftarget", "IMPISHIM_RELAY_BUFTARGET", 32 * kToolKiB,
                     "bytes from which a batch of relayed packets leaves"),
      number_setting("impishim_buftarget", "IMPISHIM_BUFTARGET", 16 * kToolKiB,
                     "bytes from which a batch of short messages leaves"),
      number_setting("impishim_early_message_limit", "IMPISHIM_EARLY_MESSAGE_LIMIT", 256 * kToolMiB,
                     "bytes of long messages that are taken before their match"),
      word_setting(0, "IMPISHIM_LOG", "what is logged"),
      text_setting("impishim_stats", "IMPISHIM_STATS", "beginning of the statistics files' names"),
      text_setting("impishim_trace", "IMPISHIM_TRACE", "beginning of the traces' names"),
      number_setting("impishim_trace_size", "IMPISHIM_TRACE_SIZE", 16,
                     "MiB of each process for its latest events"),
      number_setting("impishim_stall_dump", "IMPISHIM_STALL_DUMP", 0,
                     "seconds after which a waiting process tells its state; 0: never"),
      word_setting(5, "IMPISHIM_DUMP_SIGNAL", "signal at which a process tells its state"),
  };
  return table;
}

std::span<const ToolStatistic> tool_statistics() {
  static constexpr std::array<ToolStatistic, 22> kTable = {{
      {"impishim_messages_sent", "messages sent to other systems", false,
       [](const Counters& all) { return all.messages_sent; }},
      {"impishim_messages_received", "messages received from other systems", false,
       [](const Counters& all) { return all.messages_received; }},
      {"impishim_payload_bytes_sent", "bytes of data sent to other systems", false,
       [](const Counters& all) { return all.payload_bytes_sent; }},
      {"impishim_payload_bytes_received", "bytes of data received from other systems", false,
       [](const Counters& all) { return all.payload_bytes_received; }},
      {"impishim_packets_sent", "packets sent", false,
       [](const Counters& all) { return all.packets_sent; }},
      {"impishim_packets_received", "packets received", false,
       [](const Counters& all) { return all.packets_received; }},
      {"impishim_packets_relayed", "packets passed on for other processes", false,
       [](const Counters& all) { return all.packets_relayed; }},
      {"impishim_unexpected_messages", "messages that came before their receive", false,
       [](const Counters& all) { return all.unexpected_messages; }},
      {"impishim_flow_control_stalls", "messages that waited for acknowledgements", false,
       [](const Counters& all) { return all.flow_control_stalls; }},
      {"impishim_relay_stalls", "packets that waited for a relay", false,
       [](const Counters& all) { return all.relay_stalls; }},
      {"impishim_remote_send_calls", "system calls that sent to other hosts", false,
       [](const Counters& all) { return all.send_calls; }},
      {"impishim_remote_receive_calls", "system calls that received from other hosts", false,
       [](const Counters& all) { return all.receive_calls; }},
      {"impishim_sent_local_origin_bytes", "bytes sent to processes of this host to pass on", false,
       [](const Counters& all) { return all.local_origin.bytes; }},
      {"impishim_sent_local_relay_bytes", "bytes passed on to processes of this host", false,
       [](const Counters& all) { return all.local_relay.bytes; }},
      {"impishim_sent_remote_origin_bytes", "bytes sent to other hosts", false,
       [](const Counters& all) { return all.remote_origin.bytes; }},
      {"impishim_sent_remote_relay_bytes", "bytes passed on to other hosts", false,
       [](const Counters& all) { return all.remote_relay.bytes; }},
      {"impishim_received_local_bytes", "bytes received through processes of this host", false,
       [](const Counters& all) { return all.local_received.bytes; }},
      {"impishim_received_remote_bytes", "bytes received from other hosts", false,
       [](const Counters& all) { return all.remote_received.bytes; }},
      {"impishim_copies", "payloads copied inside this process", false,
       [](const Counters& all) { return all.copied.packets; }},
      {"impishim_copied_bytes", "bytes copied inside this process", false,
       [](const Counters& all) { return all.copied.bytes; }},
      {"impishim_unexpected_bytes_peak", "most bytes of unexpected messages at a time", true,
       [](const Counters& all) { return all.unexpected_bytes_peak; }},
      {"impishim_relay_bytes_peak", "most bytes held for relaying at a time", true,
       [](const Counters& all) { return all.relay_bytes_peak; }},
  }};
  return kTable;
}

std::span<const ToolCategory> tool_categories() {
  static constexpr std::array<ToolCategory, 3> kTable = {{
      {"impishim", "the library that joins systems into one job", false, false, 2},
      {"impishim_settings", "settings of the joined job", true, false, 0},
      {"impishim_statistics", "traffic between systems", false, true, 0},
  }};
  return kTable;
}

const ToolWords* tool_words(MPI_T_enum handle) {
  const auto found = std::ranges::find_if(
      kToolWords, [&](const ToolWords& each) { return tool_enum(&each) == handle; });
  return found == kToolWords.end() ? nullptr : &*found;
}

MPI_T_enum tool_enum(const ToolWords* words) {
  if (words == nullptr) return MPI_T_ENUM_NULL;
  return reinterpret_cast<MPI_T_enum>(const_cast<ToolWords*>(words));
}

ToolValue read_setting(const ToolSetting& setting) {
  ToolValue value{.number = setting.standard, .text = {}};
  const char* given = secure_getenv(setting.variable);
  if (given == nullptr) return value;
  if (setting.type == MPI_CHAR) {
    value.text = std::string(given).substr(0, kLongestToolText - 1);
  } else if (setting.words == nullptr) {
    value.number = parse_number<std::uint64_t>(given).value_or(setting.standard);
  } else {
    for (std::size_t i = 0; i < setting.words->words.size(); ++i)
      if (std::strcmp(setting.words->words[i], given) == 0) value.number = i;
  }
  return value;
}

}  // namespace impishim::shim
