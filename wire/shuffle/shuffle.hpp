/// The shuffle of one process over its engine: threads, sending, receiving, delivery.
///
/// A network thread takes batches that have come and passes them on, a delivery thread calls the
/// program; the engine is driven by whoever drives it anyway. So relays and answers go on while the
/// program computes, and a callback that blocks holds up its own deliveries alone, until the
/// senders' limits hold up the senders.
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

class Shuffle {
 public:
  using Deliver = std::function<void(const ShuffleMessage&)>;

  /// `context`: one that nothing else uses, the same in all processes. `deliver` is called on the
  /// delivery thread, one message at a time, those of one source in their order; it may block.
  Shuffle(Engine& engine, WorldRank here, ContextId context, const ShuffleOptions& options,
          Deliver deliver);
  /// Drops what is still here: flush before, and let all processes do so.
  ~Shuffle();
  Shuffle(const Shuffle&) = delete;
  Shuffle& operator=(const Shuffle&) = delete;

  /// Takes a copy of the message; waits while its queue is full. Not from inside `deliver`, which
  /// would wait for itself.
  [[nodiscard]] Result<void> enqueue(const ShuffleMessage& message);
  /// Waits until what the queues of `kind` hold now has been answered by its next processes.
  [[nodiscard]] Result<void> flush(ShuffleQueueKind kind);
  /// Waits until what has come for this process up to now has been delivered.
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
