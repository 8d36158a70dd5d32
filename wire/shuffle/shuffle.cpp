// SPDX-License-Identifier: Apache-2.0
#include "wire/shuffle/shuffle.hpp"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"
#include "wire/shuffle/shuffle_core.hpp"
#include "wire/shuffle/shuffle_message.hpp"
#include "wire/shuffle/shuffle_options.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Size of the header before a batch: kind, flag for an answer, number.
constexpr std::size_t kTransferHeader = 10;

}  // namespace

Shuffle::Shuffle(Engine& engine, WorldRank here, ContextId context, const ShuffleOptions& options,
                 Deliver deliver)
    : engine_(engine),
      here_(here),
      context_(context),
      deliver_(std::move(deliver)),
      core_(engine.job_at_start(), here, options) {
  engine_.watch(context_);
  network_ = quiet_thread("shuffle-network", [this] { receive_batches(); });
  delivery_ = quiet_thread("shuffle-deliver", [this] { deliver_messages(); });
}

Shuffle::~Shuffle() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  engine_.stop_awaiting();
  network_.join();
  delivery_.join();
  // The engine may still be sending from these buffers.
  for (Outgoing& each : outgoing_) {
    while (!each.operation.complete()) {
      if (engine_.poll(false) == 0) engine_.wait_for_event(std::chrono::milliseconds(1));
    }
  }
  engine_.forget_context(context_);
}

Result<void> Shuffle::wait_locked(const std::function<bool()>& done) {
  while (!failure_.has_value() && !done()) changed_.wait(mutex_);
  if (failure_) return *failure_;
  return {};
}

Result<void> Shuffle::enqueue(const ShuffleMessage& message) {
  const MutexLock lock(mutex_);
  auto taken = wait_locked([&]() IMPISHIM_REQUIRES(mutex_) { return core_.enqueue(message); });
  if (!taken) return taken.error();
  send_locked();
  if (core_.delivery_due()) changed_.notify_all();
  return {};
}

Result<void> Shuffle::flush(ShuffleQueueKind kind) {
  const MutexLock lock(mutex_);
  const ShuffleFlush flush = core_.flush(kind);
  send_locked();
  return wait_locked([&]() IMPISHIM_REQUIRES(mutex_) { return ShuffleCore::done(flush); });
}

Result<void> Shuffle::flush_delivery() {
  const MutexLock lock(mutex_);
  const std::uint64_t until = core_.flush_delivery();
  changed_.notify_all();
  return wait_locked([&]() IMPISHIM_REQUIRES(mutex_) { return handed_over_ >= until; });
}

ShuffleCounters Shuffle::counters() {
  const MutexLock lock(mutex_);
  return core_.counters();
}

std::string Shuffle::report() {
  const MutexLock lock(mutex_);
  return core_.report();
}

void Shuffle::send_locked() {
  std::erase_if(outgoing_, [](const Outgoing& each) { return each.operation.complete(); });
  for (const ShuffleTransfer& transfer : core_.take_transfers()) {
    Outgoing& out = outgoing_.emplace_back();
    out.bytes.resize(kTransferHeader);
    out.bytes[0] = static_cast<std::byte>(transfer.kind);
    out.bytes[1] = static_cast<std::byte>(transfer.answer);
    store_big_endian(out.bytes.data() + 2, transfer.number);
    out.bytes.insert(out.bytes.end(), transfer.batch.begin(), transfer.batch.end());
    out.operation.destination = transfer.neighbour;
    out.operation.context = context_;
    out.operation.source_rank = here_;
    out.operation.buffer = {out.bytes.data(), out.bytes.size(),
                            &TypeLayout::basic(BasicType::kByte)};
    engine_.start(out.operation);
  }
}

void Shuffle::fail_locked(const Error& error) {
  if (!failure_) failure_ = error;
  changed_.notify_all();
}

Result<void> Shuffle::handle_locked(WorldRank neighbour, std::span<const std::byte> bytes) {
  if (bytes.size() < kTransferHeader ||
      std::to_integer<std::size_t>(bytes[0]) >= kShuffleQueueKinds) {
    return Error{ErrorKind::kProtocol, "shuffle: garbage instead of a batch"};
  }
  const auto kind = static_cast<ShuffleQueueKind>(bytes[0]);
  const auto number = load_big_endian<std::uint64_t>(bytes.data() + 2);
  return bytes[1] != std::byte{0}
             ? core_.answer_arrived(neighbour, kind, number)
             : core_.batch_arrived(neighbour, kind, number, bytes.subspan(kTransferHeader));
}

/// Returns false if there is no message.
bool Shuffle::receive_one() {
  Envelope envelope;
  auto message = engine_.match_probe(context_, kAnySource, kAnyTag, envelope);
  if (message == nullptr) return false;
  std::vector<std::byte> bytes(envelope.wire_bytes);
  ReceiveOperation receive;
  receive.buffer = {bytes.data(), bytes.size(), &TypeLayout::basic(BasicType::kByte)};
  engine_.start_matched(receive, std::move(message));
  while (!receive.complete()) {  // for the rest of a long batch
    if (engine_.poll(false) == 0) engine_.wait_for_event(std::chrono::milliseconds(1));
  }
  const MutexLock lock(mutex_);
  if (receive.result.error) {
    fail_locked(*receive.result.error);
    return true;
  }
  auto handled = handle_locked(receive.result.source, bytes);
  if (!handled) return fail_locked(handled.error()), true;
  send_locked();
  changed_.notify_all();
  return true;
}

void Shuffle::receive_batches() {
  for (std::uint64_t seen = 0;;) {
    while (receive_one()) {
    }
    {
      const MutexLock lock(mutex_);
      if (const Error* failure = engine_.failure(); failure != nullptr) fail_locked(*failure);
      if (stop_ || failure_) return;
    }
    seen = engine_.await_arrival(seen);
  }
}

void Shuffle::deliver_messages() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stop_ && !failure_.has_value() && !core_.delivery_due()) changed_.wait(mutex_);
    if (stop_ || failure_) return;
    const auto message = core_.deliver();
    send_locked();  // messages that got room may be answered
    lock.unlock();
    deliver_(*message);
    lock.lock();
    ++handed_over_;
    changed_.notify_all();
  }
}

}  // namespace impishim::wire
