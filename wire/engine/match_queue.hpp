// SPDX-License-Identifier: Apache-2.0
/// Posted receives and unexpected messages of one process, and MPI's matching order between them
/// (MPI-3.1 3.5).
///
/// A receive with a native twin (MPI_ANY_SOURCE on a spanning communicator) cannot be matched here
/// alone, since the vendor may have matched its twin already. The first message that would match it
/// *contests* it: from then on the messages of that context wait, in order, until the contest is
/// settled, so that none overtakes. Only a message whose receive is the same however the contest
/// ends goes on at once. Single-threaded: the engine's lock protects it.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "wire/engine/buffer_pool.hpp"
#include "wire/engine/operation.hpp"

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
  bool synchronous = false;         ///< DATASYNC: owes the sender a SYNCACK
  bool counted = false;             ///< flow control has counted it as received
  bool awaits_contest = false;      ///< not compared with the posted receives yet
  bool may_be_early =
      false;  ///< long, and its sender need not wait for the match: early_message.hpp
  EarlyMessage* early = nullptr;  ///< it has been accepted, and lies or comes there
  Buffer payload;
  std::uint32_t payload_bytes = 0;
};

/// Result of a settled contest or an arrival: this message goes to this receive.
struct Match {
  ReceiveOperation* receive;
  std::list<Message> message;  ///< exactly one
};

class MatchQueue {
 public:
  /// The posted receive that takes a message with this envelope at once, which is then no longer
  /// posted; null: store() it.
  [[nodiscard]] ReceiveOperation* match_arrival(ContextId context, std::int32_t source,
                                                std::int32_t tag);

  /// Keeps an arrived message that match_arrival() had no receive for. It may contest a receive, or
  /// (if one was posted meanwhile) match: then it is returned.
  [[nodiscard]] std::optional<Match> store(Message&& message);

  /// Posts a receive, or returns the unexpected message that it takes. One with a native twin that
  /// takes a message at once has its has_native_twin cleared: there is nothing left to share.
  [[nodiscard]] std::list<Message> post(ReceiveOperation& receive);

  /// Takes a posted receive out; false if it is not posted (matched, or contested).
  bool remove(ReceiveOperation& receive);

  /// Visits each message that waits for the end of a contest and that a posted receive would take,
  /// in order of arrival.
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

  /// The oldest message that a receive with these arguments would take.
  [[nodiscard]] const Message* find(ContextId context, std::int32_t source, std::int32_t tag) const;
  /// The same, taken out.
  [[nodiscard]] std::list<Message> take(ContextId context, std::int32_t source, std::int32_t tag);

  /// Newest unmatched message of `source` with this request id, taken out if it may still be
  /// cancelled (IMPI 3.7.4).
  [[nodiscard]] std::list<Message> take_cancelled(WorldRank source, std::uint64_t request_id);

  /// A contested receive that nobody settles yet; it counts as being settled from now on.
  [[nodiscard]] ReceiveOperation* next_contested();
  [[nodiscard]] bool is_contested(const ReceiveOperation& receive) const;
  /// Ends a contest, or withdraws a receive whose twin has completed. Not `native_won`: the
  /// contesting message is the receive's. Returns the matches that follow, in order.
  [[nodiscard]] std::vector<Match> settle(ReceiveOperation& receive, bool native_won);

  /// Messages not counted by flow control yet; visits each once and marks it counted.
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
  /// Numbers of unexpected messages and of posted receives, by counting.
  [[nodiscard]] std::size_t unexpected() const;
  [[nodiscard]] std::size_t posted() const;

  /// Drops the unmatched messages of a context that nothing is posted in; returns them so that the
  /// engine can count them.
  [[nodiscard]] std::list<Message> forget(ContextId context);

  /// All posted receives, which are then no longer posted (the engine has failed).
  [[nodiscard]] std::vector<ReceiveOperation*> release_all();

  /// Gives a message's node back for reuse; its payload must have been taken.
  void recycle(std::list<Message>&& message);

 private:
  struct Context {
    std::list<ReceiveOperation*> posted;
    std::list<Message> unexpected;
    ReceiveOperation* contest =
        nullptr;  ///< the contested receive; the first message with awaits_contest contests it
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

  std::unordered_map<ContextId, Context> contexts_;
  std::pair<const ContextId, Context>* latest_ =
      nullptr;  ///< of contexts_: most calls ask for the one that the last asked for
  std::list<Message> free_messages_;
  std::list<ReceiveOperation*> free_posted_;
  std::size_t uncounted_ = 0;
  std::size_t contested_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
};

}  // namespace impishim::wire
