// SPDX-License-Identifier: Apache-2.0
/// New spanning communicators from the vendor's communicators of their local members.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"

namespace impishim::shim {

/// All members are in this system: a communicator of them is the vendor's own.
[[nodiscard]] bool is_native(const Job& job, const RankList& members);

/// A local process's rank in this system's world.
[[nodiscard]] int native_rank(const Job& job, wire::WorldRank rank);
/// The same of the first of `members` that is in this system.
[[nodiscard]] std::optional<int> first_local(const Job& job, const RankList& members);
/// Returns a tag for a handshake about a new communicator on private_comm. It lies in the upper
/// half of the tags that every MPI has; MPI_Comm_create_group uses the lower half.
[[nodiscard]] int handshake_tag(wire::ContextId context);

// All that make communicators are collective over the local members, and call blocking functions of
// the vendor's: all must be known to be inside the call, with a BlockingCreation each. They return
// codes of the vendor's, raised already.

/// Makes `handle`, the vendor's communicator of the local ones of `members` in their order, the
/// spanning communicator of `members`, with the error handler of `parent`. If all are local it
/// stays native. On an error it is freed.
[[nodiscard]] int make_communicator(Job& job, MPI_Comm parent, MPI_Comm* handle,
                                    wire::ContextId context, RankList members,
                                    std::shared_ptr<const Topology> topology = nullptr);

/// A new communicator has the error handler of the one that it was made from (MPI-3.1 8.3); the
/// vendors do not always see to it.
[[nodiscard]] int inherit_error_handler(MPI_Comm parent, MPI_Comm made);

/// What a new intercommunicator is made from.
struct InterParts {
  MPI_Comm own =
      MPI_COMM_NULL;  ///< the vendor's communicator of the own group's local members; taken over
  MPI_Comm parent = MPI_COMM_NULL;  ///< the communicator that the error handler is inherited from
  wire::ContextId context = 0;
  RankList local;
  RankList remote;
};
/// vendor::Comm_create_group. MPICH 4.0.2 looks there at the group of `comm`, which it makes only
/// when somebody asks for it, and crashes where nobody has.
[[nodiscard]] int make_native_of_group(Job& job, MPI_Comm comm, MPI_Group group, int tag,
                                       MPI_Comm* newcomm);

/// Makes an intercommunicator. Its error handler is that of `parent`. If all members of both groups
/// are local it is native.
[[nodiscard]] int make_intercommunicator(Job& job, const InterParts& parts, MPI_Comm* newcomm);

/// The vendor's communicators that a spanning one has beside the user's handle; null where it has
/// none.
struct HiddenHandles {
  MPI_Comm companion = MPI_COMM_NULL;
  MPI_Comm own = MPI_COMM_NULL;   ///< of an intercommunicator: the own group's local members
  MPI_Comm both = MPI_COMM_NULL;  ///< and those of both groups

  void free();
};
struct HiddenHandle {
  MPI_Comm from;                ///< the parent's
  MPI_Comm HiddenHandles::*to;  ///< where its duplicate belongs
};
/// Those of `parent`, which a duplicate needs duplicates of; the same order on all members. Local.
[[nodiscard]] std::vector<HiddenHandle> hidden_handles(const Communicator& parent);
/// Makes `handle` the duplicate of `parent` with this context; both it and `hidden` are duplicates
/// of the parent's. Local.
[[nodiscard]] int describe_duplicate(Job& job, const Communicator& parent, MPI_Comm handle,
                                     const HiddenHandles& hidden, wire::ContextId context);
/// Makes the hidden duplicates, too. On an error `handle` is freed.
[[nodiscard]] int make_duplicate(Job& job, const Communicator& parent, MPI_Comm* handle,
                                 wire::ContextId context);

}  // namespace impishim::shim
