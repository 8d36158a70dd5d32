// SPDX-License-Identifier: Apache-2.0
#include "wire/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/link/link_output.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/message/operation.hpp"
#include "wire/path/arrival_count.hpp"
#include "wire/path/unanswered_message.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Longest time that the end of this process waits until the other processes have taken the
/// announcement of it.
constexpr std::uint64_t kAbortSendNs = 100'000'000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

EngineSettings settings_of(EngineOptions& options) {
  EngineSettings settings{.job = std::move(options.job),
                          .here = options.here,
                          .my_id = {},
                          .format_of_client = std::move(options.format_of_client),
                          .datalen = 0,
                          .relay = options.relay};
  settings.my_id = settings.job.proc(settings.here).id;
  settings.datalen = settings.job.values().datalen;
  return settings;
}

}  // namespace

void MatchedMessageDeleter::operator()(MatchedMessage* message) const {
  std::default_delete<MatchedMessage>()(message);
}

Engine::Impl::Impl(EngineOptions options, std::atomic<bool>& batches_wait)
    : settings(settings_of(options)),
      flags(batches_wait),
      state(std::max<std::size_t>(settings.datalen, LinkOutput::kBatchCapacity)),
      peers(settings, std::move(options.local_channels), std::move(options.host_channels), *this,
            state.buffers),
      readiness(peers.links(), poller, flags, *this),
      sender(readiness, flags, *this),
      relay(settings.relay.batch_target, state.counters, readiness, sender),
      send_path({settings, state, failure, peers, readiness, sender, *this}),
      receive_path({settings, state, flags, failure, peers, send_path, *this}),
      shutdown(
          {settings, state, flags, failure, peers, readiness, sender, send_path, receive_path}),
      dispatcher({settings, state, peers, readiness, relay, send_path, receive_path, shutdown}) {
  state.trace = options.trace;
  state.times_answers = options.times_answers;
}

std::size_t Engine::Impl::poll_link(Link& link) {
  std::size_t events = 0;
  const auto flush = [&]() IMPISHIM_REQUIRES(mutex) {
    auto flushed = link.output.flush();
    if (!flushed) {
      link_ended(link, flushed.error());
      return false;
    }
    events += *flushed;
    readiness.watch_output(link);
    return true;
  };
  // It has waited since the last poll. An acknowledgement that this poll queues may wait until the
  // next one.
  if (link.output.has_deferred() && !flush()) return 1;
  if (!link.input_ended && readiness.may_have_input(link)) {
    link.announced = false;
    auto received = dispatcher.receive(link);
    if (!received) {
      link_ended(link, received.error());
      return 1;
    }
    events += *received;
    sender.flush_batches();
  }
  const bool output_due = !link.output.empty() && !link.output.has_deferred();
  if ((output_due || !link.output.streams.empty()) && !flush()) return 1;
  return events;
}

/// Polls all links, but for those that may wait. Returns the number of events.
std::size_t Engine::Impl::poll_links() {
  std::size_t events = 0;
  const bool waited = std::exchange(skipped_hosts, false);
  std::size_t local_events = 0;
  for (const auto& link : peers.links()) {
    if (local_events > 0 && !waited && readiness.may_wait(*link)) {
      skipped_hosts = true;
      continue;
    }
    events += poll_link(*link);
    if (link->local_proc >= 0) local_events = events;
    if (has_failed()) break;
  }
  return events;
}

/// Removes the links to hosts that were released, if both ends have ended them.
void Engine::Impl::remove_released() {
  for (Link* link : shutdown.advance_released()) {
    add_host_traffic(state.counters, *link);
    peers.remove_host(*link);
  }
}

std::size_t Engine::Impl::poll(bool application_waits) {
  if (has_failed()) return shutdown.flush_after_failure();
  relay.poll_begins();
  send_path.poll_begins();
  if (sender.has_batches()) sender.flush_batches();
  if (readiness.asks_together()) readiness.find_announced();
  const std::size_t events = poll_links();
  relay.poll_ends();
  if (has_failed()) return events + 1;
  if (shutdown.has_losses()) [[unlikely]] {
    shutdown.advance_losses();
    return events + 1;
  }
  if (relay.owes_credit()) relay.return_credits();
  if (shutdown.closing()) shutdown.advance();
  if (shutdown.has_released()) remove_released();
  if (events == 0 && receive_path.queue().uncounted() > 0 &&
      (application_waits || flags.relieving.load(std::memory_order_relaxed))) {
    receive_path.take_unexpected();
  }
  return events;
}

Engine::Engine(EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(options), batches_wait_)) {}
Engine::~Engine() = default;

void Engine::start(SendOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->send_path.start(operation);
}

void Engine::start(ReceiveOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.start(operation);
}

bool Engine::send_short(const ShortMessage& message) {
  const MutexLock lock(impl_->mutex);
  return impl_->send_path.send_short(message);
}

void Engine::start_matched(ReceiveOperation& operation, MatchedMessagePointer message) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.start_matched(operation, message->take());
}

void Engine::watch(ContextId context) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.arrivals().watch(context);
}

std::uint64_t Engine::await_arrival(std::uint64_t seen) {
  const MutexLock lock(impl_->mutex);
  ArrivalCount& arrivals = impl_->receive_path.arrivals();
  while (arrivals.count() == seen && !impl_->has_failed()) arrivals.wait(impl_->mutex);
  return arrivals.count();
}

void Engine::stop_awaiting() {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.arrivals().change();
}

void Engine::cancel(SendOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->send_path.cancel(operation);
}

void Engine::cancel(ReceiveOperation& operation) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.cancel(operation);
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
  const Message* message = impl_->receive_path.queue().find(context, source, tag);
  if (message == nullptr) return std::nullopt;
  return envelope_of(*message);
}

MatchedMessagePointer Engine::match_probe(ContextId context, std::int32_t source, std::int32_t tag,
                                          Envelope& envelope) {
  const MutexLock lock(impl_->mutex);
  auto message = impl_->receive_path.take(context, source, tag);
  if (message.empty()) return nullptr;
  envelope = envelope_of(message.front());
  return MatchedMessagePointer(std::make_unique<MatchedMessage>(std::move(message)).release());
}

std::size_t Engine::contested_count() const {
  return impl_->flags.contested.load(std::memory_order_acquire);
}

ReceiveOperation* Engine::contested() {
  const MutexLock lock(impl_->mutex);
  return impl_->receive_path.queue().next_contested();
}

bool Engine::is_contested(const ReceiveOperation& operation) {
  const MutexLock lock(impl_->mutex);
  return impl_->receive_path.queue().is_contested(operation);
}

void Engine::settle(ReceiveOperation& operation, bool native_won) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.settle(operation, native_won);
}

void Engine::withdraw(ReceiveOperation& operation) { settle(operation, true); }

std::size_t Engine::poll(bool application_waits) {
  // The thread that holds the lock is polling.
  if (!impl_->mutex.try_lock()) return 0;
  std::size_t events = 0;
  bool ends_now = false;
  {
    const AdoptedLock lock(impl_->mutex);
    if (application_waits) impl_->flags.count_application_poll();
    const bool failed_before = impl_->has_failed();
    if (impl_->flags.report_asked.load(std::memory_order_relaxed)) impl_->report_if_asked();
    events = impl_->poll(application_waits);
    ends_now = !failed_before && impl_->has_failed();
  }
  if (ends_now) drain_output();
  for (const auto& each : impl_->observers) {
    PollObserver* const observer = each.load(std::memory_order_acquire);
    if (observer != nullptr) events += observer->polled();
  }
  return events;
}

void Engine::add_poll_observer(PollObserver& observer) {
  for (auto& each : impl_->observers) {
    PollObserver* free = nullptr;
    if (each.compare_exchange_strong(free, &observer, std::memory_order_acq_rel)) return;
  }
  IMPISHIM_ASSERT(false);
}

void Engine::remove_poll_observer(PollObserver& observer) {
  for (auto& each : impl_->observers) {
    PollObserver* held = &observer;
    each.compare_exchange_strong(held, nullptr, std::memory_order_acq_rel);
  }
}

void Engine::send_batches_now() {
  const MutexLock lock(impl_->mutex);
  if (!impl_->has_failed()) impl_->sender.flush_batches();
}

void Engine::drain_output() {
  const std::uint64_t deadline = now_ns() + kAbortSendNs;
  for (;;) {
    {
      const MutexLock lock(impl_->mutex);
      static_cast<void>(impl_->poll(false));
      const auto& links = impl_->peers.links();
      const bool all_out = std::all_of(links.begin(), links.end(), [](const auto& link) {
        return link->output.empty() || link->input_ended;
      });
      if (all_out) return;
    }
    if (now_ns() >= deadline) return;
    wait_for_event(std::chrono::milliseconds(10));
  }
}

std::uint64_t Engine::application_polls() const {
  return impl_->flags.application_polls.load(std::memory_order_relaxed);
}

bool Engine::idle() {
  const MutexLock lock(impl_->mutex);
  const auto& links = impl_->peers.links();
  return impl_->send_path.pending() == 0 &&
         std::all_of(links.begin(), links.end(), [](const auto& link) {
           return link->output.empty() && !link->output.holds();
         });
}

void Engine::close() {
  const MutexLock lock(impl_->mutex);
  impl_->shutdown.close();
}

bool Engine::closed() {
  const MutexLock lock(impl_->mutex);
  return impl_->shutdown.closed();
}

void Engine::announce_abort(std::int32_t exit_code, const std::string& text) {
  {
    const MutexLock lock(impl_->mutex);
    if (impl_->has_failed()) return;
    impl_->shutdown.announce_abort(exit_code, text);
  }
  drain_output();
}

void Engine::survive_losses(bool survive) {
  impl_->flags.survives_losses.store(survive, std::memory_order_relaxed);
}

std::size_t Engine::lost_count() const {
  return impl_->flags.lost_clients.load(std::memory_order_acquire);
}

std::vector<std::int32_t> Engine::lost_clients() {
  const MutexLock lock(impl_->mutex);
  return impl_->state.lost.numbers();
}

std::string Engine::loss_text(std::int32_t client) {
  const MutexLock lock(impl_->mutex);
  return impl_->state.lost.contains(client) ? impl_->state.lost.error(client).text : std::string();
}

void Engine::close_sources(ContextId context, std::int32_t client,
                           std::span<const std::int32_t> ranks) {
  const MutexLock lock(impl_->mutex);
  if (!impl_->state.lost.contains(client)) return;
  impl_->receive_path.close(context,
                            {{ranks.begin(), ranks.end()}, true, impl_->state.lost.error(client)});
}

void Engine::open_any_source(ContextId context) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.queue().open_any_source(context);
}

std::optional<Error> Engine::closed_source(ContextId context, std::int32_t source) {
  const MutexLock lock(impl_->mutex);
  const Error* const error = impl_->receive_path.queue().closed(context, source);
  return error == nullptr ? std::nullopt : std::optional(*error);
}

const Error* Engine::failure() const { return impl_->failure.error(); }

std::optional<std::int32_t> Engine::abort_code() const { return impl_->failure.abort_code(); }

void Engine::forget_context(ContextId context) {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.forget_context(context);
}

const JobMap& Engine::job() const { return impl_->settings.job.now(); }

const JobMap& Engine::job_at_start() const { return impl_->settings.job.at_start(); }

void Engine::extend(JobMap job, std::vector<Format> formats, std::vector<HostChannel> channels) {
  const MutexLock lock(impl_->mutex);
  const std::size_t known = impl_->peers.links().size();
  impl_->settings.job.replace(std::move(job));
  impl_->settings.format_of_client = std::move(formats);
  impl_->peers.add_hosts(std::move(channels), *impl_, impl_->state.buffers);
  const auto& links = impl_->peers.links();
  for (std::size_t i = known; i < links.size(); ++i) impl_->readiness.link_added(*links[i]);
  impl_->readiness.wake_sleepers();
}

void Engine::release(std::int32_t host) {
  const MutexLock lock(impl_->mutex);
  impl_->shutdown.release(host);
  impl_->readiness.wake_sleepers();
}

EngineCounters Engine::counters() {
  const MutexLock lock(impl_->mutex);
  EngineCounters counters = impl_->state.counters;
  impl_->add_traffic(counters);
  return counters;
}

void Engine::relieve() {
  const MutexLock lock(impl_->mutex);
  impl_->receive_path.relieve();
}

void Engine::end_relief() { impl_->flags.relieving.store(false); }

bool Engine::relieving() const { return impl_->flags.relieving.load(std::memory_order_relaxed); }

bool Engine::holds_unasked() {
  const MutexLock lock(impl_->mutex);
  return impl_->receive_path.queue().uncounted() > 0;
}

void Engine::take_unasked() {
  const MutexLock lock(impl_->mutex);
  if (!impl_->has_failed() && impl_->receive_path.queue().uncounted() > 0)
    impl_->receive_path.take_unexpected();
}

std::optional<UnansweredMessage> Engine::unanswered() {
  const MutexLock lock(impl_->mutex);
  return impl_->receive_path.unanswered();
}

/// The child has one thread, and a thread that does not exist there may hold the lock.
void Engine::close_in_forked_child() {
  impl_->mutex.assert_held();
  for (const auto& link : impl_->peers.links()) link->channel->close_in_forked_child();
}

void Engine::check_peers_answer() {
  const MutexLock lock(impl_->mutex);
  for (const auto& link : impl_->peers.links()) {
    if (link->input_ended) continue;
    const auto silence = link->channel->peer_silence();
    if (!silence) continue;
    impl_->link_ended(*link,
                      {ErrorKind::kConnection,
                       fmt::format("its machine has not answered for {} s", silence->count())});
  }
}

}  // namespace impishim::wire
