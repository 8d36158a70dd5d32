// SPDX-License-Identifier: Apache-2.0
/// The handshake between the members of a group in MPI_Comm_create_group. The other members of the
/// communicator do not take part.
#pragma once

#include <mpi.h>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {

/// Creates the vendor's communicator of the local `members`, which are in `parent` and include this
/// process. Collective over these. Returns MPI_SUCCESS or an error code that has been raised.
[[nodiscard]] int make_local_part(Job& job, const Communicator& parent, const RankList& members,
                                  int tag, MPI_Comm* handle);

/// Creates the vendor's communicator of the local `members`, and agrees on the context id of the
/// new communicator among all `members`. They are in `parent`, belong to two or more systems, and
/// include this process. Collective over the members. Several handshakes may be in progress at
/// once; parent, members and tag tell them apart. Returns MPI_SUCCESS or an error code that has
/// been raised.
[[nodiscard]] int meet_as_group(Job& job, const Communicator& parent, const RankList& members,
                                int tag, MPI_Comm* handle, wire::ContextId& context);

}  // namespace impishim::shim
