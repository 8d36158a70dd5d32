/// Queues and limits of the three-hop shuffle, with the names and meanings of DeltaFS Shuffle's
/// options.
#pragma once

#include <cstdint>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// Of the output queues of one kind, each of which leads to one neighbour.
struct ShuffleQueueOptions {
  std::uint32_t maxrpc = 4;  ///< most batches that one queue may have unanswered
  std::uint32_t buftarget =
      32768;  ///< bytes of a batch from which it leaves while others are unanswered
};

struct ShuffleOptions {
  ShuffleQueueOptions local_origin;        ///< this process's own messages to procs of its host
  ShuffleQueueOptions local_relay;         ///< messages from other hosts to procs of this host
  ShuffleQueueOptions remote;              ///< to other hosts
  std::uint32_t local_sender_limit = 64;   ///< most unanswered batches of all local origin queues
                                           ///< together, and of all local relay queues
  std::uint32_t remote_sender_limit = 64;  ///< of all remote queues
  std::uint32_t deliverq_max =
      1024;  ///< messages that wait for delivery before those that bring more are not answered
  std::uint32_t deliverq_threshold =
      1;  ///< messages from which delivery begins; fewer wait for more, or for a flush

  /// From IMPISHIM_SHUFFLE_ and LOMAXRPC, LOBUFTARGET, LRMAXRPC, LRBUFTARGET, RMAXRPC, RBUFTARGET,
  /// LOCALSENDERLIMIT, REMOTESENDERLIMIT, DELIVERQ_MAX, DELIVERQ_THRESHOLD. kConfiguration: no
  /// number from 1 on, or a threshold above the maximum.
  [[nodiscard]] static Result<ShuffleOptions> from_environment();
};

}  // namespace impishim::wire
