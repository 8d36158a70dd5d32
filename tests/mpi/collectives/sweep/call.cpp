// SPDX-License-Identifier: Apache-2.0
// The one place where the sweep calls collectives.
#include "tests/mpi/collectives/sweep/operation.hpp"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <cstdlib>

namespace sweep {
namespace {

// Persistent collectives are MPI 4's; Open MPI 4 has them under a name of its own.
#if MPI_VERSION >= 4
#define INIT_NAME(Name) MPI_##Name##_init
#else
#define INIT_NAME(Name) MPIX_##Name##_init
#endif

/// The three forms of a function: every one has the arguments of the blocking one first.
#define FORMS(Name, name, ...)                                                           \
  switch (form) {                                                                        \
    case Form::kBlocking:                                                                \
      return MPI_##Name(__VA_ARGS__ __VA_OPT__(, ) a.comm);                              \
    case Form::kNonblocking:                                                             \
      return MPI_I##name(__VA_ARGS__ __VA_OPT__(, ) a.comm, request);                    \
    default:                                                                             \
      return INIT_NAME(Name)(__VA_ARGS__ __VA_OPT__(, ) a.comm, MPI_INFO_NULL, request); \
  }

#if MPI_VERSION >= 4
#define LARGE_FORMS(Name, name, ...)                                           \
  switch (form) {                                                              \
    case Form::kBlocking:                                                      \
      return MPI_##Name##_c(__VA_ARGS__, a.comm);                              \
    case Form::kNonblocking:                                                   \
      return MPI_I##name##_c(__VA_ARGS__, a.comm, request);                    \
    default:                                                                   \
      return MPI_##Name##_init_c(__VA_ARGS__, a.comm, MPI_INFO_NULL, request); \
  }
#else
#define LARGE_FORMS(Name, name, ...) std::abort()
#endif

#define CALL(Name, name, ...)             \
  if (large) {                            \
    LARGE_FORMS(Name, name, __VA_ARGS__); \
  }                                       \
  FORMS(Name, name, __VA_ARGS__)

#define SEND a.send, a.send_count, a.send_type
#define SEND_V a.send, a.send_counts, a.send_displacements, a.send_type
#define SEND_W a.send, a.send_counts, a.send_displacements, a.send_types.data()
#define RECEIVE a.receive, a.receive_count, a.receive_type
#define RECEIVE_V a.receive, a.receive_counts, a.receive_displacements, a.receive_type
#define RECEIVE_W a.receive, a.receive_counts, a.receive_displacements, a.receive_types.data()
#define REDUCE a.send, a.receive, a.receive_count, a.receive_type, a.op

int move(Function function, Form form, bool large, const Arguments& a, MPI_Request* request) {
  switch (function) {
    case Function::kBarrier:
      FORMS(Barrier, barrier);
    case Function::kBcast:
      CALL(Bcast, bcast, RECEIVE, a.root);
    case Function::kGather:
      CALL(Gather, gather, SEND, RECEIVE, a.root);
    case Function::kGatherv:
      CALL(Gatherv, gatherv, SEND, RECEIVE_V, a.root);
    case Function::kScatter:
      CALL(Scatter, scatter, SEND, RECEIVE, a.root);
    case Function::kScatterv:
      CALL(Scatterv, scatterv, SEND_V, RECEIVE, a.root);
    case Function::kAllgather:
      CALL(Allgather, allgather, SEND, RECEIVE);
    case Function::kAllgatherv:
      CALL(Allgatherv, allgatherv, SEND, RECEIVE_V);
    case Function::kAlltoall:
      CALL(Alltoall, alltoall, SEND, RECEIVE);
    case Function::kAlltoallv:
      CALL(Alltoallv, alltoallv, SEND_V, RECEIVE_V);
    case Function::kAlltoallw:
      CALL(Alltoallw, alltoallw, SEND_W, RECEIVE_W);
    default:
      std::abort();
  }
}

int reduce(Function function, Form form, bool large, const Arguments& a, MPI_Request* request) {
  switch (function) {
    case Function::kReduce:
      CALL(Reduce, reduce, REDUCE, a.root);
    case Function::kAllreduce:
      CALL(Allreduce, allreduce, REDUCE);
    case Function::kReduceScatter:
      CALL(Reduce_scatter, reduce_scatter, a.send, a.receive, a.receive_counts, a.receive_type,
           a.op);
    case Function::kReduceScatterBlock:
      CALL(Reduce_scatter_block, reduce_scatter_block, REDUCE);
    case Function::kScan:
      CALL(Scan, scan, REDUCE);
    case Function::kExscan:
      CALL(Exscan, exscan, REDUCE);
    default:
      std::abort();
  }
}

int exchange(Function function, Form form, bool large, const Arguments& a, MPI_Request* request) {
  switch (function) {
    case Function::kNeighborAllgather:
      CALL(Neighbor_allgather, neighbor_allgather, SEND, RECEIVE);
    case Function::kNeighborAllgatherv:
      CALL(Neighbor_allgatherv, neighbor_allgatherv, SEND, RECEIVE_V);
    case Function::kNeighborAlltoall:
      CALL(Neighbor_alltoall, neighbor_alltoall, SEND, RECEIVE);
    case Function::kNeighborAlltoallv:
      CALL(Neighbor_alltoallv, neighbor_alltoallv, SEND_V, RECEIVE_V);
    case Function::kNeighborAlltoallw:
      CALL(Neighbor_alltoallw, neighbor_alltoallw, SEND_W, RECEIVE_W);
    default:
      std::abort();
  }
}

}  // namespace

int call(Function function, Form form, bool large, const Arguments& arguments,
         MPI_Request* request) {
  if (function >= Function::kNeighborAllgather)
    return exchange(function, form, large, arguments, request);
  if (function >= Function::kReduce) return reduce(function, form, large, arguments, request);
  return move(function, form, large, arguments, request);
}

const char* name(Function function) {
  constexpr const char* kNames[] = {"Barrier",
                                    "Bcast",
                                    "Gather",
                                    "Gatherv",
                                    "Scatter",
                                    "Scatterv",
                                    "Allgather",
                                    "Allgatherv",
                                    "Alltoall",
                                    "Alltoallv",
                                    "Alltoallw",
                                    "Reduce",
                                    "Allreduce",
                                    "Reduce_scatter",
                                    "Reduce_scatter_block",
                                    "Scan",
                                    "Exscan",
                                    "Neighbor_allgather",
                                    "Neighbor_allgatherv",
                                    "Neighbor_alltoall",
                                    "Neighbor_alltoallv",
                                    "Neighbor_alltoallw"};
  return kNames[static_cast<std::size_t>(function)];
}

}  // namespace sweep
