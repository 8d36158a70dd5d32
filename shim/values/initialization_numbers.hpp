// SPDX-License-Identifier: Apache-2.0
/// Numbers of partitioned operations: MPI_Psend_init and MPI_Precv_init of two processes match in
/// the order of the calls with the same communicator, peer and tag, whatever is started when
/// (MPI-4.0 4.2).
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// Thread-safe.
class InitializationNumbers {
 public:
  enum class Side : std::uint8_t { kSend, kReceive };

  /// Returns how many such operations were initialised before.
  [[nodiscard]] std::uint64_t next(Side side, std::int32_t peer, std::int32_t tag) {
    const MutexLock lock(mutex_);
    return counts_[{side, peer, tag}]++;
  }

 private:
  Mutex mutex_;
  std::map<std::tuple<Side, std::int32_t, std::int32_t>, std::uint64_t> counts_
      IMPISHIM_GUARDED_BY(mutex_);
};

/// Returns what stands for the sender's rank in the messages of its operation with a number: unlike
/// for each pair of rank and number, as far as 31 bits have room. `senders` is the number of
/// processes in its group.
[[nodiscard]] inline std::int32_t numbered_rank(std::int32_t rank, std::uint64_t number,
                                                std::int32_t senders) {
  const auto numbers = static_cast<std::uint64_t>(INT32_MAX / senders);
  return rank + static_cast<std::int32_t>(number % numbers) * senders;
}

}  // namespace impishim::shim
