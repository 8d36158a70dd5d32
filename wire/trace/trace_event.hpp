// SPDX-License-Identifier: Apache-2.0
/// What a trace consists of.
#pragma once

#include <cstdint>

namespace impishim::wire {

enum class TraceKind : std::uint8_t {
  kCall,              ///< a call of MPI; `name` is the function's number
  kWait,              ///< a wait inside of a call, for what other systems can bring
  kSent,              ///< a packet of this process has been handed to its link
  kReceived,          ///< a packet for this process has arrived
  kRelayed,           ///< a packet for another process has arrived, and is passed on
  kFlowControlStall,  ///< a message waits for acknowledgements of its receiver
  kRelayStall,        ///< a message waits until a relay has passed on enough
};

/// Something that has happened. Those without a duration end when they begin. Times are those of
/// Trace::now_ns().
struct TraceEvent {
  TraceKind kind = TraceKind::kCall;
  std::uint16_t name = 0;    ///< of a call: the function; of a packet: its type
  std::uint16_t thread = 0;  ///< set by Trace::add()
  std::int32_t peer = -1;    ///< world rank; -1: none, or any
  std::int32_t tag = -1;     ///< -1: none, or any
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flow = 0;          ///< the same for all events of one message; 0: none
  std::uint64_t communicator = 0;  ///< 0: none
  std::uint64_t number = 0;        ///< of a collective, counted on its communicator; 0: none
};
static_assert(sizeof(TraceEvent) == 64, "docs/trace.md tells how many a MiB holds");

/// Returns the flow of a message: no two messages of a job have the same one. `source` is the
/// sender's world rank, `request` the number that the sender has given it.
[[nodiscard]] constexpr std::uint64_t flow_of(std::int32_t source, std::uint64_t request) {
  constexpr unsigned kRequestBits = 40;
  return (static_cast<std::uint64_t>(source) + 1) << kRequestBits ^ request;
}

}  // namespace impishim::wire
