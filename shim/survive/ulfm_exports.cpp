// SPDX-License-Identifier: Apache-2.0
// The functions of include/impishim/ulfm.h, but for those that the vendor's mpi.h declares: these
// have generated wrappers.
#include "impishim/ulfm.h"

#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/survive/survivor_calls.hpp"
#include "shim/vendor.hpp"

#define IMPISHIM_ULFM extern "C" __attribute__((visibility("default")))

#ifndef IMPISHIM_HAVE_MPIX_Comm_is_revoked
IMPISHIM_ULFM int MPIX_Comm_is_revoked(MPI_Comm comm, int* flag) {
  const impishim::shim::Communicator* communicator =
      impishim::shim::spanning(impishim::shim::joined(), comm);
  *flag = communicator != nullptr && communicator->revoked.load() ? 1 : 0;
  return MPI_SUCCESS;
}
#endif

IMPISHIM_ULFM int impishim_error_class(int errorcode, int* errorclass) {
  // A class is a code, too.
  if (errorcode >= IMPISHIM_ERR_PROC_FAILED && errorcode <= IMPISHIM_ERR_REVOKED) {
    *errorclass = errorcode;
    return MPI_SUCCESS;
  }
  const auto own = impishim::shim::own_error_class(errorcode);
  if (!own) return impishim::shim::vendor::Error_class(errorcode, errorclass);
  *errorclass = *own;
  return MPI_SUCCESS;
}

#ifndef IMPISHIM_HAVE_MPIX_Comm_agree
namespace impishim::shim {
namespace {

/// Calls a function for a spanning communicator, and another one for one inside a system.
template <class Spanning, class Native>
int survivors_call(MPI_Comm comm, const Spanning& across, const Native& inside) {
  Job* job = joined();
  Communicator* communicator = spanning(job, comm);
  return communicator == nullptr ? inside() : across(*job, *communicator);
}

}  // namespace
}  // namespace impishim::shim

IMPISHIM_ULFM int MPIX_Comm_failure_ack(MPI_Comm comm) {
  using namespace impishim::shim;
  return survivors_call(comm, acknowledge_failures, [] { return MPI_SUCCESS; });
}

IMPISHIM_ULFM int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failed) {
  using namespace impishim::shim;
  return survivors_call(
      comm,
      [failed](Job& job, const Communicator& each) {
        return acknowledged_group(job, each, failed);
      },
      [comm, failed] { return acknowledged_inside(comm, failed); });
}

IMPISHIM_ULFM int MPIX_Comm_revoke(MPI_Comm comm) {
  using namespace impishim::shim;
  return survivors_call(comm, revoke_communicator, [comm] { return revoke_inside(comm); });
}

IMPISHIM_ULFM int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm) {
  using namespace impishim::shim;
  return survivors_call(
      comm, [newcomm](Job& job, Communicator& each) { return shrink(job, each, newcomm); },
      [comm, newcomm] { return shrink_inside(comm, newcomm); });
}

IMPISHIM_ULFM int MPIX_Comm_agree(MPI_Comm comm, int* flag) {
  using namespace impishim::shim;
  return survivors_call(
      comm, [flag](Job& job, Communicator& each) { return agree(job, each, flag); },
      [comm, flag] { return agree_inside(comm, flag); });
}
#endif
