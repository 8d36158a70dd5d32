// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/connection_slot.hpp"

#include <fmt/format.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

Result<std::shared_ptr<WakeEvent>> WakeEvent::make() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid())
    return Error{ErrorKind::kSystem, fmt::format("eventfd(2) fails: {}", strerror(errno))};
  return std::make_shared<WakeEvent>(std::move(event));
}

void WakeEvent::raise() {
  // A full counter is raised already.
  static_cast<void>(eventfd_write(event_.get(), 1));
}

void WakeEvent::clear() {
  eventfd_t count = 0;
  static_cast<void>(eventfd_read(event_.get(), &count));
}

Result<std::shared_ptr<ConnectionSlot>> ConnectionSlot::make(std::shared_ptr<WakeEvent> service) {
  auto delivered = WakeEvent::make();
  if (!delivered) return delivered.error();
  return std::make_shared<ConnectionSlot>(std::move(service), std::move(*delivered));
}

void ConnectionSlot::report_loss(std::string reason) {
  {
    const MutexLock lock(mutex_);
    loss_ = std::move(reason);
  }
  service_->raise();
}

void ConnectionSlot::stop() {
  if (!stopped_.exchange(true, std::memory_order_acq_rel)) service_->raise();
}

std::optional<ConnectionSlot::Delivery> ConnectionSlot::take() {
  const MutexLock lock(mutex_);
  if (!end_announced_) delivered_->clear();
  has_delivery_.store(false, std::memory_order_release);
  return std::exchange(delivery_, std::nullopt);
}

std::optional<std::string> ConnectionSlot::take_loss() {
  const MutexLock lock(mutex_);
  return std::exchange(loss_, std::nullopt);
}

void ConnectionSlot::announce_end() {
  const MutexLock lock(mutex_);
  end_announced_ = true;
  delivered_->raise();
}

void ConnectionSlot::finish(std::span<const std::byte> last_words) {
  const MutexLock lock(mutex_);
  loss_.reset();
  last_words_.assign(last_words.begin(), last_words.end());
  has_delivery_.store(false, std::memory_order_release);
  auto delivery = std::exchange(delivery_, std::nullopt);
  if (!delivery) return;
  if (auto* const connection = std::get_if<std::unique_ptr<Channel>>(&*delivery))
    say_last_words(std::move(*connection));
}

/// Closes a connection that does not take all of them, so that the peer makes another one.
void ConnectionSlot::say_last_words(std::unique_ptr<Channel> connection) {
  const iovec words = {last_words_.data(), last_words_.size()};
  auto said = connection->try_send(std::span(&words, 1));
  if (said && *said == last_words_.size()) said_on_ = std::move(connection);
}

void ConnectionSlot::put(Delivery delivery) {
  const MutexLock lock(mutex_);
  loss_.reset();
  if (!last_words_.empty()) {
    if (auto* const connection = std::get_if<std::unique_ptr<Channel>>(&delivery))
      say_last_words(std::move(*connection));
    return;
  }
  delivery_ = std::move(delivery);
  has_delivery_.store(true, std::memory_order_release);
  delivered_->raise();
}

void ConnectionSlot::deliver(std::unique_ptr<Channel> connection) { put(std::move(connection)); }

void ConnectionSlot::give_up(Error error) { put(std::move(error)); }

}  // namespace impishim::wire
