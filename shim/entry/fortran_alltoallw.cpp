// SPDX-License-Identifier: Apache-2.0
// Fortran's MPI_Alltoallw and its variants, for Open MPI. Open MPI's bindings convert as many
// datatypes as the communicator has processes, and read that number inside the handle. The handle
// of a spanning communicator is the vendor's communicator of the local members, so the number is
// too small (and may be too large for an intercommunicator). The bindings of the neighbourhood
// forms convert as many datatypes as there are processes, not edges. The bindings of the persistent
// forms free the array of datatypes that MPI_Start needs.
//
// These bindings are therefore this library's. On a spanning communicator they convert what the
// call needs; all other calls go on to the vendor. shim/README.md tells what was examined.
#ifdef OPEN_MPI

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/entry/fortran_names.hpp"
#include "shim/entry/vendor_lookup.hpp"
#include "shim/entry_points.hpp"
#include "shim/values/topology.hpp"
#include "shim/vendor.hpp"

// Fortran's MPI_IN_PLACE and MPI_BOTTOM are addresses of variables in a common block, which
// compilers name differently.
#define IMPISHIM_FORTRAN_CONSTANT(name) \
  extern "C" __attribute__((weak)) int name##_, name##__, name;
IMPISHIM_FORTRAN_CONSTANT(mpi_fortran_in_place)
IMPISHIM_FORTRAN_CONSTANT(mpi_fortran_bottom)
extern "C" __attribute__((weak)) int MPI_FORTRAN_IN_PLACE, MPI_FORTRAN_BOTTOM;

namespace impishim::shim {
namespace {

// Counts and displacements are passed on unchanged.
static_assert(sizeof(MPI_Fint) == sizeof(int));

template <std::size_t Number>
bool is_one_of(const void* address, const void* const (&constants)[Number]) {
  return address != nullptr && std::ranges::find(constants, address) != std::end(constants);
}

/// Returns a buffer's address in C.
void* c_address(void* address) {
  const void* const in_place[] = {&mpi_fortran_in_place_, &mpi_fortran_in_place__,
                                  &mpi_fortran_in_place, &MPI_FORTRAN_IN_PLACE};
  const void* const bottom[] = {&mpi_fortran_bottom_, &mpi_fortran_bottom__, &mpi_fortran_bottom,
                                &MPI_FORTRAN_BOTTOM};
  if (is_one_of(address, in_place)) return MPI_IN_PLACE;
  return is_one_of(address, bottom) ? MPI_BOTTOM : address;
}

std::vector<MPI_Datatype> c_types(std::size_t number, const MPI_Fint* types) {
  std::vector<MPI_Datatype> converted;
  converted.reserve(number);
  for (const MPI_Fint type : std::span(types, number)) converted.push_back(vendor::Type_f2c(type));
  return converted;
}

/// One side's arguments, as Fortran passes them. Displacements are INTEGER, or of kind
/// MPI_ADDRESS_KIND.
template <class Displacement>
struct Side {
  void* buffer;
  const MPI_Fint* counts;
  const Displacement* displacements;
  const MPI_Fint* types;
};

/// Returns the spanning communicator of a user's call, or null if the call is for the vendor. The
/// vendor itself never calls these functions, so a call with the thread inside the vendor comes
/// from a callback.
Communicator* spanning_in_fortran(Job* job, const MPI_Fint* comm) {
  return job == nullptr ? nullptr : spanning(job, vendor::Comm_f2c(*comm));
}

/// Converts the arguments of a call; the result must live as long as the operation may be started.
template <class Arguments, class Displacement>
Prepare prepare_blocks(Arguments arguments, std::size_t sends, const Side<Displacement>& send,
                       std::size_t receives, const Side<Displacement>& receive) {
  void* from = c_address(send.buffer);
  void* into = c_address(receive.buffer);
  auto send_types = from == MPI_IN_PLACE ? std::vector<MPI_Datatype>() : c_types(sends, send.types);
  return [=, send_types = std::move(send_types),
          receive_types = c_types(receives, receive.types)](Collective& call) {
    return arguments(call, from, send.counts, send.displacements, send_types.data(), into,
                     receive.counts, receive.displacements, receive_types.data());
  };
}

Prepare prepare_alltoallw(const Communicator& communicator, const Side<MPI_Fint>& send,
                          const Side<MPI_Fint>& receive) {
  const auto peers = static_cast<std::size_t>(communicator.size());
  return prepare_blocks(collective_arguments::Alltoallw, peers, send, peers, receive);
}

Prepare prepare_neighbours(const Communicator& communicator, const Side<MPI_Aint>& send,
                           const Side<MPI_Aint>& receive) {
  // Null: the call will be refused, and reads no datatype.
  const Topology* topology = communicator.topology.get();
  return prepare_blocks(collective_arguments::Neighbor_alltoallw,
                        topology == nullptr ? 0 : topology->destinations().size(), send,
                        topology == nullptr ? 0 : topology->sources().size(), receive);
}

void give_code(int code, MPI_Fint* ierr) {
  if (ierr != nullptr) *ierr = code;
}

}  // namespace

IMPISHIM_FORTRAN_BINDING void ompi_alltoallw_f(void* sendbuf, MPI_Fint* sendcounts,
                                               MPI_Fint* sdispls, MPI_Fint* sendtypes,
                                               void* recvbuf, MPI_Fint* recvcounts,
                                               MPI_Fint* rdispls, MPI_Fint* recvtypes,
                                               MPI_Fint* comm, MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  Communicator* communicator = spanning_in_fortran(job, comm);
  if (communicator == nullptr) {
    static const auto vendors = vendors_binding<decltype(ompi_alltoallw_f)>("ompi_alltoallw_f");
    return vendors(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                   comm, ierr);
  }
  auto arguments = prepare_alltoallw(*communicator, {sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes});
  give_code(run_collective(*job, *communicator, "MPI_Alltoallw", arguments), ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_alltoallw_f, mpi_alltoallw, MPI_ALLTOALLW, MPI_Alltoallw)

IMPISHIM_FORTRAN_BINDING void ompi_ialltoallw_f(void* sendbuf, MPI_Fint* sendcounts,
                                                MPI_Fint* sdispls, MPI_Fint* sendtypes,
                                                void* recvbuf, MPI_Fint* recvcounts,
                                                MPI_Fint* rdispls, MPI_Fint* recvtypes,
                                                MPI_Fint* comm, MPI_Fint* request, MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  Communicator* communicator = spanning_in_fortran(job, comm);
  if (communicator == nullptr) {
    static const auto vendors = vendors_binding<decltype(ompi_ialltoallw_f)>("ompi_ialltoallw_f");
    return vendors(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                   comm, request, ierr);
  }
  auto arguments = prepare_alltoallw(*communicator, {sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes});
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = start_collective(*job, *communicator, "MPI_Ialltoallw", &made, arguments);
  if (code == MPI_SUCCESS) *request = calls::Request_c2f(*job, made);
  give_code(code, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_ialltoallw_f, mpi_ialltoallw, MPI_IALLTOALLW, MPI_Ialltoallw)

IMPISHIM_FORTRAN_BINDING void ompix_alltoallw_init_f(void* sendbuf, MPI_Fint* sendcounts,
                                                     MPI_Fint* sdispls, MPI_Fint* sendtypes,
                                                     void* recvbuf, MPI_Fint* recvcounts,
                                                     MPI_Fint* rdispls, MPI_Fint* recvtypes,
                                                     MPI_Fint* comm, MPI_Fint* info,
                                                     MPI_Fint* request, MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  Communicator* communicator = spanning_in_fortran(job, comm);
  if (communicator == nullptr) {
    static const auto vendors =
        vendors_binding<decltype(ompix_alltoallw_init_f)>("ompix_alltoallw_init_f");
    return vendors(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                   comm, info, request, ierr);
  }
  auto arguments = prepare_alltoallw(*communicator, {sendbuf, sendcounts, sdispls, sendtypes},
                                     {recvbuf, recvcounts, rdispls, recvtypes});
  MPI_Request made = MPI_REQUEST_NULL;
  const int code =
      init_collective(*job, *communicator, "MPIX_Alltoallw_init", &made, std::move(arguments));
  if (code == MPI_SUCCESS) *request = calls::Request_c2f(*job, made);
  give_code(code, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompix_alltoallw_init_f, mpix_alltoallw_init, MPIX_ALLTOALLW_INIT,
                       MPIX_Alltoallw_init)

IMPISHIM_FORTRAN_BINDING void ompi_neighbor_alltoallw_f(void* sendbuf, MPI_Fint* sendcounts,
                                                        MPI_Aint* sdispls, MPI_Fint* sendtypes,
                                                        void* recvbuf, MPI_Fint* recvcounts,
                                                        MPI_Aint* rdispls, MPI_Fint* recvtypes,
                                                        MPI_Fint* comm, MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  Communicator* communicator = spanning_in_fortran(job, comm);
  if (communicator == nullptr) {
    static const auto vendors =
        vendors_binding<decltype(ompi_neighbor_alltoallw_f)>("ompi_neighbor_alltoallw_f");
    return vendors(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                   comm, ierr);
  }
  auto arguments = prepare_neighbours(*communicator, {sendbuf, sendcounts, sdispls, sendtypes},
                                      {recvbuf, recvcounts, rdispls, recvtypes});
  give_code(run_collective(*job, *communicator, "MPI_Neighbor_alltoallw", arguments), ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_neighbor_alltoallw_f, mpi_neighbor_alltoallw, MPI_NEIGHBOR_ALLTOALLW,
                       MPI_Neighbor_alltoallw)

IMPISHIM_FORTRAN_BINDING void ompi_ineighbor_alltoallw_f(void* sendbuf, MPI_Fint* sendcounts,
                                                         MPI_Aint* sdispls, MPI_Fint* sendtypes,
                                                         void* recvbuf, MPI_Fint* recvcounts,
                                                         MPI_Aint* rdispls, MPI_Fint* recvtypes,
                                                         MPI_Fint* comm, MPI_Fint* request,
                                                         MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  Communicator* communicator = spanning_in_fortran(job, comm);
  if (communicator == nullptr) {
    static const auto vendors =
        vendors_binding<decltype(ompi_ineighbor_alltoallw_f)>("ompi_ineighbor_alltoallw_f");
    return vendors(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                   comm, request, ierr);
  }
  auto arguments = prepare_neighbours(*communicator, {sendbuf, sendcounts, sdispls, sendtypes},
                                      {recvbuf, recvcounts, rdispls, recvtypes});
  MPI_Request made = MPI_REQUEST_NULL;
  const int code =
      start_collective(*job, *communicator, "MPI_Ineighbor_alltoallw", &made, arguments);
  if (code == MPI_SUCCESS) *request = calls::Request_c2f(*job, made);
  give_code(code, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompi_ineighbor_alltoallw_f, mpi_ineighbor_alltoallw, MPI_INEIGHBOR_ALLTOALLW,
                       MPI_Ineighbor_alltoallw)

IMPISHIM_FORTRAN_BINDING void ompix_neighbor_alltoallw_init_f(
    void* sendbuf, MPI_Fint* sendcounts, MPI_Aint* sdispls, MPI_Fint* sendtypes, void* recvbuf,
    MPI_Fint* recvcounts, MPI_Aint* rdispls, MPI_Fint* recvtypes, MPI_Fint* comm, MPI_Fint* info,
    MPI_Fint* request, MPI_Fint* ierr) {
  Job* job = the_job.load(std::memory_order_acquire);
  Communicator* communicator = spanning_in_fortran(job, comm);
  if (communicator == nullptr) {
    static const auto vendors = vendors_binding<decltype(ompix_neighbor_alltoallw_init_f)>(
        "ompix_neighbor_alltoallw_init_f");
    return vendors(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes,
                   comm, info, request, ierr);
  }
  auto arguments = prepare_neighbours(*communicator, {sendbuf, sendcounts, sdispls, sendtypes},
                                      {recvbuf, recvcounts, rdispls, recvtypes});
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = init_collective(*job, *communicator, "MPIX_Neighbor_alltoallw_init", &made,
                                   std::move(arguments));
  if (code == MPI_SUCCESS) *request = calls::Request_c2f(*job, made);
  give_code(code, ierr);
}
IMPISHIM_FORTRAN_NAMES(ompix_neighbor_alltoallw_init_f, mpix_neighbor_alltoallw_init,
                       MPIX_NEIGHBOR_ALLTOALLW_INIT, MPIX_Neighbor_alltoallw_init)

}  // namespace impishim::shim

#endif
