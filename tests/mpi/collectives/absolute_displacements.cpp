// SPDX-License-Identifier: Apache-2.0
// Blocks that lie at absolute addresses: MPI_BOTTOM as buffer, with addresses as displacements or
// inside the datatypes; and null pointers where nothing is sent. In Alltoallw, Neighbor_alltoallw
// and their nonblocking and persistent forms.
#include <mpi.h>

#include <cstdio>
#include <vector>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "communicators.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

/// Numbers to and from each peer, none next to another.
struct Exchange {
  explicit Exchange(std::size_t peers)
      : sent(2 * peers),
        received(2 * peers, -1),
        counts(peers, 1),
        types(peers, MPI_INT),
        to(peers),
        from(peers) {
    for (std::size_t i = 0; i < peers; ++i) {
      MPI_Get_address(&sent[2 * i], &to[i]);
      MPI_Get_address(&received[2 * i], &from[i]);
    }
  }
  std::vector<int> sent;
  std::vector<int> received;
  std::vector<int> counts;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> to;
  std::vector<MPI_Aint> from;
};

using Call = int (*)(Exchange& e, MPI_Comm comm);

int wait_for(int code, MPI_Request* request) {
  REQUIRE_EQUAL(code, MPI_SUCCESS);
  return MPI_Wait(request, MPI_STATUS_IGNORE);
}

int blocking(Exchange& e, MPI_Comm comm) {
  return MPI_Neighbor_alltoallw(MPI_BOTTOM, e.counts.data(), e.to.data(), e.types.data(),
                                MPI_BOTTOM, e.counts.data(), e.from.data(), e.types.data(), comm);
}

int nonblocking(Exchange& e, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      MPI_Ineighbor_alltoallw(MPI_BOTTOM, e.counts.data(), e.to.data(), e.types.data(), MPI_BOTTOM,
                              e.counts.data(), e.from.data(), e.types.data(), comm, &request);
  return wait_for(code, &request);
}

#ifdef OPEN_MPI
constexpr auto make_persistent = MPIX_Neighbor_alltoallw_init;
#else
constexpr auto make_persistent = MPI_Neighbor_alltoallw_init;
#endif

int persistent(Exchange& e, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  REQUIRE_EQUAL(make_persistent(MPI_BOTTOM, e.counts.data(), e.to.data(), e.types.data(),
                                MPI_BOTTOM, e.counts.data(), e.from.data(), e.types.data(), comm,
                                MPI_INFO_NULL, &request),
                MPI_SUCCESS);
  const int code = wait_for(MPI_Start(&request), &request);
  MPI_Request_free(&request);
  return code;
}

/// A ring: what goes down comes from above.
void check_neighbours(MPI_Comm comm) {
  MPI_Comm ring = MPI_COMM_NULL;
  const int size = size_of(comm);
  const int periodic = 1;
  MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
  const int rank = rank_in(ring);
  const int below = (rank + size - 1) % size;
  const int above = (rank + 1) % size;
  for (const Call call : {blocking, nonblocking, persistent}) {
    Exchange e(2);
    e.sent[0] = 10 * rank;
    e.sent[2] = 10 * rank + 1;
    REQUIRE_EQUAL(call(e, ring), MPI_SUCCESS);
    REQUIRE_EQUAL(e.received[0], size == 2 ? e.received[0] : 10 * below + 1);
    REQUIRE_EQUAL(e.received[2], size == 2 ? e.received[2] : 10 * above);
    REQUIRE_EQUAL(e.received[1], -1);
  }
  MPI_Comm_free(&ring);
}

/// Datatypes with the addresses inside, and displacements of nothing.
void check_types_with_addresses(MPI_Comm comm) {
  const int size = size_of(comm);
  const int rank = rank_in(comm);
  const auto peers = static_cast<std::size_t>(size);
  Exchange e(peers);
  std::vector<MPI_Datatype> from(peers);
  const int one = 1;
  for (std::size_t i = 0; i < peers; ++i) {
    e.sent[2 * i] = 100 * rank + static_cast<int>(i);
    MPI_Type_create_hindexed(1, &one, &e.to[i], MPI_INT, &e.types[i]);
    MPI_Type_create_hindexed(1, &one, &e.from[i], MPI_INT, &from[i]);
    MPI_Type_commit(&e.types[i]);
    MPI_Type_commit(&from[i]);
  }
  const std::vector<int> nothing(peers, 0);
  for (const bool blocks : {true, false}) {
    e.received.assign(2 * peers, -1);
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        blocks ? MPI_Alltoallw(MPI_BOTTOM, e.counts.data(), nothing.data(), e.types.data(),
                               MPI_BOTTOM, e.counts.data(), nothing.data(), from.data(), comm)
               : MPI_Ialltoallw(MPI_BOTTOM, e.counts.data(), nothing.data(), e.types.data(),
                                MPI_BOTTOM, e.counts.data(), nothing.data(), from.data(), comm,
                                &request);
    REQUIRE_EQUAL(blocks ? code : wait_for(code, &request), MPI_SUCCESS);
    for (std::size_t i = 0; i < peers; ++i)
      REQUIRE_EQUAL(e.received[2 * i], 100 * static_cast<int>(i) + rank);
  }
  for (auto* types : {&e.types, &from}) {
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
  }
}

/// MPICH takes the same arrays for sending and receiving as a sign of the same buffer.
void check_nothing_at_null(MPI_Comm comm) {
  const auto peers = static_cast<std::size_t>(size_of(comm));
  const std::vector<int> none(peers, 0);
  const std::vector<int> none_here(none);
  const std::vector<MPI_Datatype> types(peers, MPI_INT);
  const std::vector<MPI_Datatype> types_here(types);
  REQUIRE_EQUAL(MPI_Alltoallw(nullptr, none.data(), none.data(), types.data(), nullptr,
                              none_here.data(), none_here.data(), types_here.data(), comm),
                MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Alltoallv(nullptr, none.data(), none.data(), MPI_INT, nullptr, none_here.data(),
                              none_here.data(), MPI_BYTE, comm),
                MPI_SUCCESS);
  REQUIRE_EQUAL(
      MPI_Allgatherv(nullptr, 0, MPI_INT, nullptr, none.data(), none.data(), MPI_INT, comm),
      MPI_SUCCESS);
}

/// Of a process without neighbours no buffer is touched, whatever its count. MPICH by itself looks
/// at the pointers all the same.
void check_no_neighbours(MPI_Comm comm) {
#ifndef OPEN_MPI
  if (!impishim_test::in_joined_job()) return;
#endif
  MPI_Comm alone = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(comm, 0, nullptr, MPI_UNWEIGHTED, 0, nullptr, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &alone);
  REQUIRE_EQUAL(MPI_Neighbor_alltoall(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, alone),
                MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Neighbor_allgather(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, alone),
                MPI_SUCCESS);
  MPI_Comm_free(&alone);
}

void check_all(MPI_Comm comm, const char* /*name*/) {
  check_neighbours(comm);
  check_types_with_addresses(comm);
  check_nothing_at_null(comm);
  check_no_neighbours(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  impishim_test::on_each_communicator(check_all);
  return impishim_test::finish("absolute displacements");
}
