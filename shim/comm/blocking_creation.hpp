// SPDX-License-Identifier: Apache-2.0
/// The rule for entering a blocking function of the vendor's that creates communicators.
///
/// The vendors order such calls among themselves. Inside MPI_Comm_split, a vendor waits for an
/// MPI_Comm_idup that this process has started before. That MPI_Comm_idup completes only when all
/// its members have started it. A member that is in the same MPI_Comm_split would never start it. A
/// blocking function is therefore entered only when no process that it concerns has a duplication
/// in progress in the vendor's MPI. No such process starts one before the function has returned.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "shim/job/communicator.hpp"

namespace impishim::shim {

struct Job;

/// Replaces a value by the maximum over all participating processes of this system. Returns
/// MPI_SUCCESS or an error code that has been raised.
using GreatestOfLocal = std::function<int(std::uint64_t&)>;

/// Tells the other members of `parent` in this system that this one gave up the creation of a
/// communicator, if that may have happened to it alone: when a system is lost, some members may
/// complete an agreement that others cannot. They do not wait for it in a BlockingCreation then. To
/// be called where a collective call before the BlockingCreation has failed.
void leave_creation(Job& job, const Communicator& parent);

/// The right to enter blocking functions of the vendor's that create communicators. All local
/// processes concerned are in the same call and each constructs one object. Each keeps the object
/// while it is in those functions.
class BlockingCreation {
 public:
  /// Obtains the right for a communicator created from `parent`. Concerns the local members of
  /// `parent`, of both groups for an intercommunicator. Fails if one of them has left the creation.
  BlockingCreation(Job& job, const Communicator& parent);
  BlockingCreation(Job& job, const GreatestOfLocal& greatest);
  ~BlockingCreation();
  BlockingCreation(const BlockingCreation&) = delete;
  BlockingCreation& operator=(const BlockingCreation&) = delete;
  /// Returns MPI_SUCCESS, or the vendor's error code from the agreement of the processes.
  [[nodiscard]] int code() const { return code_; }

 private:
  void enter(const GreatestOfLocal& greatest);
  Job& job_;
  int code_ = MPI_SUCCESS;
};

/// Waits until this process has no duplication of a spanning communicator in progress, before a
/// blocking function of the vendor's that creates a communicator of this process alone. Such a
/// function waits inside the vendor's MPI for those duplications. There it competes for the
/// vendor's lock with the threads that progress them. Returns also if other threads start
/// duplications all the time, and at once inside a DuplicationStart.
void complete_duplications(Job& job);

/// Marks that this thread is inside the vendor's function that starts a duplication. The user's
/// callbacks run there, and what they create cannot wait for that duplication.
class DuplicationStart {
 public:
  DuplicationStart();
  ~DuplicationStart();
  DuplicationStart(const DuplicationStart&) = delete;
  DuplicationStart& operator=(const DuplicationStart&) = delete;
};

/// A GreatestOfLocal among the members of a vendor's intracommunicator.
[[nodiscard]] int greatest_among(Job& job, MPI_Comm among, std::uint64_t& value);
/// A GreatestOfLocal among the members of any communicator of the vendor's.
[[nodiscard]] int greatest_of_native(Job& job, MPI_Comm comm, std::uint64_t& value);

/// Returns true if the creation of a communicator from `parent`, a native communicator, concerns
/// other processes of this job. Returns false if some of its members belong to no job, since they
/// do not take part in agreements.
[[nodiscard]] bool needs_agreement(Job& job, MPI_Comm parent);

/// Returns true if a communicator of the vendor's has this process as its only member.
[[nodiscard]] bool has_one_member(MPI_Comm comm);

/// Calls `create`, a blocking function of the vendor's that creates a communicator from `parent`, a
/// native communicator. Obtains a BlockingCreation first if one is needed.
template <class Create>
int create_native(Job& job, MPI_Comm parent, Create&& create) {
  if (has_one_member(parent)) {
    complete_duplications(job);
    return create();
  }
  if (!needs_agreement(job, parent)) return create();
  const BlockingCreation creation(
      job, [&](std::uint64_t& value) { return greatest_of_native(job, parent, value); });
  return creation.code() == MPI_SUCCESS ? create() : creation.code();
}

}  // namespace impishim::shim
