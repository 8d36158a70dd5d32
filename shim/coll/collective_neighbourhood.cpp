// SPDX-License-Identifier: Apache-2.0
// MPI_Neighbor_*: MPI-3.1 7.6, MPI-4.1 8.6.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>
#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/values/topology.hpp"

namespace impishim::shim::collective_arguments {

using collectives::Data;
using collectives::ReceiveEdge;
using collectives::SendEdge;

namespace {

using Blocks = std::span<const Data>;
using Edges = std::vector<NeighbourEdge>;

/// The edges of this process. Empty if there are none.
struct Neighbourhood {
  Edges sources;
  Edges destinations;
};

Neighbourhood neighbourhood_of(Collective& call, const void* sendbuf, const void* recvbuf) {
  call.check_not_in_place(sendbuf);
  call.check_not_in_place(recvbuf);
  call.check_topology();
  if (!call.ok()) return {};
  const Topology& topology = *call.communicator().topology;
  return {topology.sources(), topology.destinations()};
}

/// Returns the task of an exchange. `send` and `receive` have one block for each edge.
MaybeTask exchange_task(Collective& call, const Neighbourhood& neighbours, Blocks send,
                        Blocks receive) {
  if (!call.ok()) return std::nullopt;
  std::vector<SendEdge> to;
  for (std::size_t i = 0; i < send.size(); ++i) {
    const NeighbourEdge& edge = neighbours.destinations[i];
    if (edge.rank != kNoNeighbour) to.push_back({edge.rank, edge.label, send[i]});
  }
  std::vector<ReceiveEdge> from;
  for (std::size_t i = 0; i < receive.size(); ++i) {
    const NeighbourEdge& edge = neighbours.sources[i];
    if (edge.rank != kNoNeighbour) from.push_back({edge.rank, edge.label, receive[i]});
  }
  return collectives::exchange(call.team(), call.keep(std::move(to)), call.keep(std::move(from)));
}

/// Returns one block for each edge. The blocks are consecutive, or all the same if `same` is true.
Blocks equal_blocks(Collective& call, const Edges& edges, const void* address, MPI_Count count,
                    MPI_Datatype datatype, bool same) {
  // Without edges the buffer is not used and may be null.
  const Data first = call.data(address, edges.empty() ? 0 : count, datatype);
  if (!call.ok()) return {};
  std::vector<Data> all;
  for (std::size_t i = 0; i < edges.size(); ++i)
    all.push_back(same ? first : first.block(static_cast<std::int32_t>(i)));
  return call.keep(std::move(all));
}

}  // namespace

MaybeTask Neighbor_allgather(Collective& call, const void* sendbuf, MPI_Count sendcount,
                             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                             MPI_Datatype recvtype) {
  const Neighbourhood neighbours = neighbourhood_of(call, sendbuf, recvbuf);
  const Blocks send =
      equal_blocks(call, neighbours.destinations, sendbuf, sendcount, sendtype, true);
  const Blocks receive =
      equal_blocks(call, neighbours.sources, recvbuf, recvcount, recvtype, false);
  return exchange_task(call, neighbours, send, receive);
}

MaybeTask Neighbor_allgatherv(Collective& call, const void* sendbuf, MPI_Count sendcount,
                              MPI_Datatype sendtype, void* recvbuf, const Numbers& recvcounts,
                              const Numbers& displs, MPI_Datatype recvtype) {
  const Neighbourhood neighbours = neighbourhood_of(call, sendbuf, recvbuf);
  const Blocks send =
      equal_blocks(call, neighbours.destinations, sendbuf, sendcount, sendtype, true);
  const Blocks receive =
      call.blocks(neighbours.sources.size(), recvbuf, recvcounts, displs, recvtype);
  return exchange_task(call, neighbours, send, receive);
}

MaybeTask Neighbor_alltoall(Collective& call, const void* sendbuf, MPI_Count sendcount,
                            MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                            MPI_Datatype recvtype) {
  const Neighbourhood neighbours = neighbourhood_of(call, sendbuf, recvbuf);
  const Blocks send =
      equal_blocks(call, neighbours.destinations, sendbuf, sendcount, sendtype, false);
  const Blocks receive =
      equal_blocks(call, neighbours.sources, recvbuf, recvcount, recvtype, false);
  return exchange_task(call, neighbours, send, receive);
}

MaybeTask Neighbor_alltoallv(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                             const Numbers& sdispls, MPI_Datatype sendtype, void* recvbuf,
                             const Numbers& recvcounts, const Numbers& rdispls,
                             MPI_Datatype recvtype) {
  const Neighbourhood neighbours = neighbourhood_of(call, sendbuf, recvbuf);
  const Blocks send =
      call.blocks(neighbours.destinations.size(), sendbuf, sendcounts, sdispls, sendtype);
  const Blocks receive =
      call.blocks(neighbours.sources.size(), recvbuf, recvcounts, rdispls, recvtype);
  return exchange_task(call, neighbours, send, receive);
}

MaybeTask Neighbor_alltoallw(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                             const Numbers& sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                             const Numbers& recvcounts, const Numbers& rdispls,
                             const MPI_Datatype* recvtypes) {
  const Neighbourhood neighbours = neighbourhood_of(call, sendbuf, recvbuf);
  const Blocks send =
      call.blocks(neighbours.destinations.size(), sendbuf, sendcounts, sdispls, sendtypes);
  const Blocks receive =
      call.blocks(neighbours.sources.size(), recvbuf, recvcounts, rdispls, recvtypes);
  return exchange_task(call, neighbours, send, receive);
}

}  // namespace impishim::shim::collective_arguments
