/// The collective operations in their IMPI 0.0 form, on any number of clients.
///
/// Each is a Task: what it is given (team, element types, reductions, buffers) stays in place until it is done. Arguments have
/// been checked: roots are ranks, counts are not negative, and MPI_IN_PLACE is expressed by a contribution that lies in its
/// place.
#pragma once

#include <cstdint>

#include "collectives/data.hpp"
#include "collectives/groups.hpp"
#include "collectives/task.hpp"

namespace impishim::collectives {

/// MPI_Barrier: local barrier, fan-in to and fan-out from master 0, local barrier.
Task barrier(const Team& team);

/// MPI_Bcast: from the root, which stands in for its client's master, to the other masters; then within each client.
Task bcast(const Team& team, Data data, std::int32_t root);

/// MPI_Reduce: `result` counts at the root. A contribution that lies in `result` is MPI_IN_PLACE.
Task reduce(const Team& team, ConstData contribution, Data result, const Reduction& operation, std::int32_t root);

/// MPI_Allreduce: to rank 0, then from there, so that everybody gets the same bits.
Task allreduce(const Team& team, ConstData contribution, Data result, const Reduction& operation);

/// MPI_Gather: `all` counts at the root; its count is that of one rank's block.
Task gather(const Team& team, ConstData block, Data all, std::int32_t root);

/// MPI_Allgather: to rank 0, then from there. `all.count` is that of one rank's block.
Task allgather(const Team& team, ConstData block, Data all);

}  // namespace impishim::collectives
