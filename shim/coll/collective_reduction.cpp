// SPDX-License-Identifier: Apache-2.0
// Reduce, Allreduce, Reduce_scatter(_block), Scan, Exscan: MPI-3.1 5.9 to 5.11.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"

namespace impishim::shim::collective_arguments {

using collectives::Data;
using collectives::Reduction;

namespace {

struct Operands {
  Data contribution;
  Data result;
};

/// Returns the operands of an operation whose result every member receives. The contribution may be
/// in place.
Operands operands(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                  MPI_Datatype datatype) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  call.check_not_in_place(recvbuf);
  if (in_place && call.inter() != nullptr) call.check_not_in_place(sendbuf);
  call.check_not_aliased(sendbuf, recvbuf, count);
  return {call.data(in_place ? recvbuf : sendbuf, count, datatype),
          call.data(recvbuf, count, datatype)};
}

MaybeTask scatter_reduced(Collective& call, const void* sendbuf, void* recvbuf,
                          std::span<const std::uint64_t> counts, MPI_Datatype datatype, MPI_Op op) {
  const bool in_place = sendbuf == MPI_IN_PLACE;
  call.check_not_in_place(recvbuf);
  if (in_place && call.inter() != nullptr) call.check_not_in_place(sendbuf);
  const auto total =
      static_cast<MPI_Count>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  call.check_not_aliased(sendbuf, recvbuf, total);
  if (!call.ok()) return std::nullopt;
  const Data contribution = call.data(in_place ? recvbuf : sendbuf, total, datatype);
  const Data result =
      call.ok() ? call.data(recvbuf,
                            static_cast<MPI_Count>(counts[static_cast<std::size_t>(call.rank())]),
                            datatype)
                : Data{};
  const Reduction* operation = call.reduction(op, datatype);
  if (!call.ok()) return std::nullopt;
  if (call.inter() != nullptr)
    return collectives::inter::reduce_scatter(*call.inter(), contribution, result, counts,
                                              *operation);
  return collectives::reduce_scatter(call.team(), contribution, result, counts, *operation);
}

/// Returns the number of members of the local group, which share the result of a Reduce_scatter.
std::size_t own_group_size(const Collective& call) {
  return static_cast<std::size_t>(call.inter() != nullptr ? call.inter()->local_size()
                                                          : call.peers());
}

}  // namespace

MaybeTask Reduce(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                 MPI_Datatype datatype, MPI_Op op, int root) {
  call.check_root(root);
  const bool intra = call.inter() == nullptr;
  const bool at_root = intra ? call.rank() == root : root == MPI_ROOT;
  const bool contributes = intra || (root != MPI_ROOT && root != MPI_PROC_NULL);
  const bool in_place = intra && at_root && sendbuf == MPI_IN_PLACE;
  if (at_root) {
    call.check_not_in_place(recvbuf);
    if (intra) call.check_not_aliased(sendbuf, recvbuf, count);
  } else if (contributes) {
    call.check_not_in_place(sendbuf);
  }
  const Data contribution =
      contributes ? call.data(in_place ? recvbuf : sendbuf, count, datatype) : Data{};
  const Data result = at_root ? call.data(recvbuf, count, datatype) : Data{};
  const Reduction* operation = call.reduction(op, datatype);
  if (!call.ok()) return std::nullopt;
  if (!intra)
    return collectives::inter::reduce(*call.inter(), contribution, result, *operation,
                                      Collective::inter_root(root));
  call.sign(Operation::kReduce, root, contribution);
  return collectives::reduce(call.team(), contribution, result, *operation, root);
}

MaybeTask Allreduce(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                    MPI_Datatype datatype, MPI_Op op) {
  const auto [contribution, result] = operands(call, sendbuf, recvbuf, count, datatype);
  const Reduction* operation = call.reduction(op, datatype);
  if (!call.ok()) return std::nullopt;
  if (call.inter() != nullptr)
    return collectives::inter::allreduce(*call.inter(), contribution, result, *operation);
  call.sign(Operation::kAllreduce, -1, contribution);
  return collectives::allreduce(call.team(), contribution, result, *operation);
}

MaybeTask Reduce_scatter(Collective& call, const void* sendbuf, void* recvbuf,
                         const Numbers& recvcounts, MPI_Datatype datatype, MPI_Op op) {
  return scatter_reduced(call, sendbuf, recvbuf, call.numbers(own_group_size(call), recvcounts),
                         datatype, op);
}

MaybeTask Reduce_scatter_block(Collective& call, const void* sendbuf, void* recvbuf,
                               MPI_Count recvcount, MPI_Datatype datatype, MPI_Op op) {
  if (recvcount < 0) call.fail(MPI_ERR_COUNT, "the count is negative");
  const std::vector<std::uint64_t> counts(
      own_group_size(call), static_cast<std::uint64_t>(std::max<MPI_Count>(recvcount, 0)));
  return scatter_reduced(call, sendbuf, recvbuf, call.keep(counts), datatype, op);
}

MaybeTask Scan(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
               MPI_Datatype datatype, MPI_Op op) {
  call.check_intra();
  const auto [contribution, result] = operands(call, sendbuf, recvbuf, count, datatype);
  const Reduction* operation = call.reduction(op, datatype);
  if (!call.ok()) return std::nullopt;
  call.sign(Operation::kScan, -1, contribution);
  return collectives::scan(call.team(), contribution, result, *operation);
}

MaybeTask Exscan(Collective& call, const void* sendbuf, void* recvbuf, MPI_Count count,
                 MPI_Datatype datatype, MPI_Op op) {
  call.check_intra();
  // Rank 0 receives nothing, and may pass no result buffer.
  const bool first = call.rank() == 0 && sendbuf != MPI_IN_PLACE;
  const Data contribution = first ? call.data(sendbuf, count, datatype) : Data{};
  const auto [other_contribution, result] =
      first ? Operands{} : operands(call, sendbuf, recvbuf, count, datatype);
  const Reduction* operation = call.reduction(op, datatype);
  if (!call.ok()) return std::nullopt;
  call.sign(Operation::kExscan, -1, first ? contribution : other_contribution);
  if (!first) return collectives::exscan(call.team(), other_contribution, result, *operation);
  return collectives::exscan(call.team(), contribution, call.room(contribution), *operation);
}

}  // namespace impishim::shim::collective_arguments
