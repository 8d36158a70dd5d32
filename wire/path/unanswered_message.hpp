// SPDX-License-Identifier: Apache-2.0
/// What Engine::unanswered() returns.
#pragma once

#include <cstdint>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// A message whose sender waits for an answer, and that only the program's thread can match.
struct UnansweredMessage {
  WorldRank source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  /// A standard-mode message that is too long for the remaining RelayOptions::early_message_limit.
  bool standard = false;
};

}  // namespace impishim::wire
