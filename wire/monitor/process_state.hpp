// SPDX-License-Identifier: Apache-2.0
/// What a process of a job tells about itself when it is asked while it runs: the MPI calls that
/// its threads are in, and counters. Values, and their bytes on the wire (docs/protocol.md,
/// Monitoring).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// World ranks in ascending ranges: first and last of each.
using RankList = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Returns the ranges of ranks in any order.
[[nodiscard]] RankList rank_list(std::vector<std::int32_t> ranks);
/// Returns a text such as "0-3,8".
[[nodiscard]] std::string rank_text(const RankList& ranks);
[[nodiscard]] bool contains(const RankList& ranks, std::int32_t rank);

/// A communicator. Its members know it by the same number.
struct MonitoredGroup {
  std::uint64_t id = 0;
  std::string name;  ///< "world", "dup of world", or what the program has named it
  RankList members;  ///< of both groups of an intercommunicator
  /// Collectives that this process has begun on it since it is monitored, and the latest of them.
  std::uint64_t begun = 0;
  std::string latest;  ///< "MPI_Bcast"
  bool operator==(const MonitoredGroup&) const = default;
};

/// What a call waits for.
enum class AwaitedKind : std::uint8_t {
  kReceive,     ///< a message from `peer`
  kSend,        ///< that `peer` receives a message
  kCollective,  ///< all members of the group
  kOther,       ///< what is not known: a file, a window, a generalized request
};

constexpr std::int32_t kAnyPeer = -1;

struct Awaited {
  AwaitedKind kind = AwaitedKind::kOther;
  std::int32_t peer = kAnyPeer;  ///< a world rank; kAnyPeer: each member of the group can end it
  std::int32_t tag = 0;          ///< negative: any
  std::uint64_t group = 0;       ///< MonitoredGroup::id; 0: not known
  /// Of a collective: MonitoredGroup::begun when this one began.
  std::uint64_t number = 0;
  /// The function that has begun it, where that is another one: "MPI_Irecv" of an MPI_Wait.
  std::string function;
  bool operator==(const Awaited&) const = default;
};

/// A thread that has called MPI.
struct MonitoredCall {
  bool inside = false;              ///< false: the thread has left the call, and is in none
  bool any_ends = false;            ///< true if one of `awaited` is enough
  std::string function;             ///< "MPI_Recv"
  std::uint64_t age_ms = 0;         ///< time since it has entered, or left
  std::uint32_t awaited_count = 0;  ///< all that it waits for, of which `awaited` has the first
  std::vector<Awaited> awaited;
  bool operator==(const MonitoredCall&) const = default;
};

struct SystemTraffic {
  std::int32_t system = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_packets = 0;
  std::uint64_t received_bytes = 0;
  bool operator==(const SystemTraffic&) const = default;
};

/// Counters since the process joined, and depths of queues now.
struct ProcessCounters {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t sent_bytes = 0;  ///< payload of these messages
  std::uint64_t received_bytes = 0;
  std::uint64_t flow_control_stalls = 0;
  std::uint64_t relay_stalls = 0;
  std::uint64_t packets_relayed = 0;
  std::uint64_t posted_receives = 0;
  std::uint64_t pending_sends = 0;
  std::uint64_t unexpected_messages = 0;  ///< that wait for a receive
  std::uint64_t unexpected_bytes = 0;
  std::uint64_t queued_packets = 0;    ///< that channels have not taken yet
  std::uint64_t held_packets = 0;      ///< that wait for credit of a relay
  std::uint64_t relay_bytes = 0;       ///< held to be passed on
  std::uint64_t resident_bytes = 0;    ///< memory of the process
  std::vector<SystemTraffic> systems;  ///< over this process's own connections
  bool operator==(const ProcessCounters&) const = default;
};

struct ProcessState {
  std::int32_t rank = 0;  ///< in the joined world
  std::int32_t system = 0;
  std::uint32_t process = 0;  ///< the process id
  std::string host;
  std::vector<MonitoredGroup> groups;  ///< those of `calls`, and others as far as there is room
  std::vector<MonitoredCall> calls;
  std::optional<ProcessCounters> counters;
  bool operator==(const ProcessState&) const = default;
};

/// Longest encoded state. A process leaves out what does not fit.
constexpr std::uint32_t kMaxProcessState = 256U << 10U;
constexpr std::size_t kMostAwaited = 8;  ///< in one call
constexpr std::size_t kMostCalls = 64;
constexpr std::size_t kLongestMonitoredText = 128;

/// Encodes a state within the limits above: longer texts and lists are cut.
[[nodiscard]] std::vector<std::byte> encode(const ProcessState& state);
/// Fails with kProtocol if the bytes are no state within the limits.
[[nodiscard]] Result<ProcessState> decode_process_state(std::span<const std::byte> bytes);

}  // namespace impishim::wire
