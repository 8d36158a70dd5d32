// SPDX-License-Identifier: Apache-2.0
#include "wire/engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/flow_control.hpp"
#include "wire/engine/link.hpp"
#include "wire/engine/match_queue.hpp"
#include "wire/engine/operation.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

/// Above this many unexpected bytes, a starving wait acknowledges them only once per
/// kStarvedPauseNs. Memory then grows slowly where it must grow, and not at all where the wait ends
/// by itself.
constexpr std::uint64_t kUnexpectedComfort = 64ULL << 20U;
constexpr std::uint64_t kStarvedPauseNs = 10'000'000;

/// Longest time that the end of this process waits until the other processes have taken the
/// announcement of it.
constexpr std::uint64_t kAbortSendNs = 100'000'000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

void MatchedMessageDeleter::operator()(MatchedMessage* message) const {
  std::default_delete<MatchedMessage>()(message);
}

Engine::Impl::Impl(EngineOptions options, std::atomic<bool>& batches_wait_)
    : batches_wait(batches_wait_),
      job(std::move(options.job)),
      here(options.here),
      my_id(job.proc(here).id),
      format_of_client(std::move(options.format_of_client)),
      datalen(job.values().datalen),
      relay(options.relay),
      buffers(std::max<std::size_t>(datalen, LinkOutput::kBatchCapacity)),
      peers(static_cast<std::size_t>(job.size())),
      early_limit(options.relay.early_message_limit) {
  // No other code knows the object yet.
  mutex.assert_held();
  const auto add = [&](std::unique_ptr<Channel> channel) -> Link& {
    mutex.assert_held();
    links.push_back(std::make_unique<Link>(*this, std::move(channel), buffers, datalen));
    links.back()->token = links.size() - 1;
    return *links.back();
  };
  // The links are in polling order. Reading shared memory costs less than asking the kernel, and
  // packets that one relay passes on to another should not wait for that.
  for (LocalChannel& each : options.local_channels) {
    Link& link = add(std::move(each.channel));
    link.local_proc = each.proc;
    link.gives_credit = true;
    link.output.credit = RelayCredit(relay.local_sender_limit);
    local_links.emplace(each.proc, &link);
  }
  for (HostChannel& each : options.host_channels) {
    Link& link = add(std::move(each.channel));
    link.remote_host = each.host;
    const auto client = static_cast<std::size_t>(job.host(each.host).client);
    link.gives_credit = job.clients()[client].impishim;
    if (link.gives_credit) link.output.credit = RelayCredit(relay.remote_sender_limit);
    host_links.emplace(each.host, &link);
  }
  const auto announcing = std::count_if(links.begin(), links.end(),
                                        [](const auto& link) { return link->announces_input; });
  asks_together = announcing > kAskedOneByOne;
}

Peer& Engine::Impl::make_peer(WorldRank rank) {
  auto& slot = peers[static_cast<std::size_t>(rank)];
  slot = std::make_unique<Peer>(rank, marks_towards(rank));
  slot->link = link_towards(rank);
  slot->relayed = slot->link != nullptr && relayed_beyond(*slot->link, rank);
  const Proc& proc = job.proc(rank);
  slot->format = format_of_client[static_cast<std::size_t>(proc.client)];
  PacketHeader header;
  header.src = my_id;
  header.dest = proc.id;
  encode_packet_header(header, slot->header);
  return *slot;
}

FlowMarks Engine::Impl::marks_towards(WorldRank rank) const {
  const auto client = static_cast<std::size_t>(job.proc(rank).client);
  const NegotiatedValues& values = job.values();
  if (!job.clients()[client].impishim) return FlowMarks::of_packets(values.ackmark, values.hiwater);
  return FlowMarks::by_size(values.ackmark, values.hiwater, datalen);
}

Link* Engine::Impl::link_towards(WorldRank destination) {
  const NextHop hop = next_hop(job, here, destination);
  if (hop.kind == NextHop::Kind::kRemote) {
    const auto found = host_links.find(hop.host);
    return found == host_links.end() ? nullptr : found->second;
  }
  const auto found = local_links.find(hop.proc);
  return hop.kind == NextHop::Kind::kArrived || found == local_links.end() ? nullptr
                                                                           : found->second;
}

std::size_t Engine::Impl::poll_link_locked(Link& link) {
  std::size_t events = 0;
  const auto flush = [&]() IMPISHIM_REQUIRES(mutex) {
    auto flushed = link.output.flush();
    if (!flushed) {
      link_ended_locked(link, flushed.error());
      return false;
    }
    events += *flushed;
    watch_output_locked(link);
    return true;
  };
  // It has waited since the last poll. An acknowledgement that this poll queues may wait until the
  // next one.
  if (link.output.has_deferred() && !flush()) return 1;
  if (!link.input_ended && may_have_input(link)) {
    link.announced = false;
    auto received = receive_locked(link);
    if (!received) {
      link_ended_locked(link, received.error());
      return 1;
    }
    events += *received;
    flush_batches_locked();
  }
  const bool output_due = !link.output.empty() && !link.output.has_deferred();
  if ((output_due || !link.output.streams.empty()) && !flush()) return 1;
  return events;
}

/// Counts all unexpected messages as received. A wait that no other event ends may need the
/// messages that flow control holds back behind them.
void Engine::Impl::take_unexpected_locked() {
  if (queue.unexpected_bytes() > kUnexpectedComfort) {
    const std::uint64_t now = now_ns();
    if (now - starved_at_ns < kStarvedPauseNs) return;
    starved_at_ns = now;
  }
  std::vector<std::pair<WorldRank, std::uint32_t>> packets;
  queue.count_all(
      [&](const Message& message) { packets.emplace_back(message.source, message.payload_bytes); });
  for (const auto& [source, payload] : packets) count_received_locked(source, payload);
}

std::size_t Engine::Impl::poll_locked(bool application_waits) {
  if (failed.load(std::memory_order_relaxed)) return flush_after_failure_locked();
  std::size_t events = 0;
  polling = true;
  // Programs repeat themselves: after a long burst, only the first message of the next burst is
  // sent alone.
  if (burst > 0) burst_limit = burst > kSentAtOnce ? 1 : kSentAtOnce;
  burst = 0;
  if (!batching.empty()) flush_batches_locked();
  if (asks_together) find_announced_locked();
  const bool waited = std::exchange(skipped_hosts, false);
  std::size_t local_events = 0;
  for (auto& link : links) {
    if (local_events > 0 && !waited && may_wait(*link)) {
      skipped_hosts = true;
      continue;
    }
    events += poll_link_locked(*link);
    if (link->local_proc >= 0) local_events = events;
    if (failed.load(std::memory_order_relaxed)) break;
  }
  polling = false;
  if (failed.load(std::memory_order_relaxed)) return events + 1;
  if (!owing.empty()) return_credits_locked();
  if (closing) advance_closing_locked();
  if (events == 0 && queue.uncounted() > 0 &&
      (application_waits || relieving.load(std::memory_order_relaxed))) {
    take_unexpected_locked();
  }
  return events;
}

Engine::Engine(EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(options), batches_wait_)) {}
Engine::~Engine() = default;

void Engine::start(SendOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->start_send_locked(operation);
}

void Engine::start(ReceiveOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->start_receive_locked(operation);
}

bool Engine::send_short(const ShortMessage& message) {
  const MutexLock lock(impl_->mutex);
  return impl_->send_short_locked(message);
}

void Engine::start_matched(ReceiveOperation& operation, MatchedMessagePointer message) {
  const MutexLock lock(impl_->mutex);
  operation.begin();
  operation.result = Envelope{};
  operation.has_native_twin = false;
  impl_->deliver_locked(operation, message->take());
}

void Engine::watch(ContextId context) {
  const MutexLock lock(impl_->mutex);
  impl_->watched.insert(context);
}

std::uint64_t Engine::await_arrival(std::uint64_t seen) {
  const MutexLock lock(impl_->mutex);
  while (impl_->arrivals == seen && !impl_->failed.load(std::memory_order_relaxed)) {
    impl_->arrived.wait(impl_->mutex);
  }
  return impl_->arrivals;
}

void Engine::stop_awaiting() {
  const MutexLock lock(impl_->mutex);
  ++impl_->arrivals;
  impl_->arrived.notify_all();
}

void Engine::cancel(SendOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->cancel_send_locked(operation);
}

void Engine::cancel(ReceiveOperation& operation) {
  const MutexLock lock(impl_->mutex);
  if (operation.complete() || !impl_->queue.remove(operation)) return;
  operation.result.cancelled = true;
  operation.phase_ = ReceiveOperation::Phase::kDone;
  operation.finish();
}

namespace {

Envelope envelope_of(const Message& message) {
  Envelope envelope;
  envelope.source = message.source_rank;
  envelope.tag = message.tag;
  envelope.wire_bytes = message.message_bytes;
  envelope.native_bytes = message.native_bytes;
  return envelope;
}

}  // namespace

std::optional<Envelope> Engine::probe(ContextId context, std::int32_t source, std::int32_t tag) {
  const MutexLock lock(impl_->mutex);
  const Message* message = impl_->queue.find(context, source, tag);
  if (message == nullptr) return std::nullopt;
  return envelope_of(*message);
}

MatchedMessagePointer Engine::match_probe(ContextId context, std::int32_t source, std::int32_t tag,
                                          Envelope& envelope) {
  const MutexLock lock(impl_->mutex);
  auto message = impl_->queue.take(context, source, tag);
  if (message.empty()) return nullptr;
  envelope = envelope_of(message.front());
  // The message has left the unexpected queue, so flow control counts it.
  if (!message.front().counted) {
    message.front().counted = true;
    impl_->count_received_locked(message.front().source, message.front().payload_bytes);
  }
  return MatchedMessagePointer(std::make_unique<MatchedMessage>(std::move(message)).release());
}

std::size_t Engine::contested_count() const {
  return impl_->contested.load(std::memory_order_acquire);
}

ReceiveOperation* Engine::contested() {
  const MutexLock lock(impl_->mutex);
  return impl_->queue.next_contested();
}

bool Engine::is_contested(const ReceiveOperation& operation) {
  const MutexLock lock(impl_->mutex);
  return impl_->queue.is_contested(operation);
}

void Engine::settle(ReceiveOperation& operation, bool native_won) {
  const MutexLock lock(impl_->mutex);
  if (impl_->failed.load(std::memory_order_relaxed)) return;
  impl_->deliver_all_locked(impl_->queue.settle(operation, native_won));
}

void Engine::withdraw(ReceiveOperation& operation) { settle(operation, true); }

std::size_t Engine::poll(bool application_waits) {
  // The thread that holds the lock is polling.
  if (!impl_->mutex.try_lock()) return 0;
  std::size_t events = 0;
  {
    const AdoptedLock lock(impl_->mutex);
    if (application_waits) impl_->count_application_poll_locked();
    const bool failed_before = impl_->failed.load(std::memory_order_relaxed);
    if (impl_->report_asked.load(std::memory_order_relaxed)) impl_->report_if_asked_locked();
    events = impl_->poll_locked(application_waits);
    if (failed_before || !impl_->failed.load(std::memory_order_relaxed)) return events;
  }
  drain_output();
  return events;
}

void Engine::send_batches_now() {
  const MutexLock lock(impl_->mutex);
  if (!impl_->failed.load(std::memory_order_relaxed)) impl_->flush_batches_locked();
}

void Engine::drain_output() {
  const std::uint64_t deadline = now_ns() + kAbortSendNs;
  for (;;) {
    {
      const MutexLock lock(impl_->mutex);
      static_cast<void>(impl_->poll_locked(false));
      const bool all_out =
          std::all_of(impl_->links.begin(), impl_->links.end(),
                      [](const auto& link) { return link->output.empty() || link->input_ended; });
      if (all_out) return;
    }
    if (now_ns() >= deadline) return;
    wait_for_event(std::chrono::milliseconds(10));
  }
}

std::uint64_t Engine::application_polls() const {
  return impl_->application_polls.load(std::memory_order_relaxed);
}

bool Engine::idle() {
  const MutexLock lock(impl_->mutex);
  return impl_->pending_sends == 0 &&
         std::all_of(impl_->links.begin(), impl_->links.end(), [](const auto& link) {
           return link->output.empty() && !link->output.holds();
         });
}

void Engine::close() {
  const MutexLock lock(impl_->mutex);
  impl_->close_locked();
}

bool Engine::closed() {
  const MutexLock lock(impl_->mutex);
  return impl_->closed_locked();
}

void Engine::announce_abort(std::int32_t exit_code, const std::string& text) {
  {
    const MutexLock lock(impl_->mutex);
    if (impl_->failed.load(std::memory_order_relaxed)) return;
    impl_->announce_abort_locked(exit_code, text);
  }
  drain_output();
}

const Error* Engine::failure() const {
  return impl_->failed.load(std::memory_order_acquire) ? &*impl_->failure : nullptr;
}

std::optional<std::int32_t> Engine::abort_code() const {
  return impl_->failed.load(std::memory_order_acquire) ? impl_->abort_code : std::nullopt;
}

void Engine::forget_context(ContextId context) {
  const MutexLock lock(impl_->mutex);
  for (Message& message : impl_->queue.forget(context)) {
    if (!message.counted) impl_->count_received_locked(message.source, message.payload_bytes);
    impl_->buffers.put(std::move(message.payload));
    if (message.early != nullptr) impl_->drop_early_locked(*message.early);
  }
}

const JobMap& Engine::job() const { return impl_->job; }

EngineCounters Engine::counters() {
  const MutexLock lock(impl_->mutex);
  EngineCounters counters = impl_->counters;
  impl_->add_traffic_locked(counters);
  return counters;
}

}  // namespace impishim::wire
