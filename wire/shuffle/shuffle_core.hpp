// SPDX-License-Identifier: Apache-2.0
/// The three-hop shuffle of one process, as in DeltaFS Shuffle. Messages go in batches from SRC to
/// the representative of SRC's host, to the representative of DST's host, to DST. The class is pure
/// state: batches come in and go out as bytes, and its driver has the time and the threads.
///
/// A batch is answered when all its messages have a place in the delivery queue or in an output
/// queue. Until then its sender counts it as outstanding. A sender stops at its limits, and finally
/// enqueue() refuses messages. Origin, remote and relay queues are separate, and a message passes
/// through them only in this order, so a full queue never waits for itself. Nothing is dropped. A
/// process holds at most
///   for each queue: buftarget + one message
///   for each queue that leads to it: maxrpc x (buftarget + one message)
///   deliverq_max messages.
/// Source: DeltaFS Shuffle; docs/architecture.md, Shuffle.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/shuffle/shuffle_message.hpp"
#include "wire/shuffle/shuffle_options.hpp"
#include "wire/shuffle/shuffle_queue.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The kind of an output queue, as in ShuffleOptions.
enum class ShuffleQueueKind : std::uint8_t { kLocalOrigin, kLocalRelay, kRemote };
inline constexpr std::size_t kShuffleQueueKinds = 3;

/// A transfer to a neighbour: a batch, or the answer to a batch. The batches of a queue must arrive
/// in order.
struct ShuffleTransfer {
  WorldRank neighbour = 0;
  ShuffleQueueKind kind =
      ShuffleQueueKind::kLocalOrigin;  ///< kind of the queue that sent the batch, also in an answer
  bool answer = false;
  std::uint64_t number = 0;  ///< number of the batch in its queue
  std::vector<std::byte> batch;
};

/// Counts of one process since its start.
struct ShuffleCounters {
  std::uint64_t sent[kShuffleQueueKinds] =
      {};  ///< number of messages, indexed by the kind of queue
  std::uint64_t batches[kShuffleQueueKinds] = {};  ///< number of batches with these messages
  std::uint64_t received_local =
      0;  ///< messages, delivered or not yet, that came through processes of this host
  std::uint64_t received_remote = 0;  ///< messages from other hosts, to be relayed or delivered
  std::uint64_t delivered = 0;
  std::uint64_t held_bytes = 0;       ///< size of the messages, with headers, that are here now:
                                      ///< accepted or arrived, and not yet sent or delivered
  std::uint64_t held_bytes_peak = 0;  ///< largest value of held_bytes so far
};

/// The messages that a flush waits for: for each queue, a number of messages.
using ShuffleFlush = std::vector<std::pair<const ShuffleQueue*, std::uint64_t>>;

/// The queues and limits of one process.
class ShuffleCore {
 public:
  /// `job` must outlive the object.
  ShuffleCore(const JobMap& job, WorldRank here, const ShuffleOptions& options);
  ShuffleCore(const ShuffleCore&) = delete;
  ShuffleCore& operator=(const ShuffleCore&) = delete;

  /// Takes a message of this process. Returns false if its queue is full; try again after an answer
  /// or a delivery.
  [[nodiscard]] bool enqueue(const ShuffleMessage& message);
  /// Handles a batch that has arrived from the queue of `kind` at `neighbour`. Fails with kProtocol
  /// if it is invalid, or if a message should not come here.
  [[nodiscard]] Result<void> batch_arrived(WorldRank neighbour, ShuffleQueueKind kind,
                                           std::uint64_t number, std::span<const std::byte> batch);
  /// Handles an answer. Fails with kProtocol if there is no such batch.
  [[nodiscard]] Result<void> answer_arrived(WorldRank neighbour, ShuffleQueueKind kind,
                                            std::uint64_t number);

  /// Returns the transfers to send now, and forgets them.
  [[nodiscard]] std::vector<ShuffleTransfer> take_transfers() {
    return std::exchange(transfers_, {});
  }

  /// Returns true if delivery is due: the threshold is reached, a message waits for room, or a
  /// flush asks for it.
  [[nodiscard]] bool delivery_due() const;
  /// Returns the next message for this process if delivery is due.
  [[nodiscard]] std::optional<ShuffleMessage> deliver();

  /// Sends the contents of the queues of `kind` without waiting for larger batches. The flush is
  /// complete when done() returns true for it.
  [[nodiscard]] ShuffleFlush flush(ShuffleQueueKind kind);
  [[nodiscard]] static bool done(const ShuffleFlush& flush);
  /// Delivers everything that has arrived so far, regardless of the threshold. Returns the value
  /// that counters().delivered then reaches.
  [[nodiscard]] std::uint64_t flush_delivery();

  [[nodiscard]] const ShuffleCounters& counters() const { return counters_; }
  /// Returns a description of queues and limits.
  [[nodiscard]] std::string report() const;
  /// Returns true if nothing is queued, unanswered or undelivered here.
  [[nodiscard]] bool idle() const;

 private:
  /// A batch that has arrived and has messages without a place.
  struct Arrival {
    WorldRank neighbour;
    ShuffleQueueKind kind;
    std::uint64_t number;
    std::size_t homeless;
  };
  using ArrivalPointer = std::shared_ptr<Arrival>;
  struct Waiting {
    ShuffleMessage message;
    ArrivalPointer arrival;
  };
  struct Output {
    ShuffleQueue queue;
    std::deque<Waiting> waiting;  ///< relayed messages for which the queue has no room
  };
  using OutputKey = std::pair<ShuffleQueueKind, WorldRank>;

  [[nodiscard]] std::optional<OutputKey> next_queue(const ShuffleMessage& message) const;
  [[nodiscard]] Output& output(const OutputKey& key);
  [[nodiscard]] bool place(Waiting&& waiting, std::set<OutputKey>& filled);
  void hold(std::size_t bytes);
  void append(Output& output, const OutputKey& key, const ShuffleMessage& message);
  void settle(const ArrivalPointer& arrival);
  void move_on(Output& output, const OutputKey& key);
  [[nodiscard]] bool belongs_here(const ShuffleMessage& message, WorldRank neighbour,
                                  ShuffleQueueKind came_by) const;
  void send_ready(Output& output, const OutputKey& key);
  void send_all_ready(ShuffleQueueKind kind);
  void refill_delivery();

  const JobMap& job_;
  WorldRank here_;
  std::int32_t my_host_;
  ShuffleOptions options_;
  /// Indexed by kind. Relay queues have their own limit. Otherwise they could wait for origin
  /// batches that wait for them on other hosts.
  std::array<ShuffleSenderLimit, kShuffleQueueKinds> limits_;
  std::array<WorldRank, kShuffleQueueKinds>
      last_served_{};  ///< neighbour that was served last, for each kind, when its queues waited
                       ///< for the limit
  std::map<OutputKey, std::unique_ptr<Output>> outputs_;
  std::deque<ShuffleMessage> deliveries_;
  std::deque<Waiting> undelivered_;  ///< messages for which the delivery queue has no room
  std::uint64_t deliver_until_ = 0;
  std::uint64_t for_delivery_ = 0;  ///< number of messages that have arrived for this process
  std::vector<ShuffleTransfer> transfers_;
  ShuffleCounters counters_;
};

}  // namespace impishim::wire
