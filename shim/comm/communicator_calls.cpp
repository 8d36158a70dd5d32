// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_*: inquiry (MPI-3.1 6.4.1, 6.6.1).
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

int result_of(Likeness likeness) {
  return likeness == Likeness::kIdentical ? MPI_CONGRUENT
         : likeness == Likeness::kSimilar ? MPI_SIMILAR
                                          : MPI_UNEQUAL;
}

/// Compares two different spanning communicators.
int compare_members(const Communicator& one, const Communicator& two) {
  if ((one.inter == nullptr) != (two.inter == nullptr)) return MPI_UNEQUAL;
  const int members = result_of(compare(one.members, two.members));
  if (one.inter == nullptr) return members;
  const int own = result_of(compare(one.own_group(), two.own_group()));
  if (members == MPI_UNEQUAL || own == MPI_UNEQUAL) return MPI_UNEQUAL;
  return members == own ? own : MPI_SIMILAR;
}

}  // namespace

namespace calls {

int Comm_size(Job& job, MPI_Comm comm, int* size) {
  const Communicator* found = spanning(&job, comm);
  if (found == nullptr) return vendor::Comm_size(comm, size);
  *size = static_cast<int>(found->own_group().size());
  return MPI_SUCCESS;
}

int Comm_rank(Job& job, MPI_Comm comm, int* rank) {
  const Communicator* found = spanning(&job, comm);
  if (found == nullptr) return vendor::Comm_rank(comm, rank);
  *rank = found->rank;
  return MPI_SUCCESS;
}

int Comm_test_inter(Job& job, MPI_Comm comm, int* flag) {
  const Communicator* found = spanning(&job, comm);
  if (found == nullptr) return vendor::Comm_test_inter(comm, flag);
  *flag = found->inter != nullptr ? 1 : 0;
  return MPI_SUCCESS;
}

int Comm_remote_size(Job& job, MPI_Comm comm, int* size) {
  const Communicator* found = spanning(&job, comm);
  if (found == nullptr) return vendor::Comm_remote_size(comm, size);
  if (found->inter == nullptr)
    return raise(comm, MPI_ERR_COMM, "MPI_Comm_remote_size", "no intercommunicator");
  *size = found->size();
  return MPI_SUCCESS;
}

int Comm_compare(Job& job, MPI_Comm comm1, MPI_Comm comm2, int* result) {
  const Communicator* one = spanning(&job, comm1);
  const Communicator* two = spanning(&job, comm2);
  // The vendor's answer is right if both are native. The vendor checks the handles in any case.
  const int code = vendor::Comm_compare(comm1, comm2, result);
  if (code != MPI_SUCCESS || (one == nullptr && two == nullptr)) return code;
  if (one == nullptr || two == nullptr) {
    *result = MPI_UNEQUAL;
  } else {
    *result = one == two ? MPI_IDENT : compare_members(*one, *two);
  }
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
