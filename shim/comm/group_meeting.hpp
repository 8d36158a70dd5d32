// SPDX-License-Identifier: Apache-2.0
/// How the members of a group find together in MPI_Comm_create_group, when the rest of the
/// communicator is elsewhere.
#pragma once

#include <mpi.h>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {

/// Makes the vendor's communicator of the local ones of `members`, which are in `parent`, this
/// process among them. Collective over these. Returns a code that has been raised.
[[nodiscard]] int make_local_part(Job& job, const Communicator& parent, const RankList& members,
                                  int tag, MPI_Comm* handle);

/// Makes the vendor's communicator of the local ones of `members`, and agrees on the context id of
/// the new communicator among all of them. `members` are in `parent`, in two or more systems, this
/// process among them. Collective over the members; several meetings may be held at once, told
/// apart by parent, members and tag. Returns a code that has been raised.
[[nodiscard]] int meet_as_group(Job& job, const Communicator& parent, const RankList& members,
                                int tag, MPI_Comm* handle, wire::ContextId& context);

}  // namespace impishim::shim
