// SPDX-License-Identifier: Apache-2.0
/// Counters of an engine since its start, for statistics and tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/statistics/log_histogram.hpp"

namespace impishim::wire {

/// Number of packets, including control packets, and their bytes with headers.
struct HopTraffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

struct EngineCounters {
  HopTraffic local_origin;     ///< sent to processes of this host, which pass it on
  HopTraffic local_relay;      ///< from other hosts, passed on to processes of this host
  HopTraffic remote_origin;    ///< sent to other hosts
  HopTraffic remote_relay;     ///< from processes of this host, passed on to other hosts
  HopTraffic local_received;   ///< received through processes of this host
  HopTraffic remote_received;  ///< received from other hosts
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t packets_relayed = 0;
  std::uint64_t payload_bytes_sent = 0;
  std::uint64_t payload_bytes_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t unexpected_messages = 0;
  std::uint64_t unexpected_bytes_peak = 0;
  std::uint64_t flow_control_stalls = 0;
  /// Payloads copied from one place in this process to another, and their bytes.
  HopTraffic copied;
  /// Packets that waited until the next process had relayed enough.
  std::uint64_t relay_stalls = 0;
  std::uint64_t relay_bytes = 0;       ///< bytes held here now for relaying
  std::uint64_t relay_bytes_peak = 0;  ///< peak of relay_bytes
  std::uint64_t send_calls = 0;        ///< system calls made to send on host channels
  std::uint64_t receive_calls = 0;     ///< system calls made to receive on host channels
  LogHistogram local_batches;  ///< bytes of each call that handed packets to a process of this host
  LogHistogram remote_batches;  ///< bytes of each call that handed packets to another host
  /// Nanoseconds from the start of each long or synchronous message to the answer that it has
  /// matched. Only with EngineOptions::times_answers.
  LogHistogram answers;

  /// Counts a copy of a payload, packed or unpacked, from one place in this process's memory to
  /// another.
  void count_copy(std::size_t size) {
    if (size == 0) return;
    ++copied.packets;
    copied.bytes += size;
  }
  /// Counts a packet of `size` bytes that is held here for relaying.
  void count_relayed(std::size_t size) {
    relay_bytes += size;
    relay_bytes_peak = std::max(relay_bytes_peak, relay_bytes);
  }
};

/// Traffic with the hosts of one client over this process's own connections: packets, with headers,
/// that it sent or passed on, and that it received.
struct ClientTraffic {
  std::int32_t client = 0;
  HopTraffic sent;
  HopTraffic received;
};

/// What is in an engine's queues now.
struct EngineLoad {
  std::uint64_t pending_sends = 0;
  std::uint64_t posted_receives = 0;
  std::uint64_t unexpected_messages = 0;
  std::uint64_t unexpected_bytes = 0;
  std::uint64_t queued_packets = 0;    ///< that channels have not taken yet
  std::uint64_t held_packets = 0;      ///< that wait for credit
  std::vector<ClientTraffic> clients;  ///< those with traffic, in their order
};

}  // namespace impishim::wire
