// SPDX-License-Identifier: Apache-2.0
/// Groups. A group is the vendor's if all members are in this system, and an object of this library
/// otherwise (docs/architecture.md, Groups).
///
/// A handle of this library (own_handle.hpp) refers to an immutable list of world ranks. Every MPI
/// function that takes a group is wrapped, so the vendor never receives such a handle.
#pragma once

#include <mpi.h>

#include <memory>
#include <string_view>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {

/// Creates a group of these processes in this order. It is the vendor's if all are in this system
/// (MPI_GROUP_EMPTY if there are none), and a group of this library otherwise. The caller owns it
/// and frees it once. Returns MPI_SUCCESS or an error code that has been raised.
[[nodiscard]] int make_group(Job& job, const RankList& members, MPI_Group* group);

/// Computes the world ranks of the members of a group of either kind. Returns MPI_SUCCESS or an
/// error code that has been raised: MPI_ERR_GROUP if the handle is no group, or if the group
/// contains processes that are not in the joined job (MPI_Comm_spawn).
[[nodiscard]] int members_of(Job& job, MPI_Group group, std::string_view function,
                             RankList& members);

/// Computes the world ranks of a native communicator's members. If `remote` is true, computes those
/// of the remote group of an intercommunicator. The value is kNoMember for processes that are not
/// in the joined job. Returns MPI_SUCCESS or a code of the vendor that has been raised.
[[nodiscard]] int members_of_native(Job& job, MPI_Comm comm, bool remote, RankList& members);

}  // namespace impishim::shim
