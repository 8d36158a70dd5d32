// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/intercommunicator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "shim/coll/collective.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/context.hpp"
#include "shim/datatype/datatype.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

/// The data that members exchange: the proposed context id, and MPI_Intercomm_merge's flag. Only
/// the first `count` words are sent.
using Words = std::array<std::uint64_t, 2>;

wire::ConstBuffer to_send(const Words& words, std::size_t count) {
  return *const_buffer(words.data(), static_cast<std::int64_t>(count), MPI_UINT64_T);
}
wire::MutableBuffer room_for(Words& words, std::size_t count) {
  return *mutable_buffer(words.data(), static_cast<std::int64_t>(count), MPI_UINT64_T);
}

/// Follows IMPI 0.0. Each member sends its words to the first member of the other group. These two
/// first members compute the greatest id, exchange it, and answer the members of the other group.
/// `words` becomes the greatest id and the other group's flag.
collectives::Task tell_across(collectives::MemberTransport& leaders, std::int32_t rank,
                              std::int32_t remote_size, std::int32_t tag, std::size_t count,
                              Words& words) {
  Words theirs{};
  if (rank != 0) {
    leaders.post_send(0, tag, to_send(words, count));
    leaders.post_receive(0, tag, room_for(theirs, count));
    co_await leaders.all_posted();
    words = theirs;
    co_return;
  }
  std::vector<Words> others(static_cast<std::size_t>(remote_size));
  for (std::int32_t other = 1; other < remote_size; ++other) {
    leaders.post_receive(other, tag, room_for(others[static_cast<std::size_t>(other)], count));
  }
  co_await leaders.all_posted();
  for (const Words& each : others) words[0] = std::max(words[0], each[0]);
  leaders.post_send(0, tag, to_send(words, count));
  leaders.post_receive(0, tag, room_for(theirs, count));
  co_await leaders.all_posted();
  words[0] = std::max(words[0], theirs[0]);
  for (std::int32_t other = 1; other < remote_size; ++other)
    leaders.post_send(other, tag, to_send(words, count));
  co_await leaders.all_posted();
  words[1] = theirs[1];
}

int run_across(Job& job, Communicator& parent, const char* function, std::int32_t tag,
               std::size_t count, Words& words) {
  const int code = run_collective(job, parent, function, [&](Collective& call) {
    return std::optional(
        tell_across(call.leaders_across(), parent.rank, parent.size(), tag, count, words));
  });
  if (code != MPI_SUCCESS) leave_creation(job, parent);
  return code;
}

bool is_first_of_all(const Communicator& parent) {
  return parent.rank == 0 && parent.inter->first_local == 0;
}

int settle(Job& job, const Communicator& parent, const char* function, std::uint64_t greatest,
           wire::ContextId& context) {
  const auto settled = settle_context(job, greatest);
  if (!settled) return raise(parent.handle, function, settled.error());
  context = *settled;
  return MPI_SUCCESS;
}

}  // namespace

int agree_across(Job& job, Communicator& parent, const char* function, std::int32_t tag,
                 wire::ContextId& context) {
  Words words{propose_context(job, is_first_of_all(parent), &parent), 0};
  const int code = run_across(job, parent, function, tag, 1, words);
  return code == MPI_SUCCESS ? settle(job, parent, function, words[0], context) : code;
}

int agree_to_merge(Job& job, Communicator& parent, bool high, bool& other_high,
                   wire::ContextId& context) {
  constexpr const char* kFunction = "MPI_Intercomm_merge";
  Words words{propose_context(job, is_first_of_all(parent), &parent), high ? 1U : 0U};
  const int code = run_across(job, parent, kFunction, kMergeTag, words.size(), words);
  other_high = words[1] != 0;
  return code == MPI_SUCCESS ? settle(job, parent, kFunction, words[0], context) : code;
}

int meet_across(Job& job, Communicator& parent, const char* function) {
  Words nothing{};
  return run_across(job, parent, function, kFreeTag, 0, nothing);
}

}  // namespace impishim::shim
