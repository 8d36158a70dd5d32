/// A message of the shuffle, and batches of them as bytes: numbers in IMPI's order, so that systems
/// of any representation may meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

struct ShuffleMessage {
  WorldRank source = 0;
  WorldRank destination = 0;
  std::uint32_t type = 0;  ///< the program's own
  std::vector<std::byte> data;
};

/// What a message takes in a batch beside its data.
inline constexpr std::size_t kShuffleMessageHeader = 16;

/// What it takes there in all.
[[nodiscard]] inline std::size_t batched_size(const ShuffleMessage& message) {
  return kShuffleMessageHeader + message.data.size();
}

/// Appends one message to a batch.
void append_message(std::vector<std::byte>& batch, const ShuffleMessage& message);

/// The messages of a batch. kProtocol: bytes that are no batch, or a process that is not in a job
/// of `procs`.
[[nodiscard]] Result<std::vector<ShuffleMessage>> parse_batch(std::span<const std::byte> batch,
                                                              WorldRank procs);

}  // namespace impishim::wire
