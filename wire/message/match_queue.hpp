// SPDX-License-Identifier: Apache-2.0
/// Posted receives and unexpected messages of one process, and MPI's matching order between them
/// (MPI-3.1 3.5).
///
/// A receive with a native twin (MPI_ANY_SOURCE on a spanning communicator) cannot be matched here
/// alone, since the vendor may have matched its twin already. The first message that would match it
/// *contests* it. From then on the messages of that context wait, in order, until the contest is
/// settled, so that none overtakes another. A message proceeds at once only if its receive is the
/// same however the contest ends. Not thread-safe: the engine's lock protects it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/message/operation.hpp"

namespace impishim::wire {

struct EarlyMessage;

/// A message whose first packet has arrived whole and that no receive has taken.
struct Message {
  ContextId context = 0;
  std::int32_t source_rank = 0;
  std::int32_t tag = 0;
  WorldRank source = 0;             ///< sending process
  std::uint64_t request_id = 0;     ///< pk_srqid
  std::uint64_t message_bytes = 0;  ///< pk_msglen
  std::uint64_t native_bytes = 0;   ///< what a probe reports
  bool synchronous = false;         ///< DATASYNC: a SYNCACK is due to the sender
  bool counted = false;             ///< flow control has counted it as received
  bool awaits_contest = false;      ///< not compared with the posted receives yet
  /// Long, and its sender need not wait for the match: early_message.hpp.
  bool may_be_early = false;
  EarlyMessage* early = nullptr;  ///< it was accepted early, and is or arrives there
  Buffer payload;
  std::uint32_t payload_bytes = 0;
};

/// A match that results from a settled contest or an arrival: the message goes to the receive.
struct Match {
  ReceiveOperation* receive;
  /// Exactly one; none if the receive is closed (MatchQueue::close).
  std::list<Message> message;
};

/// Sources of a context from which no receive may wait any more.
struct ClosedSources {
  std::set<std::int32_t> ranks;
  bool any_source = false;  ///< receives from any source may not wait either
  std::optional<Error> error;
};

class MatchQueue {
 public:
  /// Returns the posted receive that takes a message with this envelope at once, and removes it
  /// from the posted receives. Returns null if there is none; the caller must then store() the
  /// message.
  [[nodiscard]] ReceiveOperation* match_arrival(ContextId context, std::int32_t source,
                                                std::int32_t tag);

  /// Stores an arrived message for which match_arrival() had no receive. The message may contest a
  /// receive. If a receive was posted meanwhile, the message may match, and the match is returned.
  [[nodiscard]] std::optional<Match> store(Message&& message);

  /// Posts a receive, or returns the unexpected message that it takes. If a receive with a native
  /// twin takes a message at once, has_native_twin is cleared: no contest is possible any more.
  [[nodiscard]] std::list<Message> post(ReceiveOperation& receive);

  /// Removes a posted receive. Returns false if it is not posted (matched, or contested).
  bool remove(ReceiveOperation& receive);

  /// Visits, in order of arrival, each message that waits for the end of a contest and that a
  /// posted receive would take.
  template <class Visit>
  void each_wanted(Visit&& visit) {
    if (contested_ == 0) return;
    for (auto& [id, context] : contexts_) {
      if (context.contest == nullptr) continue;
      for (Message& message : context.unexpected) {
        if (message.awaits_contest && is_wanted(context, message)) visit(message);
      }
    }
  }

  /// Returns the oldest message that a receive with these arguments would take.
  [[nodiscard]] const Message* find(ContextId context, std::int32_t source, std::int32_t tag) const;
  /// Removes and returns that message.
  [[nodiscard]] std::list<Message> take(ContextId context, std::int32_t source, std::int32_t tag);

  /// Removes and returns the newest unmatched message of `source` with this request id, if it may
  /// still be cancelled (IMPI 3.7.4).
  [[nodiscard]] std::list<Message> take_cancelled(WorldRank source, std::uint64_t request_id);

  /// Returns a contested receive that no thread settles yet; it counts as being settled from now
  /// on.
  [[nodiscard]] ReceiveOperation* next_contested();
  [[nodiscard]] bool is_contested(const ReceiveOperation& receive) const;
  /// Ends a contest, or withdraws a receive whose twin has completed. If not `native_won`, the
  /// contesting message matches the receive. Returns the resulting matches, in order.
  [[nodiscard]] std::vector<Match> settle(ReceiveOperation& receive, bool native_won);

  /// Visits each message that flow control has not counted yet, and marks it counted.
  template <class Visit>
  void count_all(Visit&& visit) {
    if (uncounted_ == 0) return;
    for (auto& [id, context] : contexts_) {
      for (Message& message : context.unexpected) {
        if (message.counted) continue;
        message.counted = true;
        visit(message);
      }
    }
    uncounted_ = 0;
  }

  [[nodiscard]] std::size_t uncounted() const { return uncounted_; }
  [[nodiscard]] std::size_t contested() const { return contested_; }
  [[nodiscard]] std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }
  /// Returns the number of unexpected messages; posted() returns the number of posted receives.
  /// Both count the list.
  [[nodiscard]] std::size_t unexpected() const;
  [[nodiscard]] std::size_t posted() const;

  /// Drops the unmatched messages of a context that has no posted receives; returns them so that
  /// the engine can count them. Keeps messages whose senders wait for an answer: a CANCEL must find
  /// them.
  [[nodiscard]] std::list<Message> forget(ContextId context);

  /// Closes sources of a context: no receive from them may wait. Removes the posted receives that
  /// may not wait any more, and returns them. One with a native twin stays, and becomes contested:
  /// settle() then returns it without a message, unless one of another source has come.
  [[nodiscard]] std::vector<ReceiveOperation*> close(ContextId context,
                                                     const ClosedSources& sources);
  /// Lets receives from any source wait again, though some sources are closed.
  void open_any_source(ContextId context);
  /// Returns the error that a receive which would have to wait ends with; null if it may wait.
  [[nodiscard]] const Error* closed(ContextId context, std::int32_t source) const {
    return closed_.empty() ? nullptr : look_up_closed(context, source);
  }
  /// Removes and returns the unmatched messages for which `cut_off` returns true. Messages that
  /// wait for the end of a contest stay.
  template <class Predicate>
  [[nodiscard]] std::list<Message> remove_if(const Predicate& cut_off) {
    std::list<Message> removed;
    for (auto& [id, context] : contexts_) {
      for (auto message = context.unexpected.begin(); message != context.unexpected.end();) {
        const auto current = message++;
        if (current->awaits_contest || !cut_off(*current)) continue;
        removed.splice(removed.end(), extract(context, current));
      }
    }
    return removed;
  }

  /// Returns all posted receives, and removes them from the queue (the engine has failed).
  [[nodiscard]] std::vector<ReceiveOperation*> release_all();

  /// Takes back a message's list node for reuse; the payload must have been taken.
  void recycle(std::list<Message>&& message);

 private:
  struct Context {
    std::list<ReceiveOperation*> posted;
    std::list<Message> unexpected;
    /// The contested receive. The first message with awaits_contest contests it.
    ReceiveOperation* contest = nullptr;
    bool settling = false;
  };

  [[nodiscard]] Context& context_of(ContextId id) {
    return latest_ != nullptr && latest_->first == id ? latest_->second : look_up(id);
  }
  [[nodiscard]] Context& look_up(ContextId id);
  [[nodiscard]] static bool is_wanted(Context& context, const Message& message);
  [[nodiscard]] ReceiveOperation* match_beside_contest(Context& context, std::int32_t source,
                                                       std::int32_t tag);
  [[nodiscard]] std::optional<Match> compare_first(Context& context,
                                                   std::list<Message>::iterator message);
  void compare_waiting(Context& context, std::vector<Match>& matches);
  [[nodiscard]] std::list<Message> extract(Context& context, std::list<Message>::iterator message);
  void unpost(Context& context, std::list<ReceiveOperation*>::iterator receive);
  [[nodiscard]] const Error* look_up_closed(ContextId context, std::int32_t source) const;
  void contest_closed(ContextId id, Context& context);

  std::unordered_map<ContextId, Context> contexts_;
  /// The latest entry of contexts_ that was used: most calls use the same context as the call
  /// before.
  std::pair<const ContextId, Context>* latest_ = nullptr;
  std::unordered_map<ContextId, ClosedSources> closed_;
  std::list<Message> free_messages_;
  std::list<ReceiveOperation*> free_posted_;
  std::size_t uncounted_ = 0;
  std::size_t contested_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
};

}  // namespace impishim::wire
