// SPDX-License-Identifier: Apache-2.0
// Reductions between the two groups of an intercommunicator: each group's data crosses once.
#include <cstdint>
#include <numeric>
#include <span>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/movement/scatter_parts.hpp"

namespace impishim::collectives::inter {
namespace {

/// Returns the rank in its group of the member that communicates with `member` (a rank in both
/// groups). It is the group's first member in the client of `member`, or rank 0.
std::int32_t nearest(const InterTeam& team, std::int32_t first, std::int32_t size,
                     std::int32_t member) {
  const Membership& both = team.both.membership;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    if (both.client_of(first + rank) == both.client_of(member)) return rank;
  }
  return 0;
}

/// One member of each group, in the same client if there is such a pair. Each rank is a rank in its
/// own group.
struct Speakers {
  std::int32_t local = 0;
  std::int32_t remote = 0;
};

Speakers speakers_of(const InterTeam& team) {
  const bool first_is_local = team.first_local == 0;
  const std::int32_t first_size = first_is_local ? team.local_size() : team.remote_size();
  const std::int32_t second_size = first_is_local ? team.remote_size() : team.local_size();
  const Membership& both = team.both.membership;
  std::int32_t in_first = 0;
  for (std::int32_t rank = 0; rank < first_size; ++rank) {
    const std::int32_t other = nearest(team, first_size, second_size, rank);
    if (both.client_of(first_size + other) == both.client_of(rank)) {
      in_first = rank;
      break;
    }
  }
  const std::int32_t in_second = nearest(team, first_size, second_size, in_first);
  return first_is_local ? Speakers{in_first, in_second} : Speakers{in_second, in_first};
}

/// Sends the own group's total to the other group's speaker, and receives that group's total in
/// `theirs` at the own speaker.
Task swap_totals(const InterTeam& team, Speakers speakers, std::int32_t tag, ConstData contribution,
                 Data theirs, const Reduction& operation) {
  const bool speaks = team.local.membership.rank == speakers.local;
  const TypedRoom ours(*contribution.type, speaks ? contribution.count : 0);
  const std::int32_t other = team.first_remote + speakers.remote;
  const Segments segments(contribution, team.both.limits);
  const Segments theirs_segments(theirs, team.both.limits);
  if (speaks) post_receive_segments(team.both.leaders, other, tag, theirs, theirs_segments);
  co_await collectives::reduce(team.local, contribution, ours.data(), operation, speakers.local);
  if (speaks) post_send_segments(team.both.leaders, other, tag, ours.data(), segments);
  co_await team.both.leaders.all_posted();
}

}  // namespace

Task reduce(const InterTeam& team, ConstData contribution, Data result, const Reduction& operation,
            std::int32_t root) {
  if (root == kIsBystander) co_return;
  if (root == kIsRoot) {
    const std::int32_t speaker =
        nearest(team, team.first_remote, team.remote_size(), team.both.membership.rank);
    const Segments segments(result, team.both.limits);
    post_receive_segments(team.both.leaders, team.first_remote + speaker, kInterReduceTag, result,
                          segments);
    co_await team.both.leaders.all_posted();
    co_return;
  }
  const std::int32_t receiver = team.first_remote + root;
  const std::int32_t speaker = nearest(team, team.first_local, team.local_size(), receiver);
  const bool speaks = team.local.membership.rank == speaker;
  const TypedRoom total(*contribution.type, speaks ? contribution.count : 0);
  co_await collectives::reduce(team.local, contribution, total.data(), operation, speaker);
  if (!speaks) co_return;
  const Segments segments(contribution, team.both.limits);
  post_send_segments(team.both.leaders, receiver, kInterReduceTag, total.data(), segments);
  co_await team.both.leaders.all_posted();
}

Task allreduce(const InterTeam& team, ConstData contribution, Data result,
               const Reduction& operation) {
  const Speakers speakers = speakers_of(team);
  const bool speaks = team.local.membership.rank == speakers.local;
  const TypedRoom theirs(*result.type, speaks ? result.count : 0);
  co_await swap_totals(team, speakers, kInterAllreduceTag, contribution, theirs.data(), operation);
  if (speaks) copy(theirs.data(), result);
  co_await collectives::bcast(team.local, result, speakers.local);
}

Task reduce_scatter(const InterTeam& team, ConstData contribution, Data result,
                    std::span<const std::uint64_t> counts, const Reduction& operation) {
  const Speakers speakers = speakers_of(team);
  const bool speaks = team.local.membership.rank == speakers.local;
  const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const TypedRoom theirs(*result.type, speaks ? total : 0);
  co_await swap_totals(team, speakers, kInterReduceScatterTag, contribution, theirs.data(),
                       operation);
  co_await scatter_parts(team.local, theirs.data(), result, counts, speakers.local);
}

}  // namespace impishim::collectives::inter
