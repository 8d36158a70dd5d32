// SPDX-License-Identifier: Apache-2.0
/// The shuffle of one process on top of its engine: threads, sending, receiving, delivery.
///
/// A network thread takes arrived batches and relays them; a delivery thread calls the program. The
/// usual threads drive the engine. Relaying and answering therefore continue while the program
/// computes. A callback that blocks delays only its own deliveries, until the senders' limits stop
/// the senders.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"
#include "wire/shuffle/shuffle_core.hpp"

namespace impishim::wire {

/// A shuffle with its two threads. All functions are thread-safe.
class Shuffle {
 public:
  using Deliver = std::function<void(const ShuffleMessage&)>;

  /// `context` must not be used by anything else, and must be the same in all processes. `deliver`
  /// is called on the delivery thread, one message at a time, and for each source in the order of
  /// its messages. It may block.
  Shuffle(Engine& engine, WorldRank here, ContextId context, const ShuffleOptions& options,
          Deliver deliver);
  /// Drops all messages that are still here. All processes must flush before.
  ~Shuffle();
  Shuffle(const Shuffle&) = delete;
  Shuffle& operator=(const Shuffle&) = delete;

  /// Copies the message and queues it. Blocks while the queue is full. Must not be called from
  /// `deliver`, because it would wait for itself.
  [[nodiscard]] Result<void> enqueue(const ShuffleMessage& message);
  /// Blocks until the next hops have answered everything that is now in the queues of `kind`.
  [[nodiscard]] Result<void> flush(ShuffleQueueKind kind);
  /// Blocks until everything that has arrived for this process so far has been delivered.
  [[nodiscard]] Result<void> flush_delivery();

  [[nodiscard]] ShuffleCounters counters();
  [[nodiscard]] std::string report();

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    SendOperation operation;
  };

  void receive_batches();
  void deliver_messages();
  [[nodiscard]] bool receive_one();
  [[nodiscard]] Result<void> handle_locked(WorldRank neighbour, std::span<const std::byte> bytes)
      IMPISHIM_REQUIRES(mutex_);
  void send_locked() IMPISHIM_REQUIRES(mutex_);
  void fail_locked(const Error& error) IMPISHIM_REQUIRES(mutex_);
  /// Blocks until `done()` is true, which is called with the mutex held.
  [[nodiscard]] Result<void> wait_locked(const std::function<bool()>& done)
      IMPISHIM_REQUIRES(mutex_);

  Engine& engine_;
  WorldRank here_;
  ContextId context_;
  Deliver deliver_;
  Mutex mutex_;
  Condition changed_;
  ShuffleCore core_ IMPISHIM_GUARDED_BY(mutex_);
  std::list<Outgoing> outgoing_ IMPISHIM_GUARDED_BY(mutex_);
  std::optional<Error> failure_ IMPISHIM_GUARDED_BY(mutex_);
  /// Messages whose callback has returned.
  std::uint64_t handed_over_ IMPISHIM_GUARDED_BY(mutex_) = 0;
  bool stop_ IMPISHIM_GUARDED_BY(mutex_) = false;
  std::thread network_;
  std::thread delivery_;
};

}  // namespace impishim::wire
