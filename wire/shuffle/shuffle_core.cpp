// SPDX-License-Identifier: Apache-2.0
#include "wire/shuffle/shuffle_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/shuffle/shuffle_message.hpp"
#include "wire/shuffle/shuffle_options.hpp"
#include "wire/shuffle/shuffle_queue.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

std::size_t index_of(ShuffleQueueKind kind) { return static_cast<std::size_t>(kind); }

const char* name_of(ShuffleQueueKind kind) {
  constexpr const char* kNames[kShuffleQueueKinds] = {"local origin", "local relay", "remote"};
  return kNames[index_of(kind)];
}

}  // namespace

ShuffleCore::ShuffleCore(const JobMap& job, WorldRank here, const ShuffleOptions& options)
    : job_(job), here_(here), my_host_(job.proc(here).host), options_(options) {
  limits_.fill({options.local_sender_limit, 0});
  limits_[index_of(ShuffleQueueKind::kRemote)].limit = options.remote_sender_limit;
}

/// Returns the queue for the next hop, or nothing if the message has arrived.
std::optional<ShuffleCore::OutputKey> ShuffleCore::next_queue(const ShuffleMessage& message) const {
  const NextHop hop = next_linked_hop(job_, here_, message.source, message.destination);
  switch (hop.kind) {
    case NextHop::Kind::kArrived:
      break;
    case NextHop::Kind::kRemote:
      return OutputKey{ShuffleQueueKind::kRemote,
                       receiving_representative(job_, message.source, hop.host)};
    case NextHop::Kind::kLocal:
      return OutputKey{
          message.source == here_ ? ShuffleQueueKind::kLocalOrigin : ShuffleQueueKind::kLocalRelay,
          hop.proc};
  }
  return std::nullopt;
}

ShuffleCore::Output& ShuffleCore::output(const OutputKey& key) {
  auto& slot = outputs_[key];
  if (slot == nullptr) {
    const bool remote = key.first == ShuffleQueueKind::kRemote;
    const bool relay = key.first == ShuffleQueueKind::kLocalRelay;
    const ShuffleQueueOptions& options = remote  ? options_.remote
                                         : relay ? options_.local_relay
                                                 : options_.local_origin;
    slot = std::make_unique<Output>(
        Output{ShuffleQueue(key.second, options, limits_[index_of(key.first)]), {}});
  }
  return *slot;
}

void ShuffleCore::hold(std::size_t bytes) {
  counters_.held_bytes += bytes;
  counters_.held_bytes_peak = std::max(counters_.held_bytes_peak, counters_.held_bytes);
}

void ShuffleCore::append(Output& output, const OutputKey& key, const ShuffleMessage& message) {
  output.queue.append(message);
  ++counters_.sent[index_of(key.first)];
}

bool ShuffleCore::enqueue(const ShuffleMessage& message) {
  const auto key = next_queue(message);
  if (!key) {
    if (deliveries_.size() >= options_.deliverq_max || !undelivered_.empty()) return false;
    ++for_delivery_;
    hold(batched_size(message));
    deliveries_.push_back(message);
    return true;
  }
  Output& to = output(*key);
  if (to.queue.full() || !to.waiting.empty()) return false;
  hold(batched_size(message));
  append(to, *key, message);
  send_ready(to, *key);
  return true;
}

/// Returns true if the message has a place. If the place is an output queue, its key is added to
/// `filled`. Otherwise the message waits for a place.
bool ShuffleCore::place(Waiting&& waiting, std::set<OutputKey>& filled) {
  const auto key = next_queue(waiting.message);
  if (!key) {
    ++for_delivery_;
    if (deliveries_.size() < options_.deliverq_max && undelivered_.empty()) {
      deliveries_.push_back(std::move(waiting.message));
      return true;
    }
    undelivered_.push_back(std::move(waiting));
    return false;
  }
  Output& to = output(*key);
  if (!to.queue.full() && to.waiting.empty()) {
    append(to, *key, waiting.message);
    filled.insert(*key);
    return true;
  }
  to.waiting.push_back(std::move(waiting));
  return false;
}

/// Returns true if the message may come here. Roles follow one direction. The origin sends to a
/// representative or to the destination. A message from another host stays on this host. A message
/// that was relayed inside a host has arrived.
bool ShuffleCore::belongs_here(const ShuffleMessage& message, WorldRank neighbour,
                               ShuffleQueueKind came_by) const {
  const auto host_of = [&](WorldRank proc) { return job_.proc(proc).host; };
  const bool for_my_host = host_of(message.destination) == my_host_;
  switch (came_by) {
    case ShuffleQueueKind::kLocalOrigin: {
      if (message.source != neighbour || host_of(neighbour) != my_host_) return false;
      const NextHop to_here = next_linked_hop(job_, neighbour, message.source, message.destination);
      return to_here.kind == NextHop::Kind::kLocal && to_here.proc == here_;
    }
    case ShuffleQueueKind::kRemote:
      return host_of(message.source) == host_of(neighbour) && host_of(neighbour) != my_host_ &&
             for_my_host;
    case ShuffleQueueKind::kLocalRelay:
      return host_of(neighbour) == my_host_ && message.source != neighbour &&
             message.destination == here_;
  }
  return false;
}

Result<void> ShuffleCore::batch_arrived(WorldRank neighbour, ShuffleQueueKind kind,
                                        std::uint64_t number, std::span<const std::byte> batch) {
  auto messages = parse_batch(batch, job_.size());
  if (!messages) return messages.error();
  for (const ShuffleMessage& message : *messages) {
    if (belongs_here(message, neighbour, kind)) continue;
    return Error{
        ErrorKind::kProtocol,
        fmt::format("shuffle: a message from {} to {} that rank {} should not have sent here",
                    message.source, message.destination, neighbour)};
  }
  (kind == ShuffleQueueKind::kRemote ? counters_.received_remote : counters_.received_local) +=
      messages->size();
  hold(batch.size());
  auto arrival = std::make_shared<Arrival>(Arrival{neighbour, kind, number, messages->size() + 1});
  std::set<OutputKey> filled;
  for (ShuffleMessage& message : *messages) {
    if (place({std::move(message), arrival}, filled)) settle(arrival);
  }
  settle(arrival);  // the arrival itself, so that an empty batch is answered too
  for (const OutputKey& key : filled) send_ready(output(key), key);
  return {};
}

/// Counts one more message of the arrival as placed, and answers the batch after the last one.
void ShuffleCore::settle(const ArrivalPointer& arrival) {
  if (--arrival->homeless == 0)
    transfers_.push_back({arrival->neighbour, arrival->kind, true, arrival->number, {}});
}

Result<void> ShuffleCore::answer_arrived(WorldRank neighbour, ShuffleQueueKind kind,
                                         std::uint64_t number) {
  const OutputKey key{kind, neighbour};
  const auto found = outputs_.find(key);
  const bool all_waited = limits_[index_of(kind)].reached();
  if (found == outputs_.end() || !found->second->queue.answered(number)) {
    return Error{
        ErrorKind::kProtocol,
        fmt::format("shuffle: rank {} answered a message that it was never sent", neighbour)};
  }
  send_ready(*found->second, key);
  if (all_waited) send_all_ready(kind);
  return {};
}

/// Moves waiting messages into the output queue while it has room.
void ShuffleCore::move_on(Output& to, const OutputKey& key) {
  while (!to.waiting.empty() && !to.queue.full()) {
    const Waiting waiting = std::move(to.waiting.front());
    to.waiting.pop_front();
    append(to, key, waiting.message);
    settle(waiting.arrival);
  }
}

void ShuffleCore::send_ready(Output& to, const OutputKey& key) {
  while (to.queue.ready()) {
    auto batch = to.queue.take();
    counters_.held_bytes -= batch.size();
    transfers_.push_back({key.second, key.first, false, to.queue.batches(), std::move(batch)});
    ++counters_.batches[index_of(key.first)];
    move_on(to, key);
  }
}

/// Sends from the queues of a kind, which share a limit. Queues that stopped at the limit take
/// turns when a batch is answered.
void ShuffleCore::send_all_ready(ShuffleQueueKind kind) {
  const ShuffleSenderLimit& limit = limits_[index_of(kind)];
  WorldRank& last = last_served_[index_of(kind)];
  const WorldRank begun_behind = last;
  const auto serve = [&](WorldRank from, WorldRank to) {
    for (auto it = outputs_.lower_bound({kind, from});
         it != outputs_.end() && it->first < OutputKey{kind, to}; ++it) {
      if (limit.reached()) return;
      if (it->second->queue.ready()) last = it->first.second;
      send_ready(*it->second, it->first);
    }
  };
  serve(begun_behind + 1, job_.size());
  serve(0, begun_behind + 1);
}

bool ShuffleCore::delivery_due() const {
  if (deliveries_.empty()) return false;
  return deliveries_.size() >= options_.deliverq_threshold || !undelivered_.empty() ||
         counters_.delivered < deliver_until_;
}

void ShuffleCore::refill_delivery() {
  while (!undelivered_.empty() && deliveries_.size() < options_.deliverq_max) {
    Waiting waiting = std::move(undelivered_.front());
    undelivered_.pop_front();
    deliveries_.push_back(std::move(waiting.message));
    settle(waiting.arrival);
  }
}

std::optional<ShuffleMessage> ShuffleCore::deliver() {
  if (!delivery_due()) return std::nullopt;
  ShuffleMessage message = std::move(deliveries_.front());
  deliveries_.pop_front();
  ++counters_.delivered;
  counters_.held_bytes -= batched_size(message);
  refill_delivery();
  return message;
}

ShuffleFlush ShuffleCore::flush(ShuffleQueueKind kind) {
  ShuffleFlush flush;
  for (auto& [key, to] : outputs_) {
    if (key.first != kind) continue;
    const std::uint64_t until = to->queue.appended() + to->waiting.size();
    to->queue.flush(until);
    flush.emplace_back(&to->queue, until);
    send_ready(*to, key);
  }
  return flush;
}

bool ShuffleCore::done(const ShuffleFlush& flush) {
  return std::all_of(flush.begin(), flush.end(),
                     [](const auto& each) { return each.first->all_answered(each.second); });
}

std::uint64_t ShuffleCore::flush_delivery() {
  deliver_until_ = std::max(deliver_until_, for_delivery_);
  return deliver_until_;
}

std::string ShuffleCore::report() const {
  std::string text = fmt::format("shuffle: {} messages for delivery, {} waiting for room there",
                                 deliveries_.size(), undelivered_.size());
  for (std::size_t kind = 0; kind < kShuffleQueueKinds; ++kind) {
    text += fmt::format("; {} of {} {} batches unanswered", limits_[kind].outstanding,
                        limits_[kind].limit, name_of(static_cast<ShuffleQueueKind>(kind)));
  }
  for (const auto& [key, to] : outputs_) {
    text += fmt::format(
        "\n  {} queue to rank {}: {} bytes gathered, {} messages waiting for room, {} batches "
        "unanswered, {} sent",
        name_of(key.first), key.second, to->queue.gathered(), to->waiting.size(),
        to->queue.outstanding(), to->queue.batches());
  }
  return text;
}

bool ShuffleCore::idle() const {
  return deliveries_.empty() && undelivered_.empty() &&
         std::all_of(outputs_.begin(), outputs_.end(), [](const auto& each) {
           return each.second->queue.gathered() == 0 && each.second->queue.outstanding() == 0 &&
                  each.second->waiting.empty();
         });
}

}  // namespace impishim::wire
