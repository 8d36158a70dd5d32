// SPDX-License-Identifier: Apache-2.0
/// What a process may hold for others, and how it batches.
#pragma once

#include <cstdint>

#include "wire/base/result.hpp"

namespace impishim::wire {

struct RelayOptions {
  /// Most bytes, beyond one packet, that a process of this host may have at a representative that
  /// are to leave the host.
  std::uint64_t local_sender_limit = 1U << 20U;
  /// Most bytes, beyond one packet, that may be at a representative of another host that are to be
  /// passed on there.
  std::uint64_t remote_sender_limit = 4U << 20U;
  /// Bytes from which a batch of packets on their way through this process leaves at once. Fewer
  /// leave when no more have come.
  std::uint64_t batch_target = 32768;
  /// The same of short messages that this process begins between two polls, all but the first few;
  /// 0: each leaves at once.
  std::uint64_t origin_batch_target = 16384;
  /// Most bytes of long messages that are accepted before their match (Engine::relieve()).
  std::uint64_t early_message_limit = 256U << 20U;

  /// From IMPISHIM_LOCAL_SENDER_LIMIT, IMPISHIM_REMOTE_SENDER_LIMIT, IMPISHIM_RELAY_BUFTARGET,
  /// IMPISHIM_BUFTARGET and IMPISHIM_EARLY_MESSAGE_LIMIT, which may stay unset. kConfiguration: not
  /// a number of bytes, or a limit below RelayDebt::kLeastLimit.
  [[nodiscard]] static Result<RelayOptions> from_environment();
};

}  // namespace impishim::wire
