// SPDX-License-Identifier: Apache-2.0
/// Shuffle messages, and their encoding in batches. Numbers are big-endian as in IMPI, so systems
/// of any representation can communicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// A message of the shuffle.
struct ShuffleMessage {
  WorldRank source = 0;
  WorldRank destination = 0;
  std::uint32_t type = 0;  ///< defined by the program
  std::vector<std::byte> data;
};

/// Size of a message's header in a batch.
inline constexpr std::size_t kShuffleMessageHeader = 16;

/// Returns the size of a message in a batch, including its header.
[[nodiscard]] inline std::size_t batched_size(const ShuffleMessage& message) {
  return kShuffleMessageHeader + message.data.size();
}

/// Appends one message to a batch.
void append_message(std::vector<std::byte>& batch, const ShuffleMessage& message);

/// Returns the messages of a batch. Fails with kProtocol if the bytes are not a batch, or name a
/// process that is not in a job of `procs` processes.
[[nodiscard]] Result<std::vector<ShuffleMessage>> parse_batch(std::span<const std::byte> batch,
                                                              WorldRank procs);

}  // namespace impishim::wire
