/// The three-hop shuffle of one process, as DeltaFS Shuffle has it: SRC -> representative of SRC's
/// host -> representative of DST's host
/// -> DST, in batches. Pure state: batches come in and go out as bytes, time and threads are the
/// driver's.
///
/// A batch is answered when all its messages have a place: in the delivery queue or in an output
/// queue. Until then its sender counts it as outstanding, and stops at its limits; at last
/// enqueue() refuses. Origin, remote and relay queues are separate, and a message moves through
/// them in this order only, so that a full one never waits for itself. Nothing is dropped, and a
/// process holds at most
///   for each queue: buftarget + one message
///   for each queue that leads to it: maxrpc x (buftarget + one message)
///   deliverq_max messages.
/// Source: DeltaFS Shuffle; DESIGN.md 8 and 10.
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

enum class ShuffleQueueKind : std::uint8_t { kLocalOrigin, kLocalRelay, kRemote };
inline constexpr std::size_t kShuffleQueueKinds = 3;

/// What is to be sent to a neighbour: a batch, or the answer to one. The batches of a queue must
/// arrive in their order.
struct ShuffleTransfer {
  WorldRank neighbour = 0;
  ShuffleQueueKind kind =
      ShuffleQueueKind::kLocalOrigin;  ///< of the sender's queue, in an answer too
  bool answer = false;
  std::uint64_t number = 0;  ///< of the batch, in its queue
  std::vector<std::byte> batch;
};

struct ShuffleCounters {
  std::uint64_t sent[kShuffleQueueKinds] = {};     ///< messages, by the kind of queue
  std::uint64_t batches[kShuffleQueueKinds] = {};  ///< that they left in
  std::uint64_t received_local =
      0;  ///< messages delivered, or to be, by way of this host's processes
  std::uint64_t received_remote = 0;  ///< from other hosts, to be passed on or delivered
  std::uint64_t delivered = 0;
  std::uint64_t held_bytes =
      0;  ///< messages with their headers that are here now: taken or come, not sent or delivered
  std::uint64_t held_bytes_peak = 0;  ///< most of them so far
};

/// What a flush waits for.
using ShuffleFlush = std::vector<std::pair<const ShuffleQueue*, std::uint64_t>>;

class ShuffleCore {
 public:
  /// `job` must outlive the object.
  ShuffleCore(const JobMap& job, WorldRank here, const ShuffleOptions& options);
  ShuffleCore(const ShuffleCore&) = delete;
  ShuffleCore& operator=(const ShuffleCore&) = delete;

  /// Takes a message of this process. False: its queue is full; try again when something has been
  /// answered or delivered.
  [[nodiscard]] bool enqueue(const ShuffleMessage& message);
  /// A batch has come from `neighbour`, out of its queue of `kind`. kProtocol: garbage, or a
  /// message that does not belong here.
  [[nodiscard]] Result<void> batch_arrived(WorldRank neighbour, ShuffleQueueKind kind,
                                           std::uint64_t number, std::span<const std::byte> batch);
  /// An answer has come. kProtocol: to nothing.
  [[nodiscard]] Result<void> answer_arrived(WorldRank neighbour, ShuffleQueueKind kind,
                                            std::uint64_t number);

  /// What is to be sent now.
  [[nodiscard]] std::vector<ShuffleTransfer> take_transfers() {
    return std::exchange(transfers_, {});
  }

  /// Delivery is due: the threshold is reached, a message waits for room, or a flush asks for it.
  [[nodiscard]] bool delivery_due() const;
  /// The next message for this process, if delivery is due.
  [[nodiscard]] std::optional<ShuffleMessage> deliver();

  /// Sends what the queues of `kind` hold without waiting for company. Over when done() is true of
  /// it.
  [[nodiscard]] ShuffleFlush flush(ShuffleQueueKind kind);
  [[nodiscard]] static bool done(const ShuffleFlush& flush);
  /// Delivers what has come up to now whatever the threshold; returns the value that
  /// counters().delivered then reaches.
  [[nodiscard]] std::uint64_t flush_delivery();

  [[nodiscard]] const ShuffleCounters& counters() const { return counters_; }
  /// Queues and limits in words.
  [[nodiscard]] std::string report() const;
  /// Nothing is queued, unanswered or undelivered here.
  [[nodiscard]] bool idle() const;

 private:
  /// A batch that has come and whose messages do not all have a place yet.
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
  /// By kind: relays have a limit of their own, or they would wait for origin batches that wait for
  /// them on other hosts.
  std::array<ShuffleSenderLimit, kShuffleQueueKinds> limits_;
  std::array<WorldRank, kShuffleQueueKinds>
      last_served_{};  ///< neighbours, when queues of a kind waited for its limit
  std::map<OutputKey, std::unique_ptr<Output>> outputs_;
  std::deque<ShuffleMessage> deliveries_;
  std::deque<Waiting> undelivered_;  ///< for which the delivery queue has no room
  std::uint64_t deliver_until_ = 0;
  std::uint64_t for_delivery_ = 0;  ///< messages that have come for this process
  std::vector<ShuffleTransfer> transfers_;
  ShuffleCounters counters_;
};

}  // namespace impishim::wire
