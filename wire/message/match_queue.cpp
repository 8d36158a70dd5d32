// SPDX-License-Identifier: Apache-2.0
#include "wire/message/match_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

bool accepts(std::int32_t wanted_source, std::int32_t wanted_tag, std::int32_t source,
             std::int32_t tag) {
  return (wanted_source == kAnySource || wanted_source == source) &&
         (wanted_tag == kAnyTag || wanted_tag == tag);
}

auto first_accepting(std::list<ReceiveOperation*>& posted, std::int32_t source, std::int32_t tag) {
  return std::find_if(posted.begin(), posted.end(), [&](const ReceiveOperation* receive) {
    return accepts(receive->source, receive->tag, source, tag);
  });
}

}  // namespace

MatchQueue::Context& MatchQueue::look_up(ContextId id) {
  latest_ = &*contexts_.try_emplace(id).first;
  return latest_->second;
}

void MatchQueue::unpost(Context& context, std::list<ReceiveOperation*>::iterator receive) {
  free_posted_.splice(free_posted_.begin(), context.posted, receive);
}

ReceiveOperation* MatchQueue::match_arrival(ContextId id, std::int32_t source, std::int32_t tag) {
  Context& context = context_of(id);
  if (context.contest != nullptr) [[unlikely]]
    return match_beside_contest(context, source, tag);
  const auto found = first_accepting(context.posted, source, tag);
  if (found == context.posted.end() || (*found)->has_native_twin) return nullptr;
  ReceiveOperation* receive = *found;
  unpost(context, found);
  return receive;
}

/// Returns the receive that takes a message which arrives during a contest, if it is the same
/// receive however the contest ends; otherwise null.
///
/// The contested receive is taken in either case: by the message that contests it, or by a native
/// message. The new message therefore goes to the first other posted receive that accepts it, with
/// two exceptions. That receive may have a twin, which the vendor may have matched. Or a message
/// that waits already accepts that receive, and would come first. Without both, no outcome leads
/// another message to this receive, and removing it changes nothing for the waiting messages.
ReceiveOperation* MatchQueue::match_beside_contest(Context& context, std::int32_t source,
                                                   std::int32_t tag) {
  const auto found = std::find_if(
      context.posted.begin(), context.posted.end(), [&](const ReceiveOperation* receive) {
        return receive != context.contest && accepts(receive->source, receive->tag, source, tag);
      });
  if (found == context.posted.end() || (*found)->has_native_twin) return nullptr;
  ReceiveOperation* receive = *found;
  // All messages stored since the contest began wait, and are at the end of the list.
  for (auto message = context.unexpected.rbegin();
       message != context.unexpected.rend() && message->awaits_contest; ++message) {
    if (accepts(receive->source, receive->tag, message->source_rank, message->tag)) return nullptr;
  }
  unpost(context, found);
  return receive;
}

bool MatchQueue::is_wanted(Context& context, const Message& message) {
  return first_accepting(context.posted, message.source_rank, message.tag) != context.posted.end();
}

std::optional<Match> MatchQueue::store(Message&& message) {
  Context& context = context_of(message.context);
  if (free_messages_.empty()) free_messages_.emplace_back();
  context.unexpected.splice(context.unexpected.end(), free_messages_, free_messages_.begin());
  context.unexpected.back() = std::move(message);
  Message& stored = context.unexpected.back();
  unexpected_bytes_ += stored.payload_bytes;
  if (!stored.counted) ++uncounted_;
  if (context.contest != nullptr) {
    stored.awaits_contest = true;
    return std::nullopt;
  }
  return compare_first(context, std::prev(context.unexpected.end()));
}

/// Compares one message with the posted receives. If it contests a receive, it stays in place and
/// is marked.
std::optional<Match> MatchQueue::compare_first(Context& context,
                                               std::list<Message>::iterator message) {
  message->awaits_contest = false;
  const auto found = first_accepting(context.posted, message->source_rank, message->tag);
  if (found == context.posted.end()) return std::nullopt;
  ReceiveOperation* receive = *found;
  if (receive->has_native_twin) {
    message->awaits_contest = true;
    context.contest = receive;
    context.settling = false;
    ++contested_;
    return std::nullopt;
  }
  unpost(context, found);
  return Match{receive, extract(context, message)};
}

/// Continues to compare waiting messages in order of arrival until one contests a receive.
void MatchQueue::compare_waiting(Context& context, std::vector<Match>& matches) {
  for (auto message = context.unexpected.begin();
       message != context.unexpected.end() && context.contest == nullptr;) {
    const auto current = message++;
    if (!current->awaits_contest) continue;
    if (auto match = compare_first(context, current)) matches.push_back(std::move(*match));
  }
}

std::list<Message> MatchQueue::post(ReceiveOperation& receive) {
  Context& context = context_of(receive.context);
  const auto found = std::find_if(
      context.unexpected.begin(), context.unexpected.end(), [&](const Message& message) {
        return accepts(receive.source, receive.tag, message.source_rank, message.tag);
      });
  if (found != context.unexpected.end() && !found->awaits_contest) {
    receive.has_native_twin = false;
    return extract(context, found);
  }
  // A message that awaits a contest may still go to an older receive, so this receive is posted
  // behind.
  if (free_posted_.empty()) free_posted_.emplace_back();
  context.posted.splice(context.posted.end(), free_posted_, free_posted_.begin());
  context.posted.back() = &receive;
  return {};
}

bool MatchQueue::remove(ReceiveOperation& receive) {
  Context& context = context_of(receive.context);
  if (context.contest == &receive) return false;
  const auto found = std::find(context.posted.begin(), context.posted.end(), &receive);
  if (found == context.posted.end()) return false;
  unpost(context, found);
  return true;
}

const Message* MatchQueue::find(ContextId id, std::int32_t source, std::int32_t tag) const {
  const auto context = contexts_.find(id);
  if (context == contexts_.end()) return nullptr;
  for (const Message& message : context->second.unexpected) {
    if (!accepts(source, tag, message.source_rank, message.tag)) continue;
    // An older receive may take the message, so it is not available to a probe yet.
    return message.awaits_contest ? nullptr : &message;
  }
  return nullptr;
}

std::list<Message> MatchQueue::take(ContextId id, std::int32_t source, std::int32_t tag) {
  const Message* wanted = find(id, source, tag);
  if (wanted == nullptr) return {};
  Context& context = context_of(id);
  const auto found = std::find_if(context.unexpected.begin(), context.unexpected.end(),
                                  [&](const Message& m) { return &m == wanted; });
  return extract(context, found);
}

std::list<Message> MatchQueue::take_cancelled(WorldRank source, std::uint64_t request_id) {
  for (auto& [id, context] : contexts_) {
    const auto found = std::find_if(
        context.unexpected.rbegin(), context.unexpected.rend(), [&](const Message& message) {
          return message.source == source && message.request_id == request_id;
        });
    if (found == context.unexpected.rend()) continue;
    // While a contest is open, the message may already belong to a receive. An early message has
    // been accepted and is on its way.
    if (found->awaits_contest || found->early != nullptr) return {};
    return extract(context, std::prev(found.base()));
  }
  return {};
}

ReceiveOperation* MatchQueue::next_contested() {
  if (contested_ == 0) return nullptr;
  for (auto& [id, context] : contexts_) {
    if (context.contest == nullptr || context.settling) continue;
    context.settling = true;
    return context.contest;
  }
  return nullptr;
}

bool MatchQueue::is_contested(const ReceiveOperation& receive) const {
  const auto context = contexts_.find(receive.context);
  return context != contexts_.end() && context->second.contest == &receive;
}

std::vector<Match> MatchQueue::settle(ReceiveOperation& receive, bool native_won) {
  std::vector<Match> matches;
  Context& context = context_of(receive.context);
  const auto posted = std::find(context.posted.begin(), context.posted.end(), &receive);
  if (posted != context.posted.end()) unpost(context, posted);
  if (context.contest != &receive) return matches;
  context.contest = nullptr;
  context.settling = false;
  --contested_;
  if (!native_won) {
    const auto contester = std::find_if(
        context.unexpected.begin(), context.unexpected.end(), [&](const Message& message) {
          return message.awaits_contest &&
                 accepts(receive.source, receive.tag, message.source_rank, message.tag);
        });
    receive.has_native_twin = false;
    if (contester != context.unexpected.end()) {
      matches.push_back(Match{&receive, extract(context, contester)});
    } else {
      IMPISHIM_ASSERT(closed(receive.context, receive.source) != nullptr);
      matches.push_back(Match{&receive, {}});
    }
  }
  compare_waiting(context, matches);
  if (!closed_.empty()) contest_closed(receive.context, context);
  return matches;
}

std::list<Message> MatchQueue::extract(Context& context, std::list<Message>::iterator message) {
  std::list<Message> one;
  one.splice(one.begin(), context.unexpected, message);
  unexpected_bytes_ -= message->payload_bytes;
  if (!message->counted) --uncounted_;
  return one;
}

std::list<Message> MatchQueue::forget(ContextId id) {
  closed_.erase(id);
  const auto context = contexts_.find(id);
  if (context == contexts_.end() || !context->second.posted.empty()) return {};
  std::list<Message>& unexpected = context->second.unexpected;
  std::list<Message> dropped;
  for (auto message = unexpected.begin(); message != unexpected.end();) {
    const auto next = std::next(message);
    const bool is_awaited = message->synchronous && message->early == nullptr;
    if (!is_awaited) dropped.splice(dropped.end(), extract(context->second, message));
    message = next;
  }
  if (!unexpected.empty()) return dropped;
  latest_ = nullptr;
  contexts_.erase(context);
  return dropped;
}

const Error* MatchQueue::look_up_closed(ContextId context, std::int32_t source) const {
  const auto found = closed_.find(context);
  if (found == closed_.end()) return nullptr;
  const ClosedSources& sources = found->second;
  const bool is_closed = source == kAnySource ? sources.any_source : sources.ranks.contains(source);
  return is_closed ? &*sources.error : nullptr;
}

/// Makes the first closed receive with a native twin contested, if no contest is open.
void MatchQueue::contest_closed(ContextId id, Context& context) {
  if (context.contest != nullptr) return;
  for (ReceiveOperation* receive : context.posted) {
    if (!receive->has_native_twin || closed(id, receive->source) == nullptr) continue;
    context.contest = receive;
    context.settling = false;
    ++contested_;
    return;
  }
}

std::vector<ReceiveOperation*> MatchQueue::close(ContextId id, const ClosedSources& sources) {
  ClosedSources& known = closed_[id];
  known.ranks.insert(sources.ranks.begin(), sources.ranks.end());
  known.any_source = known.any_source || sources.any_source;
  known.error = sources.error;
  std::vector<ReceiveOperation*> ended;
  Context& context = context_of(id);
  for (auto posted = context.posted.begin(); posted != context.posted.end();) {
    const auto current = posted++;
    ReceiveOperation* const receive = *current;
    if (receive->has_native_twin || closed(id, receive->source) == nullptr) continue;
    ended.push_back(receive);
    unpost(context, current);
  }
  contest_closed(id, context);
  return ended;
}

void MatchQueue::open_any_source(ContextId context) {
  const auto found = closed_.find(context);
  if (found != closed_.end()) found->second.any_source = false;
}

std::vector<ReceiveOperation*> MatchQueue::release_all() {
  std::vector<ReceiveOperation*> receives;
  for (auto& [id, context] : contexts_) {
    receives.insert(receives.end(), context.posted.begin(), context.posted.end());
    context.posted.clear();
    context.contest = nullptr;
  }
  contested_ = 0;
  return receives;
}

void MatchQueue::recycle(std::list<Message>&& message) {
  if (free_messages_.size() < 1024) free_messages_.splice(free_messages_.begin(), message);
}

std::size_t MatchQueue::unexpected() const {
  std::size_t number = 0;
  for (const auto& [id, context] : contexts_) number += context.unexpected.size();
  return number;
}

std::size_t MatchQueue::posted() const {
  std::size_t number = 0;
  for (const auto& [id, context] : contexts_) number += context.posted.size();
  return number;
}

}  // namespace impishim::wire
