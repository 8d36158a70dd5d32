// SPDX-License-Identifier: Apache-2.0
/// The place where a resumable channel and the thread that connects it again meet.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// An event that one thread raises and another one waits for with poll(2).
class WakeEvent {
 public:
  [[nodiscard]] static Result<std::shared_ptr<WakeEvent>> make();
  explicit WakeEvent(Descriptor event) : event_(std::move(event)) {}
  [[nodiscard]] int descriptor() const { return event_.get(); }
  void raise();
  void clear();
  /// Async-signal-safe.
  void close_in_forked_child() { event_.reset(); }

 private:
  Descriptor event_;
};

/// Thread-safe.
class ConnectionSlot {
 public:
  /// A new connection, or the reason why there will be none.
  using Delivery = std::variant<std::unique_ptr<Channel>, Error>;

  /// `service` wakes the thread that connects.
  [[nodiscard]] static Result<std::shared_ptr<ConnectionSlot>> make(
      std::shared_ptr<WakeEvent> service);
  ConnectionSlot(std::shared_ptr<WakeEvent> service, std::shared_ptr<WakeEvent> delivered)
      : service_(std::move(service)), delivered_(std::move(delivered)) {}

  /// For the channel: says that its connection is lost, and why.
  void report_loss(std::string reason);
  /// For the channel: takes the latest delivery.
  [[nodiscard]] std::optional<Delivery> take();
  /// For the channel: returns true if there may be a delivery. Costs one load.
  [[nodiscard]] bool has_delivery() const { return has_delivery_.load(std::memory_order_acquire); }
  /// For the channel: a descriptor that is readable while there is a delivery, and after an
  /// announce_end().
  [[nodiscard]] int descriptor() const { return delivered_->descriptor(); }
  /// For the channel: makes the descriptor readable for good, since the owner has to hear of the
  /// end.
  void announce_end();
  /// For the channel: the stream has ended, and nobody looks after the channel any more. The peer
  /// may not know that, and connect again. From now on the slot itself says `last_words` on each
  /// connection.
  void finish(std::span<const std::byte> last_words);
  /// For the channel: says that it needs no connection any more. One that the peer makes is taken
  /// all the same.
  void stop();
  void close_in_forked_child() { delivered_->close_in_forked_child(); }

  /// For the service: returns true after stop().
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  /// For the service: takes the reason of a loss that was reported since the last call.
  [[nodiscard]] std::optional<std::string> take_loss();
  /// For the service: passes a connection to the channel. An earlier one that the channel has not
  /// taken is closed.
  void deliver(std::unique_ptr<Channel> connection);
  /// For the service: ends the channel.
  void give_up(Error error);

 private:
  void put(Delivery delivery);
  void say_last_words(std::unique_ptr<Channel> connection) IMPISHIM_REQUIRES(mutex_);

  std::shared_ptr<WakeEvent> service_;
  std::shared_ptr<WakeEvent> delivered_;
  std::atomic<bool> has_delivery_{false};
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  std::optional<std::string> loss_ IMPISHIM_GUARDED_BY(mutex_);
  std::optional<Delivery> delivery_ IMPISHIM_GUARDED_BY(mutex_);
  bool end_announced_ IMPISHIM_GUARDED_BY(mutex_) = false;
  std::vector<std::byte> last_words_ IMPISHIM_GUARDED_BY(mutex_);
  /// The latest connection on which they were said. To close it could destroy them.
  std::unique_ptr<Channel> said_on_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::wire
