// SPDX-License-Identifier: Apache-2.0
/// When a blocking function of the vendor's that makes communicators may be entered.
///
/// The vendors order such calls among themselves: inside MPI_Comm_split one waits for an
/// MPI_Comm_idup that this process has begun before, and that ends only when all its members have
/// begun it. A member that stands in the same MPI_Comm_split never would. So a blocking function is
/// entered when no process that it concerns has a duplication under way at the vendor, and none
/// begins one before it has returned.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

#include "shim/job/communicator.hpp"

namespace impishim::shim {

struct Job;

/// Replaces a value by the greatest of all processes of this system that take part. Returns a code
/// that has been raised.
using GreatestOfLocal = std::function<int(std::uint64_t&)>;

/// The right to enter blocking functions of the vendor's that make communicators. All local
/// processes concerned are in the same call, each makes one, and each has it for as long as it is
/// in those functions.
class BlockingCreation {
 public:
  /// Of what is made from `parent`: concerns its local members, of both groups.
  BlockingCreation(Job& job, const Communicator& parent);
  BlockingCreation(Job& job, const GreatestOfLocal& greatest);
  ~BlockingCreation();
  BlockingCreation(const BlockingCreation&) = delete;
  BlockingCreation& operator=(const BlockingCreation&) = delete;
  /// MPI_SUCCESS, or what the vendor said to the processes' agreement.
  [[nodiscard]] int code() const { return code_; }

 private:
  void enter(const GreatestOfLocal& greatest);
  Job& job_;
  int code_ = MPI_SUCCESS;
};

/// GreatestOfLocal among the members of a vendor's intracommunicator.
[[nodiscard]] int greatest_among(Job& job, MPI_Comm among, std::uint64_t& value);
/// The same for any communicator of the vendor's.
[[nodiscard]] int greatest_of_native(Job& job, MPI_Comm comm, std::uint64_t& value);

/// Making a communicator from `parent`, which is the vendor's own, concerns other processes of this
/// job. Not where some of its members are in no job, since they know nothing of agreements.
[[nodiscard]] bool needs_agreement(Job& job, MPI_Comm parent);

/// Calls `create`, a blocking function of the vendor's that makes a communicator from `parent`,
/// which is the vendor's own.
template <class Create>
int create_native(Job& job, MPI_Comm parent, Create&& create) {
  if (!needs_agreement(job, parent)) return create();
  const BlockingCreation creation(
      job, [&](std::uint64_t& value) { return greatest_of_native(job, parent, value); });
  return creation.code() == MPI_SUCCESS ? create() : creation.code();
}

}  // namespace impishim::shim
