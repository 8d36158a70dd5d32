// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/partial_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {
namespace {

/// Returns the operands of `runs`; the operands of this process lie in `own` one after another.
std::vector<Operand> operands_of(const Participants& participants,
                                 const std::vector<std::int32_t>& runs,
                                 const std::vector<Data>& own) {
  std::vector<Operand> operands;
  std::size_t next_own = 0;
  for (const std::int32_t client : runs) {
    const auto place = static_cast<std::size_t>(client);
    if (place == participants.me) {
      operands.push_back({-1, own[next_own++]});
    } else {
      operands.push_back({participants.members[place], {}});
    }
  }
  return operands;
}

std::vector<Data> split(const Data& own, std::uint64_t count, std::size_t number) {
  std::vector<Data> parts;
  for (std::size_t i = 0; i < number; ++i) parts.push_back(own.elements(i * count, count));
  return parts;
}

std::vector<std::int32_t> one_each(const Participants& participants) {
  std::vector<std::int32_t> runs(participants.size());
  std::iota(runs.begin(), runs.end(), 0);
  return runs;
}

}  // namespace

PartialExchange::PartialExchange(const Team& team, const Participants& participants,
                                 const std::vector<std::int32_t>& runs, const Data& own,
                                 const Segments& segments)
    : leaders_(team.leaders),
      participants_(participants),
      segments_(segments),
      own_(split(own, segments.count,
                 static_cast<std::size_t>(std::count(runs.begin(), runs.end(),
                                                     static_cast<std::int32_t>(participants.me))))),
      operands_(team.leaders, kAllreduceTag, operands_of(participants, runs, own_), *own.type,
                segments),
      sends_(segments.number()) {}

void PartialExchange::send(std::uint64_t k) {
  for (std::size_t place = 0; place < participants_.size(); ++place) {
    if (place == participants_.me) continue;
    for (const Data& run : own_) {
      sends_[k].push_back(
          &leaders_.post_send(participants_.members[place], kAllreduceTag, segments_.of(run, k)));
    }
  }
}

Task PartialExchange::finish(std::uint64_t k, Data target, const Reduction& operation) {
  for (Pending* send : sends_[k]) co_await *send;
  co_await operands_.combine(k, target, operation);
}

Task allreduce_by_exchange(const Team& team, const Participants& participants, Data sum,
                           Segments segments, const Reduction& operation) {
  const auto runs = one_each(participants);
  PartialExchange exchange(team, participants, runs, sum, segments);
  for (std::uint64_t k = 0; k < segments.number(); ++k) exchange.send(k);
  for (std::uint64_t k = 0; k < segments.number(); ++k) co_await exchange.finish(k, sum, operation);
}

namespace {

/// The members that take part in the rounds of recursive doubling: the second member of each of the
/// first pairs, then all others.
struct Doubling {
  explicit Doubling(const Participants& participants)
      : nodes(std::bit_floor(participants.size())),
        pairs(participants.size() - nodes),
        paired(participants.me < 2 * pairs),
        active(!paired || participants.me % 2 == 1),
        node(paired ? participants.me / 2 : participants.me - pairs) {}
  [[nodiscard]] std::size_t place(std::size_t of_node) const {
    return of_node < pairs ? 2 * of_node + 1 : of_node + pairs;
  }

  std::size_t nodes;
  std::size_t pairs;
  bool paired;
  bool active;
  std::size_t node;
};

/// Exchanges `mine` and `theirs` with each partner in turn and combines them. Swaps `mine` and
/// `theirs` where the partner's operands come later.
Task double_up(const Team& team, const Participants& participants, const Doubling& doubling,
               Data& mine, Data& theirs, Segments segments, const Reduction& operation) {
  for (std::size_t bit = 1; bit < doubling.nodes; bit <<= 1) {
    const std::int32_t partner = participants.members[doubling.place(doubling.node ^ bit)];
    post_receive_segments(team.leaders, partner, kAllreduceTag, theirs, segments);
    post_send_segments(team.leaders, partner, kAllreduceTag, mine, segments);
    co_await team.leaders.all_posted();
    const bool theirs_first = (doubling.node & bit) != 0;
    if (!theirs_first) std::swap(mine, theirs);
    operation.combine(theirs.base, mine.base, mine.count);
  }
}

}  // namespace

Task allreduce_by_doubling(const Team& team, const Participants& participants, Data sum,
                           Segments segments, const Reduction& operation) {
  const Doubling doubling(participants);
  const std::int32_t pair = doubling.paired ? participants.members[participants.me ^ 1U] : -1;
  if (!doubling.active) {
    post_send_segments(team.leaders, pair, kAllreduceFoldTag, sum, segments);
    co_await team.leaders.all_posted();
    post_receive_segments(team.leaders, pair, kAllreduceResultTag, sum, segments);
    co_await team.leaders.all_posted();
    co_return;
  }
  const TypedRoom room(*sum.type, sum.count);
  Data mine = sum;
  Data theirs = room.data();
  if (doubling.paired) {
    post_receive_segments(team.leaders, pair, kAllreduceFoldTag, theirs, segments);
    co_await team.leaders.all_posted();
    operation.combine(theirs.base, mine.base, mine.count);
  }
  co_await double_up(team, participants, doubling, mine, theirs, segments, operation);
  if (doubling.paired) post_send_segments(team.leaders, pair, kAllreduceResultTag, mine, segments);
  copy(mine, sum);
  co_await team.leaders.all_posted();
}

namespace {

/// Returns the part of `sum` that the member at `place` combines.
Data part_of(const Participants& participants, const Data& sum, std::size_t place) {
  const std::uint64_t begin = sum.count * place / participants.size();
  const std::uint64_t end = sum.count * (place + 1) / participants.size();
  return sum.elements(begin, end - begin);
}

}  // namespace

Task allreduce_by_parts(const Team& team, const Participants& participants, Data sum,
                        Segments segments, const Reduction& operation) {
  const Data mine = part_of(participants, sum, participants.me);
  const Segments mine_segments(mine.count, segments);
  const auto runs = one_each(participants);
  const std::vector<Data> own{mine};
  Operands operands(team.leaders, kAllreducePartTag, operands_of(participants, runs, own),
                    *sum.type, mine_segments);
  std::vector<Pending*> parts;
  for (std::size_t i = 1; i < participants.size(); ++i) {
    const std::size_t place = (participants.me + i) % participants.size();
    const Data part = part_of(participants, sum, place);
    const Segments part_segments(part.count, segments);
    for (std::uint64_t k = 0; k < part_segments.number(); ++k) {
      parts.push_back(&team.leaders.post_send(participants.members[place], kAllreducePartTag,
                                              part_segments.of(part, k)));
    }
  }
  for (std::uint64_t k = 0; k < mine_segments.number(); ++k) {
    co_await operands.combine(k, mine, operation);
    for (std::size_t i = 1; i < participants.size(); ++i) {
      const std::int32_t to = participants.members[(participants.me + i) % participants.size()];
      team.leaders.post_send(to, kAllreduceResultTag, mine_segments.of(mine, k));
    }
  }
  // Results are received into memory that is still being sent, so wait for these sends first.
  for (Pending* sent : parts) co_await *sent;
  for (std::size_t i = 1; i < participants.size(); ++i) {
    const std::size_t place = (participants.me + i) % participants.size();
    const Data part = part_of(participants, sum, place);
    post_receive_segments(team.leaders, participants.members[place], kAllreduceResultTag, part,
                          Segments(part.count, segments));
  }
  co_await team.leaders.all_posted();
}

}  // namespace impishim::collectives
