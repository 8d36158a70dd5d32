// SPDX-License-Identifier: Apache-2.0
/// Limits on what a process holds for others, and on batches.
#pragma once

#include <cstdint>

#include "wire/base/result.hpp"

namespace impishim::wire {

struct RelayOptions {
  /// Most bytes, beyond one packet, that a process of this host may have queued at a representative
  /// and that are to leave the host.
  std::uint64_t local_sender_limit = 1U << 20U;
  /// Most bytes, beyond one packet, that may be queued at a representative of another host to be
  /// relayed there.
  std::uint64_t remote_sender_limit = 4U << 20U;
  /// Size in bytes at which a batch of packets that this process relays is sent at once. A smaller
  /// batch is sent when no more packets have arrived.
  std::uint64_t batch_target = 32768;
  /// The same size for short messages that this process begins between two polls, except the first
  /// few; 0: each message is sent at once.
  std::uint64_t origin_batch_target = 16384;
  /// Most bytes of long messages that are accepted before their match (Engine::relieve()).
  std::uint64_t early_message_limit = 256U << 20U;

  /// Reads IMPISHIM_LOCAL_SENDER_LIMIT, IMPISHIM_REMOTE_SENDER_LIMIT, IMPISHIM_RELAY_BUFTARGET,
  /// IMPISHIM_BUFTARGET and IMPISHIM_EARLY_MESSAGE_LIMIT, which may be unset. Returns
  /// kConfiguration if a value is not a number of bytes, or a limit is below
  /// RelayDebt::kLeastLimit.
  [[nodiscard]] static Result<RelayOptions> from_environment();
};

}  // namespace impishim::wire
