// SPDX-License-Identifier: Apache-2.0
// Collectives in which one rank alone passes a wrong argument, under MPI_ERRORS_RETURN. That rank
// gets the error class. No other rank waits for ever: a rank that needs the failed one gets the
// same class. The communicator is then broken for collectives at all ranks, and its point-to-point
// communication goes on. For joined jobs: the MPI libraries by themselves wait for ever.
//
// Argument "world": the last case breaks MPI_COMM_WORLD, so that MPI_Finalize has to do without it.
#include <mpi.h>

#include <cstring>
#include <functional>
#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// The arguments of a rank. `wrong` is true at the one whose arguments are wrong.
struct Call {
  MPI_Comm comm;
  bool wrong;
  std::vector<int>& in;
  std::vector<int>& out;
};

struct Case {
  const char* name;
  int error_class;
  bool all_need_it;  ///< no rank can complete without the failed one
  int wrong_rank;    ///< -1: the last
  std::function<int(const Call&)> run;
};

int wait_for(int code, MPI_Request& request) {
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

int gatherv_onto_itself(const Call& call) {
  std::vector<int> counts(static_cast<std::size_t>(size_of(call.comm)), 1);
  std::vector<int> places(counts.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i);
  const int* from = call.wrong ? call.out.data() : call.in.data();
  return MPI_Gatherv(from, 1, MPI_INT, call.out.data(), counts.data(), places.data(), MPI_INT, 0,
                     call.comm);
}

int iallreduce(const Call& call) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Iallreduce(call.in.data(), call.out.data(), call.wrong ? -1 : 1, MPI_INT,
                                  MPI_SUM, call.comm, &request);
  return wait_for(code, request);
}

int tested_ibarrier_and_ialltoall(const Call& call) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Ialltoall(call.in.data(), 1, call.wrong ? MPI_DATATYPE_NULL : MPI_INT,
                           call.out.data(), 1, MPI_INT, call.comm, &request);
  for (int done = 0; code == MPI_SUCCESS && done == 0;)
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return code;
}

int long_allgather(const Call& call) {
  constexpr int kCount = 100000;
  std::vector<int> from(kCount, 1);
  std::vector<int> to(from.size() * static_cast<std::size_t>(size_of(call.comm)));
  return MPI_Allgather(from.data(), call.wrong ? -1 : kCount, MPI_INT, to.data(), kCount, MPI_INT,
                       call.comm);
}

/// Frees the communicator that a call without an error has made. Returns the code of the call.
int freed(int code, MPI_Comm made) {
  if (code == MPI_SUCCESS && made != MPI_COMM_NULL) MPI_Comm_free(&made);
  return code;
}

int split(const Call& call) {
  MPI_Comm made = MPI_COMM_NULL;
  return freed(MPI_Comm_split(call.comm, call.wrong ? -5 : 0, 0, &made), made);
}

int cart_create(const Call& call) {
  const int dims[1] = {call.wrong ? -1 : size_of(call.comm)};
  const int periods[1] = {1};
  MPI_Comm made = MPI_COMM_NULL;
  return freed(MPI_Cart_create(call.comm, 1, dims, periods, 0, &made), made);
}

int graph_create(const Call& call) {
  const int index[2] = {1, 2};
  const int edges[2] = {call.wrong ? 100 : 1, 0};
  MPI_Comm made = MPI_COMM_NULL;
  return freed(MPI_Graph_create(call.comm, 2, index, edges, 0, &made), made);
}

int dist_graph_create(const Call& call) {
  const int source[1] = {rank_in(call.comm)};
  const int degree[1] = {1};
  const int destination[1] = {call.wrong ? 100 : 0};
  MPI_Comm made = MPI_COMM_NULL;
  return freed(MPI_Dist_graph_create(call.comm, 1, source, degree, destination, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &made),
               made);
}

int dist_graph_create_adjacent(const Call& call) {
  const int rank = rank_in(call.comm);
  const int size = size_of(call.comm);
  const int before[1] = {call.wrong ? 100 : (rank + size - 1) % size};
  const int after[1] = {(rank + 1) % size};
  MPI_Comm made = MPI_COMM_NULL;
  return freed(MPI_Dist_graph_create_adjacent(call.comm, 1, before, MPI_UNWEIGHTED, 1, after,
                                              MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made),
               made);
}

#if MPI_VERSION >= 4
int persistent_allreduce(const Call& call) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code =
      MPI_Allreduce_init(call.in.data(), call.out.data(), 1, MPI_INT,
                         call.wrong ? MPI_OP_NULL : MPI_SUM, call.comm, MPI_INFO_NULL, &request);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Start(&request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return code;
}
#endif

std::vector<Case> all_cases() {
  std::vector<Case> cases{
      {"Allreduce, count", MPI_ERR_COUNT, true, -1,
       [](const Call& call) {
         return MPI_Allreduce(call.in.data(), call.out.data(), call.wrong ? -1 : 1, MPI_INT,
                              MPI_SUM, call.comm);
       }},
      {"Allreduce, operation", MPI_ERR_OP, true, 1,
       [](const Call& call) {
         return MPI_Allreduce(call.in.data(), call.out.data(), 1, MPI_INT,
                              call.wrong ? MPI_MINLOC : MPI_SUM, call.comm);
       }},
      {"Reduce, operation", MPI_ERR_OP, false, 1,
       [](const Call& call) {
         return MPI_Reduce(call.in.data(), call.out.data(), 1, MPI_INT,
                           call.wrong ? MPI_MINLOC : MPI_SUM, 0, call.comm);
       }},
      {"Scan, operation", MPI_ERR_OP, false, 0,
       [](const Call& call) {
         return MPI_Scan(call.in.data(), call.out.data(), 1, MPI_INT,
                         call.wrong ? MPI_OP_NULL : MPI_SUM, call.comm);
       }},
      {"Alltoall, datatype", MPI_ERR_TYPE, true, 0,
       [](const Call& call) {
         return MPI_Alltoall(call.in.data(), 1, call.wrong ? MPI_DATATYPE_NULL : MPI_INT,
                             call.out.data(), 1, MPI_INT, call.comm);
       }},
      {"Bcast, root", MPI_ERR_ROOT, true, 0,
       [](const Call& call) {
         return MPI_Bcast(call.in.data(), 1, MPI_INT, call.wrong ? 1000 : 0, call.comm);
       }},
      {"Gatherv, overlap", MPI_ERR_BUFFER, false, 0, gatherv_onto_itself},
      {"Allgather, long", MPI_ERR_COUNT, true, -1, long_allgather},
      {"Iallreduce", MPI_ERR_COUNT, true, -1, iallreduce},
      {"Ialltoall, tested", MPI_ERR_TYPE, true, 1, tested_ibarrier_and_ialltoall},
      {"Comm_split", MPI_ERR_ARG, true, 1, split},
      {"Cart_create", MPI_ERR_DIMS, true, 0, cart_create},
      {"Graph_create", MPI_ERR_ARG, true, -1, graph_create},
      {"Dist_graph_create", MPI_ERR_RANK, true, 1, dist_graph_create},
      {"Dist_graph_create_adjacent", MPI_ERR_RANK, true, 0, dist_graph_create_adjacent},
  };
#if MPI_VERSION >= 4
  cases.push_back({"Allreduce_init", MPI_ERR_OP, true, 1, persistent_allreduce});
#endif
  return cases;
}

/// Each rank sends to the next one.
void require_messages(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int got = -1;
  REQUIRE_EQUAL(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT,
                             (rank + size - 1) % size, 5, comm, MPI_STATUS_IGNORE),
                MPI_SUCCESS);
  REQUIRE_EQUAL(got, (rank + size - 1) % size);
}

void require_broken(MPI_Comm comm, int error_class) {
  REQUIRE_EQUAL(class_of(MPI_Barrier(comm)), error_class);
  int one = 1;
  REQUIRE_EQUAL(class_of(MPI_Bcast(&one, 1, MPI_INT, 0, comm)), error_class);
  MPI_Comm copy = MPI_COMM_NULL;
  REQUIRE_EQUAL(class_of(MPI_Comm_dup(comm, &copy)), error_class);
}

void require_well(MPI_Comm comm) {
  const int one = 1;
  int sum = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  REQUIRE_EQUAL(sum, size_of(comm));
}

void check(const Case& each, MPI_Comm comm) {
  const int wrong_rank = each.wrong_rank < 0 ? size_of(comm) - 1 : each.wrong_rank;
  std::vector<int> in(static_cast<std::size_t>(size_of(comm)), 1);
  std::vector<int> out(in.size());
  const bool wrong = rank_in(comm) == wrong_rank;
  const int told = class_of(each.run({comm, wrong, in, out}));
  if (told != each.error_class && (wrong || each.all_need_it || told != MPI_SUCCESS))
    std::fprintf(stderr, "%s: rank %d got class %d\n", each.name, rank_in(comm), told);
  if (wrong || each.all_need_it) REQUIRE_EQUAL(told, each.error_class);
  if (!wrong && !each.all_need_it) REQUIRE(told == MPI_SUCCESS || told == each.error_class);
  require_messages(comm);
  require_broken(comm, each.error_class);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // MPI libraries of different versions have different cases; the common ones come first.
  std::vector<Case> cases = all_cases();
  int common = static_cast<int>(cases.size());
  MPI_Allreduce(MPI_IN_PLACE, &common, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  cases.resize(static_cast<std::size_t>(common));
  for (const Case& each : cases) {
    MPI_Comm comm = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    check(each, comm);
    MPI_Comm_free(&comm);
    require_well(MPI_COMM_WORLD);
  }
  if (argc > 1 && std::strcmp(argv[1], "world") == 0) check(cases.front(), MPI_COMM_WORLD);
  return impishim_test::finish("one member fails");
}
