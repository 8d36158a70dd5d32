// SPDX-License-Identifier: Apache-2.0
/// New communicators with a topology, and the topology of existing ones.
#pragma once

#include <mpi.h>

#include <functional>
#include <variant>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"

namespace impishim::shim {

/// This process's part in the making of communicators from the members of a spanning one.
struct TopologyPart {
  int color = 0;     ///< as in MPI_Comm_split: who is in the same new one; MPI_UNDEFINED: in none
  int key = 0;       ///< ascends with the rank in the new one
  RankList members;  ///< of the new one
  std::variant<CartesianTopology, GraphTopology, DistributedGraphTopology> graph;
};

/// Splits `parent`, and gives the parts their topologies. A part whose members are all in this
/// system becomes the vendor's: `native` makes it from the vendor's communicator of these members.
/// Collective over `parent`. Returns a code that has been raised.
[[nodiscard]] int make_topology(Job& job, Communicator& parent, const char* function,
                                TopologyPart part,
                                const std::function<int(MPI_Comm, MPI_Comm*)>& native,
                                MPI_Comm* newcomm);

/// The topology of a spanning communicator, if it is of this kind; otherwise null, and `code` is
/// MPI_ERR_TOPOLOGY, raised.
template <class Kind>
[[nodiscard]] const Kind* topology_of(const Communicator& communicator, const char* function,
                                      int& code);
extern template const CartesianTopology* topology_of(const Communicator&, const char*, int&);
extern template const GraphTopology* topology_of(const Communicator&, const char*, int&);
extern template const DistributedGraphTopology* topology_of(const Communicator&, const char*, int&);

/// MPI_ERR_COMM, raised, unless `parent` is an intracommunicator.
[[nodiscard]] int check_intra(const Communicator& parent, const char* function);

}  // namespace impishim::shim
