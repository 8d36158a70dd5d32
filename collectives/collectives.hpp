// SPDX-License-Identifier: Apache-2.0
/// The collective operations for any number of clients. Where a foreign implementation takes part
/// they use the form of IMPI 0.0; between systems of this library they use better forms (select.hpp
/// makes the choice).
///
/// Each operation is a Task. Its arguments (team, element types, reductions, buffers, spans) must
/// stay in place until the task is done. The caller has checked the arguments: roots are ranks, and
/// counts are not negative. MPI_IN_PLACE is expressed by a contribution that lies in its final
/// place. Signatures match: a block has the same basic types on the sending and on the receiving
/// side.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Runs MPI_Barrier.
Task barrier(const Team& team);

/// Runs MPI_Bcast.
Task bcast(const Team& team, Data data, std::int32_t root);

/// ClientRange MPI_Gather and MPI_Gatherv. At the root, `all` has a block for every rank; elsewhere
/// it is empty. The blocks of gather() have equal signatures.
Task gather(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root);
Task gatherv(const Team& team, ConstData block, std::span<const Data> all, std::int32_t root);

/// ClientRange MPI_Scatter and MPI_Scatterv: the same in the opposite direction.
Task scatter(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root);
Task scatterv(const Team& team, std::span<const ConstData> all, Data block, std::int32_t root);

/// ClientRange MPI_Allgather and MPI_Allgatherv. On every rank, `all` has a block for every rank.
Task allgather(const Team& team, ConstData block, std::span<const Data> all);
Task allgatherv(const Team& team, ConstData block, std::span<const Data> all);

/// Runs MPI_Alltoall with equal blocks: from its own blocks each rank knows the size of all other
/// blocks.
Task alltoall(const Team& team, std::span<const ConstData> to, std::span<const Data> from);
/// Runs MPI_Alltoallv and MPI_Alltoallw: to[i] goes to rank i, from[i] comes from rank i.
Task alltoallv(const Team& team, std::span<const ConstData> to, std::span<const Data> from);

/// Runs MPI_Reduce. `result` is significant at the root only. A contribution that lies in `result`
/// means MPI_IN_PLACE.
Task reduce(const Team& team, ConstData contribution, Data result, const Reduction& operation,
            std::int32_t root);

/// Runs MPI_Allreduce. All ranks get the same bits.
Task allreduce(const Team& team, ConstData contribution, Data result, const Reduction& operation);

/// Runs MPI_Reduce_scatter and MPI_Reduce_scatter_block. Rank i gets counts[i] elements of the
/// result; `contribution` has the sum of all counts, `result` has this rank's part. In place, the
/// part is written to the beginning of the contribution, which then lies in `result`
/// (MPI-3.1 5.10).
Task reduce_scatter(const Team& team, ConstData contribution, Data result,
                    std::span<const std::uint64_t> counts, const Reduction& operation);

/// ClientRange MPI_Scan and MPI_Exscan, in the order of ranks. Rank 0's result of an exclusive scan
/// is not changed.
Task scan(const Team& team, ConstData contribution, Data result, const Reduction& operation);
Task exscan(const Team& team, ConstData contribution, Data result, const Reduction& operation);

/// An edge of a neighbourhood. Messages on edges with the same ends and the same label arrive in
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
/// Runs MPI_Neighbor_*: sends and receives once on each edge. The caller leaves out edges to and
/// from MPI_PROC_NULL.
Task exchange(const Team& team, std::span<const SendEdge> to, std::span<const ReceiveEdge> from);

/// The operations of intercommunicators (MPI-3.1 5.2.3). For rooted operations, `root` depends on
/// the group. In the group without the root it is a rank of the other group. In the root's own
/// group it is kIsRoot or kIsBystander.
namespace inter {

inline constexpr std::int32_t kIsRoot = -1;       ///< MPI_ROOT
inline constexpr std::int32_t kIsBystander = -2;  ///< MPI_PROC_NULL

Task barrier(const InterTeam& team);
Task bcast(const InterTeam& team, Data data, std::int32_t root);
/// The blocks of all operations below are as above, with one block for each member of the *other*
/// group.
Task gatherv(const InterTeam& team, ConstData block, std::span<const Data> all, std::int32_t root);
Task scatterv(const InterTeam& team, std::span<const ConstData> all, Data block, std::int32_t root);
Task allgatherv(const InterTeam& team, ConstData block, std::span<const Data> all);
Task alltoallv(const InterTeam& team, std::span<const ConstData> to, std::span<const Data> from);
Task reduce(const InterTeam& team, ConstData contribution, Data result, const Reduction& operation,
            std::int32_t root);
Task allreduce(const InterTeam& team, ConstData contribution, Data result,
               const Reduction& operation);
/// Runs MPI_Reduce_scatter. `counts` is for the members of the own group; the sum of the counts is
/// the same in both groups.
Task reduce_scatter(const InterTeam& team, ConstData contribution, Data result,
                    std::span<const std::uint64_t> counts, const Reduction& operation);

}  // namespace inter
}  // namespace impishim::collectives
