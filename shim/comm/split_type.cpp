// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split_type (MPI-4.0 7.4.2).
//
// No part of any type reaches beyond a system: all are parts of a node, of a network, or of a
// cluster, as a system is. So the vendor splits the local members, and its result is complete.
#include <fmt/format.h>

#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

bool is_split_type(int split_type) {
  switch (split_type) {
    case MPI_UNDEFINED:
    case MPI_COMM_TYPE_SHARED:
#ifdef MPI_COMM_TYPE_HW_GUIDED
    case MPI_COMM_TYPE_HW_GUIDED:
#endif
#ifdef MPI_COMM_TYPE_HW_UNGUIDED
    case MPI_COMM_TYPE_HW_UNGUIDED:
#endif
#ifdef MPIX_COMM_TYPE_NEIGHBORHOOD
    case MPIX_COMM_TYPE_NEIGHBORHOOD:
#endif
#ifdef OPEN_MPI
    case OMPI_COMM_TYPE_HWTHREAD:
    case OMPI_COMM_TYPE_CORE:
    case OMPI_COMM_TYPE_L1CACHE:
    case OMPI_COMM_TYPE_L2CACHE:
    case OMPI_COMM_TYPE_L3CACHE:
    case OMPI_COMM_TYPE_SOCKET:
    case OMPI_COMM_TYPE_NUMA:
    case OMPI_COMM_TYPE_BOARD:
    case OMPI_COMM_TYPE_HOST:
    case OMPI_COMM_TYPE_CU:
    case OMPI_COMM_TYPE_CLUSTER:
#endif
      return true;
    default:
      return false;
  }
}

/// Splits the local members of a spanning communicator.
int split_local(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
#ifdef MPI_COMM_TYPE_HW_UNGUIDED
  // The parts are the largest that are smaller than the whole. Of a communicator that spans systems
  // they are the nodes, though its local members may all be in one.
  if (split_type == MPI_COMM_TYPE_HW_UNGUIDED) {
    const int code =
        vendor::Comm_split_type(comm, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, newcomm);
    if (code != MPI_SUCCESS || info == MPI_INFO_NULL) return code;
    return vendor::Info_set(info, "mpi_hw_resource_type", "node");
  }
#endif
  return vendor::Comm_split_type(comm, split_type, key, info, newcomm);
}

}  // namespace

namespace calls {

int Comm_split_type(Job& job, MPI_Comm comm, int split_type, int key, MPI_Info info,
                    MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Comm_split_type";
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) {
    return create_native(job, comm, [&] {
      return native::Comm_split_type(job, comm, split_type, key, info, newcomm);
    });
  }
  if (parent->inter != nullptr)
    return raise(comm, MPI_ERR_COMM, kFunction, "not for intercommunicators");
  if (!is_split_type(split_type))
    return fail_collective(*parent, kFunction, MPI_ERR_ARG, fmt::format("type {}", split_type));
  int code = run_collective(job, *parent, kFunction, collective_arguments::Barrier);
  if (code != MPI_SUCCESS) return code;
  const BlockingCreation creation(job, *parent);
  code = creation.code();
  if (code == MPI_SUCCESS) code = split_local(comm, split_type, key, info, newcomm);
  return code == MPI_SUCCESS && *newcomm != MPI_COMM_NULL ? inherit_error_handler(comm, *newcomm)
                                                          : code;
}

}  // namespace calls
}  // namespace impishim::shim
