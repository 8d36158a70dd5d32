// SPDX-License-Identifier: Apache-2.0
/// Context ids of new communicators (IMPI 4.3).
///
/// IMPI's rule: each member proposes a number above all that it knows, and the greatest wins. Two
/// threads of a process that make communicators of different parents at once may propose the same
/// number, and both may win. So where all systems are of this library and some process has
/// MPI_THREAD_MULTIPLE, an id is given out by one member of the new communicator instead: its world
/// rank and a counter, so that no two are alike.
#pragma once

#include "shim/job/job.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

/// Marks in a context id, above all that IMPI's rule gives out here. The highest bit stays free:
/// MPICH 4.0.2 takes unsigned numbers for signed ones in MPI_MAX.
inline constexpr wire::ContextId kGivenContext =
    1ULL << 62U;  ///< given out by one member: world rank << 36, counter << 1
inline constexpr wire::ContextId kBothGroups = 1ULL << 61U;  ///< of an intercommunicator's union
inline constexpr wire::ContextId kLocalGroup = 1ULL
                                               << 60U;  ///< of an intercommunicator's local group
inline constexpr wire::ContextId kGroupMeeting =
    1ULL << 59U;  ///< of this parent's members in MPI_Comm_create_group
/// Ids by IMPI's rule end here, before the marks; IMPI_MAX_CID is greater.
inline constexpr std::uint64_t kMaxContext = kGroupMeeting;

/// An id that no other process gives out; the id of collectives is one above.
[[nodiscard]] wire::ContextId give_context(Job& job);
/// A member's part in an agreement: the greatest proposal of all members goes to settle_context().
/// `gives`: exactly one member is to give out the id if ids are given out.
[[nodiscard]] std::uint64_t propose_context(Job& job, bool gives);
/// The id of point-to-point messages; that of collectives is one above. kConfiguration: no ids are
/// left.
[[nodiscard]] Result<wire::ContextId> settle_context(Job& job, std::uint64_t greatest);

/// Agrees on the context id of a new communicator among all members of `parent`, an
/// intracommunicator. Collective: when it returns, all members are inside. Returns a code that has
/// been raised.
[[nodiscard]] int agree_on_context(Job& job, Communicator& parent, const char* function,
                                   wire::ContextId& context);

}  // namespace impishim::shim
