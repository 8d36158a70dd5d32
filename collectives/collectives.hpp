/// The collective operations on any number of clients: in their IMPI 0.0 form where a foreign
/// implementation takes part, in better ones between systems of this library (select.hpp has the
/// choice).
///
/// Each is a Task: what it is given (team, element types, reductions, buffers, spans) stays in
/// place until it is done. Arguments have been checked: roots are ranks, counts are not negative,
/// and MPI_IN_PLACE is expressed by a contribution that lies in its place. Signatures match: what a
/// block has on one side it has on the other, in the same basic types.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// MPI_Barrier.
Task barrier(const Team& team);

/// MPI_Bcast.
Task bcast(const Team& team, Data data, std::int32_t root);

/// MPI_Gather, MPI_Gatherv: `all` has a block for every rank at the root, and is empty elsewhere.
/// Blocks of gather() have equal signatures.
Task gather(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root);
Task gatherv(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root);

/// MPI_Scatter, MPI_Scatterv: the same the other way.
Task scatter(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root);
Task scatterv(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root);

/// MPI_Allgather, MPI_Allgatherv: `all` has a block for every rank, everywhere.
Task allgather(const Team& team, ConstData block, std::span<const Data> all);
Task allgatherv(const Team& team, ConstData block, std::span<const Data> all);

/// MPI_Alltoall with equal blocks: what everybody may know of all other blocks from its own.
Task alltoall(const Team& team, std::span<const ConstData> to, std::span<const Data> from);
/// MPI_Alltoallv, MPI_Alltoallw: to[i] goes to rank i, from[i] comes from it.
Task alltoallv(const Team& team, std::span<const ConstData> to, std::span<const Data> from);

/// MPI_Reduce: `result` counts at the root. A contribution that lies in `result` is MPI_IN_PLACE.
Task reduce(const Team& team, ConstData contribution, Data result, const Reduction& operation,
            std::int32_t root);

/// MPI_Allreduce: everybody gets the same bits.
Task allreduce(const Team& team, ConstData contribution, Data result, const Reduction& operation);

/// MPI_Reduce_scatter(_block): counts[i] elements of the result go to rank i; `contribution` has
/// their sum, `result` one's own part. In place the part goes to where the contribution begins: it
/// lies in `result` then (MPI-3.1 5.10).
Task reduce_scatter(const Team& team, ConstData contribution, Data result,
                    std::span<const std::uint64_t> counts, const Reduction& operation);

/// MPI_Scan and MPI_Exscan, in the order of ranks. Rank 0's result of an exclusive scan stays as it
/// is.
Task scan(const Team& team, ConstData contribution, Data result, const Reduction& operation);
Task exscan(const Team& team, ConstData contribution, Data result, const Reduction& operation);

/// An edge of a neighbourhood: messages along edges with the same ends and the same label arrive in
/// the order of the spans.
struct SendEdge {
  std::int32_t to = 0;
  std::int32_t label = 0;  ///< 0 ... 2 * 32767
  ConstData data;
};
struct ReceiveEdge {
  std::int32_t from = 0;
  std::int32_t label = 0;
  Data data;
};
/// MPI_Neighbor_*: every edge once. Edges to and from MPI_PROC_NULL are left out.
Task exchange(const Team& team, std::span<const SendEdge> to, std::span<const ReceiveEdge> from);

/// The operations of intercommunicators (MPI-3.1 5.2.3). Rooted ones: `root` is a rank of the group
/// that does not hold it, for that group's members; in the root's own group it is kIsRoot or
/// kIsBystander.
namespace inter {

inline constexpr std::int32_t kIsRoot = -1;       ///< MPI_ROOT
inline constexpr std::int32_t kIsBystander = -2;  ///< MPI_PROC_NULL

Task barrier(const InterTeam& team);
Task bcast(const InterTeam& team, Data data, std::int32_t root);
/// Of all below: blocks as above, one for each member of the *other* group.
Task gatherv(const InterTeam& team, ConstData block, std::span<const Data> all, std::int32_t root);
Task scatterv(const InterTeam& team, std::span<const ConstData> all, Data block, std::int32_t root);
Task allgatherv(const InterTeam& team, ConstData block, std::span<const Data> all);
Task alltoallv(const InterTeam& team, std::span<const ConstData> to, std::span<const Data> from);
Task reduce(const InterTeam& team, ConstData contribution, Data result, const Reduction& operation,
            std::int32_t root);
Task allreduce(const InterTeam& team, ConstData contribution, Data result,
               const Reduction& operation);
/// `counts`: of the own group's members; their sum is the same in both groups.
Task reduce_scatter(const InterTeam& team, ConstData contribution, Data result,
                    std::span<const std::uint64_t> counts, const Reduction& operation);

}  // namespace inter
}  // namespace impishim::collectives
