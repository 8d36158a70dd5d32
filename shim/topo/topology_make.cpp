// SPDX-License-Identifier: Apache-2.0
#include "shim/topo/topology_make.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

int make_topology(Job& job, Communicator& parent, const char* function, TopologyPart part,
                  const std::function<int(MPI_Comm, MPI_Comm*)>& native, MPI_Comm* newcomm) {
  wire::ContextId context = 0;
  int code = agree_on_context(job, parent, function, context);
  if (code != MPI_SUCCESS) return code;
  const BlockingCreation creation(job, parent);
  MPI_Comm made = MPI_COMM_NULL;
  code = creation.code();
  if (code == MPI_SUCCESS) code = vendor::Comm_split(parent.handle, part.color, part.key, &made);
  *newcomm = MPI_COMM_NULL;
  if (code != MPI_SUCCESS || part.color == MPI_UNDEFINED) return code;
  if (is_native(job, part.members)) {
    code = native(made, newcomm);
    vendor::Comm_free(&made);
    return code == MPI_SUCCESS ? inherit_error_handler(parent.handle, *newcomm) : code;
  }
  const std::int32_t rank = rank_of(part.members, job.here);
  auto topology = std::make_shared<const Topology>(Topology{rank, std::move(part.graph)});
  code = make_communicator(job, parent.handle, &made, context, std::move(part.members),
                           std::move(topology));
  if (code == MPI_SUCCESS) *newcomm = made;
  return code;
}

template <class Kind>
const Kind* topology_of(const Communicator& communicator, const char* function, int& code) {
  const Kind* found =
      communicator.topology == nullptr ? nullptr : std::get_if<Kind>(&communicator.topology->graph);
  code = MPI_SUCCESS;
  if (found == nullptr)
    code = raise(communicator.handle, MPI_ERR_TOPOLOGY, function,
                 "the communicator has no such topology");
  return found;
}
template const CartesianTopology* topology_of(const Communicator&, const char*, int&);
template const GraphTopology* topology_of(const Communicator&, const char*, int&);
template const DistributedGraphTopology* topology_of(const Communicator&, const char*, int&);

int check_intra(const Communicator& parent, const char* function) {
  if (parent.inter == nullptr) return MPI_SUCCESS;
  return raise(parent.handle, MPI_ERR_COMM, function, "an intercommunicator has no topology");
}

}  // namespace impishim::shim
