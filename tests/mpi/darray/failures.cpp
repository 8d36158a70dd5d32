// SPDX-License-Identifier: Apache-2.0
// What happens when MPI fails, and where MPI_COMM_WORLD does not tell processes apart: this program
// stands before MPI's functions, and lets a send fail or gives every process the same world rank.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <vector>

#include "darray/schedule/exchange_lists.hpp"
#include "tests/mpi/darray/array_checks.hpp"

namespace {

bool one_world_each = false;  // every process has rank 0 in its MPI_COMM_WORLD
int sends_until_failure = -1;
std::map<MPI_Request, const void*> buffers;  // of the requests that are not complete
std::set<const void*>* abandoned = nullptr;  // buffers of active requests that were freed
int ended_in_use = 0;                        // buffers that ended while MPI might use them

void complete(const MPI_Request* requests, int count) {
  for (int k = 0; k < count; ++k) buffers.erase(requests[k]);
}

// The lists begin where their memory does.
void end_memory(void* memory) {
  if (abandoned != nullptr && abandoned->count(memory) > 0) ++ended_in_use;
  std::free(memory);
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  const int code = PMPI_Comm_rank(comm, rank);
  if (one_world_each && comm == MPI_COMM_WORLD) *rank = 0;
  return code;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int code = PMPI_Irecv(data, count, type, from, tag, comm, request);
  buffers[*request] = data;
  return code;
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (sends_until_failure-- == 0) return MPI_ERR_OTHER;
  const int code = PMPI_Isend(data, count, type, to, tag, comm, request);
  buffers[*request] = data;
  return code;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  complete(request, 1);
  return PMPI_Wait(request, status);
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  complete(requests, count);
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Request_free(MPI_Request* request) {
  if (const auto found = buffers.find(*request); found != buffers.end()) {
    if (abandoned != nullptr) abandoned->insert(found->second);
    buffers.erase(found);
  }
  return PMPI_Request_free(request);
}

#pragma GCC visibility pop

}  // extern "C"

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { end_memory(memory); }
void operator delete(void* memory, std::size_t) noexcept { end_memory(memory); }

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// Large messages, so that sends are not complete before the peers receive them.
std::vector<std::vector<Index>> lists_for_all() {
  return std::vector<std::vector<Index>>(static_cast<std::size_t>(size),
                                         std::vector<Index>(100000, rank));
}

/// The last send of every rank fails, while the other messages are in progress. Their buffers
/// outlive the error, because MPI still uses them. No rank waits for a message that may never come.
void failing_send() {
  const Communicator communicator(kWorld);
  static_cast<void>(exchange_lists(communicator, lists_for_all()));
  EXPECT(buffers.empty());
  abandoned = new std::set<const void*>;  // never deleted: deletions ask it
  sends_until_failure = size - 2;
  EXPECT(size == 1 || checks::refused(ErrorKind::kMpi, [&] {
           static_cast<void>(exchange_lists(communicator, lists_for_all()));
         }));
  EXPECT(sends_until_failure == -1);  // it has failed where it was to
  EXPECT(buffers.empty() && ended_in_use == 0);
  EXPECT(size == 1 || abandoned->size() == static_cast<std::size_t>(2 * size - 3));
  // The communicator still works: no message of the failed exchange is taken for one of the next.
  const auto received = exchange_lists(communicator, lists_for_all());
  for (int peer = 0; peer < size; ++peer) {
    const auto& list = received[static_cast<std::size_t>(peer)];
    EXPECT(list == std::vector<Index>(100000, peer));
  }
}

/// Arrays have names that no other communicator's arrays have, though all processes are rank 0 of
/// their world, as after MPI_Comm_spawn.
void several_worlds() {
  one_world_each = true;
  std::vector<std::uint64_t> groups(static_cast<std::size_t>(2 * size));
  MPI_Comm own[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  std::uint64_t mine[2] = {};
  for (int k = 0; k < 2; ++k) {
    MPI_Comm_dup(MPI_COMM_SELF, &own[k]);
    mine[k] = DistArray<double>::arange(own[k], Shape{4}).id().group;
  }
  one_world_each = false;
  MPI_Allgather(mine, 2, MPI_UINT64_T, groups.data(), 2, MPI_UINT64_T, kWorld);
  std::sort(groups.begin(), groups.end());
  EXPECT(std::adjacent_find(groups.begin(), groups.end()) == groups.end());
  for (MPI_Comm& comm : own) MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("several worlds", several_worlds);
  checks::part("failing send", failing_send);
  return checks::end();
}
