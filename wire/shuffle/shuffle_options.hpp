// SPDX-License-Identifier: Apache-2.0
/// Queues and limits of the three-hop shuffle, with the names and meanings of DeltaFS Shuffle's
/// options.
#pragma once

#include <cstdint>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// Options of the output queues of one kind. Each of these queues leads to one neighbour.
struct ShuffleQueueOptions {
  std::uint32_t maxrpc = 4;  ///< largest number of unanswered batches of one queue
  std::uint32_t buftarget =
      32768;  ///< bytes from which a batch is sent while others are unanswered
};

/// The options of a shuffle.
struct ShuffleOptions {
  ShuffleQueueOptions local_origin;  ///< this process's own messages to procs of its host
  ShuffleQueueOptions local_relay;   ///< messages from other hosts to procs of this host
  ShuffleQueueOptions remote;        ///< to other hosts
  std::uint32_t local_sender_limit =
      64;  ///< largest number of unanswered batches of all local origin queues together, and of all
           ///< local relay queues together
  std::uint32_t remote_sender_limit = 64;  ///< the same for all remote queues together
  std::uint32_t deliverq_max = 1024;       ///< number of messages waiting for delivery from which
                                           ///< batches with further messages are not answered
  std::uint32_t deliverq_threshold = 1;    ///< number of messages from which delivery starts; fewer
                                           ///< messages wait for more, or for a flush

  /// Reads the variables IMPISHIM_SHUFFLE_ followed by LOMAXRPC, LOBUFTARGET, LRMAXRPC,
  /// LRBUFTARGET, RMAXRPC, RBUFTARGET, LOCALSENDERLIMIT, REMOTESENDERLIMIT, DELIVERQ_MAX or
  /// DELIVERQ_THRESHOLD. Fails with kConfiguration if a value is not a number of at least 1, or if
  /// the threshold is above the maximum.
  [[nodiscard]] static Result<ShuffleOptions> from_environment();
};

}  // namespace impishim::wire
