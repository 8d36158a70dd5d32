// SPDX-License-Identifier: Apache-2.0
/// Creation of communicators with a topology, and access to the topology of existing ones.
#pragma once

#include <mpi.h>

#include <functional>
#include <variant>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"

namespace impishim::shim {

/// The contribution of this process to the creation of communicators from the members of a spanning
/// one.
struct TopologyPart {
  int color = 0;     ///< as in MPI_Comm_split: selects the new communicator; MPI_UNDEFINED: none
  int key = 0;       ///< ascends with the rank in the new communicator
  RankList members;  ///< of the new communicator
  std::variant<CartesianTopology, GraphTopology, DistributedGraphTopology> graph;
};

/// Splits `parent` and gives the parts their topologies. A part whose members are all in this
/// system becomes native: `native` creates it from the vendor's communicator of these members.
/// Collective over `parent`. Returns MPI_SUCCESS or an error code that has been raised.
[[nodiscard]] int make_topology(Job& job, Communicator& parent, const char* function,
                                TopologyPart part,
                                const std::function<int(MPI_Comm, MPI_Comm*)>& native,
                                MPI_Comm* newcomm);

/// Returns the topology of a spanning communicator if it has this kind. Otherwise returns null, and
/// `code` is MPI_ERR_TOPOLOGY, raised.
template <class Kind>
[[nodiscard]] const Kind* topology_of(const Communicator& communicator, const char* function,
                                      int& code);
extern template const CartesianTopology* topology_of(const Communicator&, const char*, int&);
extern template const GraphTopology* topology_of(const Communicator&, const char*, int&);
extern template const DistributedGraphTopology* topology_of(const Communicator&, const char*, int&);

/// Returns MPI_SUCCESS if `parent` is an intracommunicator. Otherwise raises and returns
/// MPI_ERR_COMM.
[[nodiscard]] int check_intra(const Communicator& parent, const char* function);

}  // namespace impishim::shim
