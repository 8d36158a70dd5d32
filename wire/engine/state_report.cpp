// SPDX-License-Identifier: Apache-2.0
// A report in words of what a process holds and waits for, and traffic by hops.
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/link/traffic.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

void add(HopTraffic& sum, const Traffic& traffic) {
  sum.packets += traffic.packets;
  sum.bytes += traffic.bytes;
}

const char* name_of(LinkState state) {
  switch (state) {
    case LinkState::kOpen:
      return "open";
    case LinkState::kClosing:
      return "closing";
    case LinkState::kClosed:
      return "closed";
  }
  return "?";
}

std::string line_of(Link& link) {
  return fmt::format(
      "\n  to {}: {}; {} packets queued, {} waiting for credit; {} long messages in progress, {} "
      "waiting for credit; {} bytes "
      "there to "
      "be passed on; sent {} packets, passed on {}, received {}",
      link.channel->peer_name(), link.input_ended ? "ended" : name_of(link.state),
      link.output.queued(), link.output.held(), link.output.streams.size(),
      link.output.awaiting_credit.size(), link.output.credit.outstanding(),
      link.output.sent.packets, link.output.passed_on.packets, link.input.received.packets);
}

std::string line_of(const Peer& peer) {
  return fmt::format(
      "\n  rank {}: {} messages and {} long ones wait for its acknowledgement; {} of {} sent ahead "
      "of it",
      peer.rank, peer.held.size(), peer.stalled.size(), peer.send_credit.outstanding(),
      peer.marks.hiwater());
}

}  // namespace

void Engine::Impl::add_host_traffic(EngineCounters& sums, const Link& link) {
  add(sums.remote_origin, link.output.sent);
  add(sums.remote_relay, link.output.passed_on);
  add(sums.remote_received, link.input.received);
  add(sums.copied, link.output.copied);
  add(sums.copied, link.input.copied);
  sums.send_calls += link.output.send_calls;
  sums.remote_batches.add(link.output.batches);
  sums.receive_calls += link.input.calls;
}

void Engine::Impl::add_traffic(EngineCounters& sums) const {
  for (const auto& [rank, link] : peers.local_links()) {
    add(sums.local_origin, link->output.sent);
    add(sums.local_relay, link->output.passed_on);
    add(sums.local_received, link->input.received);
    sums.local_batches.add(link->output.batches);
    add(sums.copied, link->output.copied);
    add(sums.copied, link->input.copied);
  }
  for (const auto& [host, link] : peers.host_links()) add_host_traffic(sums, *link);
}

std::string Engine::Impl::report() {
  const EngineCounters& counters = state.counters;
  const MatchQueue& queue = receive_path.queue();
  std::string text = fmt::format(
      "state: {} sends pending, {} awaiting a match, {} long receives in progress, {} receives "
      "posted, {} unexpected messages of "
      "{} "
      "bytes; {} bytes held to be passed on (at most {} so far); stalls: {} for acknowledgements, "
      "{} for credit",
      send_path.pending(), send_path.awaiting_answer(), receive_path.long_receives(),
      queue.posted(), queue.unexpected(), queue.unexpected_bytes(), counters.relay_bytes,
      counters.relay_bytes_peak, counters.flow_control_stalls, counters.relay_stalls);
  if (const Error* error = failure.error()) text += fmt::format("; failed: {}", error->text);
  for (const auto& link : peers.links()) text += line_of(*link);
  for (const auto& each : peers.peers()) {
    if (each != nullptr && (!each->held.empty() || !each->stalled.empty())) text += line_of(*each);
  }
  return text;
}

void Engine::Impl::report_if_asked() {
  if (flags.report_asked.exchange(false)) log_line(LogArea::kEngine, LogLevel::kInfo, report());
}

EngineLoad Engine::Impl::load() {
  const MatchQueue& queue = receive_path.queue();
  EngineLoad load;
  load.pending_sends = send_path.pending();
  load.posted_receives = queue.posted();
  load.unexpected_messages = queue.unexpected();
  load.unexpected_bytes = queue.unexpected_bytes();
  for (const auto& link : peers.links()) {
    load.queued_packets += link->output.queued();
    load.held_packets += link->output.held();
  }
  std::map<std::int32_t, ClientTraffic> clients;
  const JobMap& map = settings.job.now();
  for (const auto& [host, link] : peers.host_links()) {
    const std::int32_t client = map.host(host).client;
    if (client == map.proc(settings.here).client) continue;
    ClientTraffic& traffic = clients[client];
    add(traffic.sent, link->output.sent);
    add(traffic.sent, link->output.passed_on);
    add(traffic.received, link->input.received);
  }
  for (auto& [client, traffic] : clients) {
    traffic.client = client;
    load.clients.push_back(traffic);
  }
  return load;
}

EngineLoad Engine::load() {
  const MutexLock lock(impl_->mutex);
  return impl_->load();
}

std::string Engine::report() {
  const MutexLock lock(impl_->mutex);
  return impl_->report();
}

void Engine::ask_for_report() {
  impl_->flags.report_asked.store(true);
  impl_->poller.wake();
}

}  // namespace impishim::wire
