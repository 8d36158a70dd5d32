// SPDX-License-Identifier: Apache-2.0
/// Functions that check the arguments of every collective and describe them for collectives/. There
/// is one function for each operation. scripts/gen_wrappers.py generates the blocking, nonblocking,
/// persistent and large-count forms, which all call it. The parameters are those of MPI without the
/// communicator. The functions return the task, or nothing if an argument was wrong; call.code() is
/// then the error code. MPI-3.1 5, 7.6.
#pragma once

#include <mpi.h>

#include <optional>

#include "shim/coll/collective.hpp"

namespace impishim::shim::collective_arguments {

using MaybeTask = std::optional<collectives::Task>;

MaybeTask Barrier(Collective& call);
MaybeTask Bcast(Collective& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root);
MaybeTask Gather(Collective& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root);
MaybeTask Gatherv(Collective& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, const Numbers& recvcounts, const Numbers& displs,
                  MPI_Datatype recvtype, int root);
MaybeTask Scatter(Collective& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root);
MaybeTask Scatterv(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                   const Numbers& displs, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, int root);
MaybeTask Allgather(Collective& call, const void* sendbuf, MPI_Count sendcount,
                    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype);
MaybeTask Allgatherv(Collective& call, const void* sendbuf, MPI_Count sendcount,
                     MPI_Datatype sendtype, void* recvbuf, const Numbers& recvcounts,
                     const Numbers& displs, MPI_Datatype recvtype);
MaybeTask Alltoall(Collective& call, const void* sendbuf, MPI_Count sendcount,
                   MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype);
MaybeTask Alltoallv(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                    const Numbers& sdispls, MPI_Datatype sendtype, void* recvbuf,
                    const Numbers& recvcounts, const Numbers& rdispls, MPI_Datatype recvtype);
MaybeTask Alltoallw(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                    const Numbers& sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                    const Numbers& recvcounts, const Numbers& rdispls,
                    const MPI_Datatype* recvtypes);
MaybeTask Reduce(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                 MPI_Datatype datatype, MPI_Op op, int root);
MaybeTask Allreduce(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                    MPI_Datatype datatype, MPI_Op op);
MaybeTask Reduce_scatter(Collective& call, const void* sendbuf, void* recvbuf,
                         const Numbers& recvcounts, MPI_Datatype datatype, MPI_Op op);
MaybeTask Reduce_scatter_block(Collective& call, const void* sendbuf, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op);
MaybeTask Scan(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
               MPI_Datatype datatype, MPI_Op op);
MaybeTask Exscan(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                 MPI_Datatype datatype, MPI_Op op);

// Operations on communicators with a topology: the blocks are in the order of its edges (MPI-3.1
// 7.6).
MaybeTask Neighbor_allgather(Collective& call, const void* sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                             MPI_Datatype recvtype);
MaybeTask Neighbor_allgatherv(Collective& call, const void* sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, const Numbers& recvcounts,
                              const Numbers& displs, MPI_Datatype recvtype);
MaybeTask Neighbor_alltoall(Collective& call, const void* sendbuf, MPI_Count sendcount,
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype);
MaybeTask Neighbor_alltoallv(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                             const Numbers& sdispls, MPI_Datatype sendtype, void* recvbuf,
                             const Numbers& recvcounts, const Numbers& rdispls,
                             MPI_Datatype recvtype);
MaybeTask Neighbor_alltoallw(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                             const Numbers& sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                             const Numbers& recvcounts, const Numbers& rdispls,
                             const MPI_Datatype* recvtypes);

}  // namespace impishim::shim::collective_arguments
