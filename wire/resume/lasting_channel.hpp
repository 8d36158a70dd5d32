// SPDX-License-Identifier: Apache-2.0
/// What the channels that outlive their connections have in common.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// What such a channel has met.
struct ResumeCounters {
  std::uint64_t connections = 0;  ///< including the first one
  std::uint64_t repeated = 0;     ///< bytes that were sent more than once
};

struct ResumeLimits {
  /// Most bytes that an end keeps. It must be several times LastingChannel::kAcknowledgeAfter, and
  /// the same at both ends of a channel with several connections.
  std::size_t kept = 64U << 20U;
  /// Time after which a peer that answers nothing, though its machine does, counts as lost; 0:
  /// never.
  std::chrono::seconds answer{0};
  /// Number of connections that a channel asks for at the beginning.
  std::size_t first_strands = std::numeric_limits<std::size_t>::max();
};

class LastingChannel : public Channel {
 public:
  /// Bytes after which an end acknowledges at the latest.
  static constexpr std::uint64_t kAcknowledgeAfter = 1U << 20U;

  [[nodiscard]] virtual ResumeCounters counters() const = 0;
  /// Returns the memory for bytes of the stream.
  [[nodiscard]] virtual std::size_t memory() const = 0;
};

}  // namespace impishim::wire
