// SPDX-License-Identifier: Apache-2.0
/// Creation of spanning communicators from the vendor's communicators of their local members.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"

namespace impishim::shim {

/// Returns true if all members are in this system; a communicator of them is then native.
[[nodiscard]] bool is_native(const Job& job, const RankList& members);

/// Returns true if the first of two groups comes before the second one in their union. All members
/// of both get the same answer, also if they belong to several jobs.
[[nodiscard]] bool comes_first(const Job& job, const RankList& group, const RankList& other);

/// Returns a local process's rank in this system's world.
[[nodiscard]] int native_rank(const Job& job, wire::WorldRank rank);
/// Returns that rank of the first of `members` that is in this system, or nothing.
[[nodiscard]] std::optional<int> first_local(const Job& job, const RankList& members);
/// Returns a tag on private_comm for a handshake about a new communicator. It is in the upper half
/// of the tags that every MPI supports; MPI_Comm_create_group uses the lower half.
[[nodiscard]] int handshake_tag(wire::ContextId context);

// The functions below that create communicators are collective over the local members and call
// blocking functions of the vendor's. All local members must be known to be inside the call, each
// with a BlockingCreation. The functions return MPI_SUCCESS or codes of the vendor that have been
// raised.

/// Makes `handle` the spanning communicator of `members`, with the error handler of `parent`.
/// `handle` is the vendor's communicator of the local `members` in their order. If all members are
/// local it stays native. Frees it on an error. `companion` is a second communicator of the same
/// processes, or null: one is made then.
[[nodiscard]] int make_communicator(Job& job, MPI_Comm parent, MPI_Comm* handle,
                                    wire::ContextId context, RankList members,
                                    std::shared_ptr<const Topology> topology = nullptr,
                                    MPI_Comm companion = MPI_COMM_NULL);

/// Gives `made` the error handler of the communicator from which it was made (MPI-3.1 8.3). The
/// vendors do not always do so.
[[nodiscard]] int inherit_error_handler(MPI_Comm parent, MPI_Comm made);

/// The input for the creation of an intercommunicator.
struct InterParts {
  /// The vendor's communicator of the local group's local members; ownership is taken.
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm parent = MPI_COMM_NULL;  ///< the communicator whose error handler is inherited
  wire::ContextId context = 0;
  RankList local;
  RankList remote;
};
/// Calls vendor::Comm_create_group. MPICH 4.0.2 reads the group of `comm` there, which it creates
/// only on request, and crashes if it was never requested. This function requests it first.
[[nodiscard]] int make_native_of_group(Job& job, MPI_Comm comm, MPI_Group group, int tag,
                                       MPI_Comm* newcomm);
/// Creates the vendor's communicator of the local processes with the native ranks `native`, for a
/// new communicator with the context id `context`. No message of the program can meet those of its
/// creation: Open MPI sends these on the parent, with the tag of MPI_Comm_create_group.
[[nodiscard]] int make_local_communicator(Job& job, const std::vector<int>& native,
                                          wire::ContextId context, MPI_Comm* newcomm);

/// Creates an intercommunicator with the error handler of `parent`. If all members of both groups
/// are local, it is native.
[[nodiscard]] int make_intercommunicator(Job& job, const InterParts& parts, MPI_Comm* newcomm);

/// The vendor's communicators that a spanning communicator has in addition to the user's handle. A
/// field is null if there is none.
struct HiddenHandles {
  MPI_Comm companion = MPI_COMM_NULL;
  MPI_Comm own = MPI_COMM_NULL;   ///< of an intercommunicator: the local group's local members
  MPI_Comm both = MPI_COMM_NULL;  ///< of an intercommunicator: the local members of both groups

  void free();
};
struct HiddenHandle {
  MPI_Comm from;                ///< the parent's handle
  MPI_Comm HiddenHandles::*to;  ///< the field for its duplicate
};
/// Returns the handles of `parent` that must be duplicated for a duplicate of it. The order is the
/// same on all members. Local.
[[nodiscard]] std::vector<HiddenHandle> hidden_handles(const Communicator& parent);
/// Makes `handle` the duplicate of `parent` with this context. `handle` and `hidden` are duplicates
/// of the parent's handles. Local.
[[nodiscard]] int describe_duplicate(Job& job, const Communicator& parent, MPI_Comm handle,
                                     const HiddenHandles& hidden, wire::ContextId context);
/// Makes `handle` the duplicate of `parent` and creates the hidden duplicates, too. Frees `handle`
/// on an error.
[[nodiscard]] int make_duplicate(Job& job, const Communicator& parent, MPI_Comm* handle,
                                 wire::ContextId context);

}  // namespace impishim::shim
