// SPDX-License-Identifier: Apache-2.0
#include "wire/statistics/call_statistics.hpp"

#include <cstdint>

#include "wire/base/assert.hpp"
#include "wire/base/mutex.hpp"
#include "wire/statistics/call_scope.hpp"

namespace impishim::wire {

void CallStatistics::add_call(const EndedCall& call) {
  const std::uint64_t ns = call.end_ns - call.begin_ns;
  const MutexLock lock(mutex_);
  IMPISHIM_ASSERT(call.function < sums_.functions.size());
  CallTime& time = sums_.functions[call.function][index_of(call.scope)];
  ++time.calls;
  time.ns += ns;
  time.durations.add(ns);
  if (call.awaited_system >= 0) sums_.waited_ns[call.awaited_system] += ns;
  sums_.time_line.add_call(call.scope, call.begin_ns, call.end_ns);
}

void CallStatistics::add_messages(std::int32_t rank, CallScope scope, std::uint64_t at_ns,
                                  std::uint64_t count, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  PeerTraffic& peer = sums_.sent[rank];
  peer.messages += count;
  peer.bytes += count * bytes;
  sums_.message_bytes[index_of(scope)].add(bytes, count);
  sums_.time_line.add_message(scope, at_ns, count * bytes);
}

CallSums CallStatistics::sums() const {
  const MutexLock lock(mutex_);
  return sums_;
}

}  // namespace impishim::wire
