// SPDX-License-Identifier: Apache-2.0
/// Context ids of new communicators (IMPI 4.3).
///
/// IMPI's rule: each member proposes a number greater than all that it knows, and the greatest
/// proposal wins. Two threads of a process that create communicators from different parents at the
/// same time may propose the same number, and both may win. One member of the new communicator
/// therefore assigns the id if all systems use this library and some process has
/// MPI_THREAD_MULTIPLE. The id consists of its world rank and a counter, so all ids differ.
///
/// World ranks of two jobs may be the same. If a parent's members belong to several jobs, one
/// member assigns a random id instead: of 2^54, so that two are the same is less likely than a
/// fault of the memory.
#pragma once

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

/// Marker bits in a context id, above all ids that this library assigns by IMPI's rule. The highest
/// bit is not used: MPICH 4.0.2 treats unsigned numbers as signed in MPI_MAX.
/// Assigned by one member: world rank << 36, counter << 1.
inline constexpr wire::ContextId kGivenContext = 1ULL << 62U;
/// Of an assigned id that is random below this bit. World ranks are less than 2^20.
inline constexpr wire::ContextId kRandomContext = 1ULL << 56U;
/// Of the union of an intercommunicator's groups.
inline constexpr wire::ContextId kBothGroups = 1ULL << 61U;
/// Of an intercommunicator's local group.
inline constexpr wire::ContextId kLocalGroup = 1ULL << 60U;
/// Of a meeting that has a name (named_meeting.hpp); below this bit is the name.
inline constexpr wire::ContextId kNamedMeeting = 1ULL << 57U;
// Of partitioned communication, and of this parent's members in MPI_Comm_create_group: 1 << 58 and
// 1 << 59 (job/communicator.hpp).
/// The upper limit of ids by IMPI's rule, below the marker bits. IMPI_MAX_CID is greater.
inline constexpr std::uint64_t kMaxContext = kNamedMeeting;

/// Returns a random id that one process assigns, for a communicator whose members belong to several
/// jobs. Ends the job if there is no randomness.
[[nodiscard]] wire::ContextId random_context();

/// Returns an id that no other process assigns. The id for collectives is greater by one.
[[nodiscard]] wire::ContextId give_context(Job& job);
/// Returns a member's proposal in an agreement. The greatest proposal of all members is passed to
/// settle_context(). `gives` must be true on exactly one member, which assigns the id if ids are
/// assigned. `parent` is the communicator from which the new one is made, if it spans systems.
[[nodiscard]] std::uint64_t propose_context(Job& job, bool gives,
                                            const Communicator* parent = nullptr);
/// Returns the id for point-to-point messages; the id for collectives is greater by one. Error
/// kConfiguration if no ids are left.
[[nodiscard]] Result<wire::ContextId> settle_context(Job& job, std::uint64_t greatest);

/// Agrees on the context id of a new communicator among all members of `parent`, an
/// intracommunicator. Collective: when it returns, all members are inside. Returns MPI_SUCCESS or
/// an error code that has been raised.
[[nodiscard]] int agree_on_context(Job& job, Communicator& parent, const char* function,
                                   wire::ContextId& context);

}  // namespace impishim::shim
