// SPDX-License-Identifier: Apache-2.0
/// Spanning intercommunicators: agreements among all members of both groups (IMPI 4.6-4.9), and the
/// creation of new intercommunicators.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {

// Tags on the collective context of an intercommunicator (IMPI 0.0).
inline constexpr std::int32_t kDuplicateTag = 210;  ///< IMPI_DUP_TAG
inline constexpr std::int32_t kMergeTag = 220;      ///< IMPI_MERGE_TAG
inline constexpr std::int32_t kFreeTag = 230;       ///< IMPI_COMM_FREE_TAG

// All functions below are collective over both groups of `parent` and return MPI_SUCCESS or error
// codes that have been raised. When one of the first three returns, all members are inside.

/// Agrees on the context id of a new communicator.
[[nodiscard]] int agree_across(Job& job, Communicator& parent, const char* function,
                               std::int32_t tag, wire::ContextId& context);
/// Agrees on the context id of a new communicator. The groups also tell each other whether they
/// want to be the later one in a merged communicator.
[[nodiscard]] int agree_to_merge(Job& job, Communicator& parent, bool high, bool& other_high,
                                 wire::ContextId& context);
/// Blocks until all members of both groups have called it.
[[nodiscard]] int meet_across(Job& job, Communicator& parent, const char* function);

/// The groups of an intercommunicator, from the view of this process.
struct TwoGroups {
  RankList local;
  RankList remote;
};
/// Creates an intercommunicator of two disjoint groups whose members know both. `local_comm` is a
/// communicator of the local group, and `greatest` the greatest propose_context() of all members.
/// Collective over both groups. Returns MPI_SUCCESS or an error code that has been raised.
[[nodiscard]] int make_of_two_groups(Job& job, MPI_Comm local_comm, std::uint64_t greatest,
                                     TwoGroups groups, MPI_Comm* newcomm);

/// Performs MPI_Comm_split and MPI_Comm_create of an intercommunicator. `group` contains members of
/// the local group.
[[nodiscard]] int split_intercommunicator(Job& job, Communicator& parent, int color, int key,
                                          MPI_Comm* newcomm);
[[nodiscard]] int create_intercommunicator(Job& job, Communicator& parent, const RankList& group,
                                           MPI_Comm* newcomm);

}  // namespace impishim::shim
