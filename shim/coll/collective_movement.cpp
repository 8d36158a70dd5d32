// SPDX-License-Identifier: Apache-2.0
// Barrier, Bcast, Gather(v), Scatter(v), Allgather(v), Alltoall(v,w): MPI-3.1 5.3 to 5.8.
#include <cstddef>
#include <optional>
#include <span>
#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"

namespace impishim::shim::collective_arguments {

using collectives::ConstData;
using collectives::Data;

namespace {

using Blocks = std::span<const Data>;
using ConstBlocks = std::span<const ConstData>;

/// The role of this process in an operation with a root.
struct Role {
  bool at_root = false;  ///< the root's buffers are significant
  /// A non-root's buffers are significant; both are false for a bystander of an
  /// intercommunicator.
  bool elsewhere = true;
};

Role role_of(Collective& call, int root) {
  call.check_root(root);
  if (call.inter() == nullptr) return {call.rank() == root, call.rank() != root};
  return {root == MPI_ROOT, root != MPI_ROOT && root != MPI_PROC_NULL};
}

/// Returns the block of a process in Gather and Gatherv. At the root it may be in place.
template <class Root>
Data gathered_block(Collective& call, const Role& role, const void* sendbuf, MPI_Count sendcount,
                    MPI_Datatype sendtype, Blocks all, Root root) {
  const bool intra = call.inter() == nullptr;
  if (role.at_root && intra && sendbuf == MPI_IN_PLACE)
    return call.ok() ? all[static_cast<std::size_t>(root)] : Data{};
  if (role.elsewhere) call.check_not_in_place(sendbuf);
  const Data block =
      role.elsewhere || (role.at_root && intra) ? call.data(sendbuf, sendcount, sendtype) : Data{};
  if (role.at_root && intra && call.ok())
    call.check_not_overlapping(block, all[static_cast<std::size_t>(root)]);
  return block;
}

MaybeTask gather_task(Collective& call, Data block, Blocks all, int root, bool equal) {
  if (!call.ok()) return std::nullopt;
  if (call.inter() != nullptr)
    return collectives::inter::gatherv(*call.inter(), block, all, Collective::inter_root(root));
  return equal ? collectives::gather(call.team(), block, all, root)
               : collectives::gatherv(call.team(), block, all, root);
}

Data scattered_block(Collective& call, const Role& role, void* recvbuf, MPI_Count recvcount,
                     MPI_Datatype recvtype, Blocks all, int root) {
  const bool intra = call.inter() == nullptr;
  if (role.at_root && intra && recvbuf == MPI_IN_PLACE)
    return call.ok() ? all[static_cast<std::size_t>(root)] : Data{};
  if (role.elsewhere) call.check_not_in_place(recvbuf);
  const Data block =
      role.elsewhere || (role.at_root && intra) ? call.data(recvbuf, recvcount, recvtype) : Data{};
  if (role.at_root && intra && call.ok())
    call.check_not_overlapping(all[static_cast<std::size_t>(root)], block);
  return block;
}

MaybeTask scatter_task(Collective& call, Blocks all, Data block, int root, bool equal) {
  if (!call.ok()) return std::nullopt;
  const ConstBlocks from = call.as_const(all);
  if (call.inter() != nullptr)
    return collectives::inter::scatterv(*call.inter(), from, block, Collective::inter_root(root));
  return equal ? collectives::scatter(call.team(), from, block, root)
               : collectives::scatterv(call.team(), from, block, root);
}

MaybeTask allgather_task(Collective& call, const void* sendbuf, MPI_Count sendcount,
                         MPI_Datatype sendtype, const void* recvbuf, Blocks all, bool equal) {
  call.check_not_in_place(recvbuf);
  call.check_not_aliased(sendbuf, recvbuf, sendcount);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if (in_place && call.inter() != nullptr) call.check_not_in_place(sendbuf);
  if (!call.ok()) return std::nullopt;
  const Data block = in_place ? all[static_cast<std::size_t>(call.rank())]
                              : call.data(sendbuf, sendcount, sendtype);
  if (!in_place && call.inter() == nullptr && call.ok()) {
    call.check_not_overlapping(block, all[static_cast<std::size_t>(call.rank())]);
  }
  if (!call.ok()) return std::nullopt;
  if (call.inter() != nullptr) return collectives::inter::allgatherv(*call.inter(), block, all);
  return equal ? collectives::allgather(call.team(), block, all)
               : collectives::allgatherv(call.team(), block, all);
}

/// Returns the task of an Alltoall form. `make_send` describes the blocks to send, unless they are
/// in place.
template <class MakeSend>
MaybeTask alltoall_task(Collective& call, const void* sendbuf, const void* recvbuf, Blocks from,
                        bool equal, MakeSend&& make_send) {
  call.check_not_in_place(recvbuf);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if (in_place && call.inter() != nullptr) call.check_not_in_place(sendbuf);
  if (!call.ok()) return std::nullopt;
  const ConstBlocks to = call.as_const(in_place ? from : Blocks(make_send()));
  for (std::size_t i = 0; !in_place && call.ok() && i < to.size(); ++i)
    call.check_not_overlapping(to[i], from[i]);
  if (!call.ok()) return std::nullopt;
  if (call.inter() != nullptr) return collectives::inter::alltoallv(*call.inter(), to, from);
  return equal ? collectives::alltoall(call.team(), to, from)
               : collectives::alltoallv(call.team(), to, from);
}

}  // namespace

MaybeTask Barrier(Collective& call) {
  return call.inter() != nullptr ? collectives::inter::barrier(*call.inter())
                                 : collectives::barrier(call.team());
}

MaybeTask Bcast(Collective& call, void* buffer, MPI_Count count, MPI_Datatype datatype, int root) {
  const Role role = role_of(call, root);
  call.check_not_in_place(buffer);
  const Data data = role.at_root || role.elsewhere ? call.data(buffer, count, datatype) : Data{};
  if (!call.ok()) return std::nullopt;
  if (call.inter() != nullptr)
    return collectives::inter::bcast(*call.inter(), data, Collective::inter_root(root));
  call.sign(Operation::kBcast, root, data);
  return collectives::bcast(call.team(), data, root);
}

MaybeTask Gather(Collective& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                 void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root) {
  const Role role = role_of(call, root);
  if (role.at_root) {
    call.check_not_in_place(recvbuf);
    call.check_not_aliased(sendbuf, recvbuf, sendcount);
  }
  const Blocks all = role.at_root ? call.blocks(recvbuf, recvcount, recvtype) : Blocks{};
  const Data block = gathered_block(call, role, sendbuf, sendcount, sendtype, all, root);
  return gather_task(call, block, all, root, true);
}

MaybeTask Gatherv(Collective& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, const Numbers& recvcounts, const Numbers& displs,
                  MPI_Datatype recvtype, int root) {
  const Role role = role_of(call, root);
  if (role.at_root) call.check_not_in_place(recvbuf);
  const Blocks all =
      role.at_root && call.ok() ? call.blocks(recvbuf, recvcounts, displs, recvtype) : Blocks{};
  const Data block = gathered_block(call, role, sendbuf, sendcount, sendtype, all, root);
  return gather_task(call, block, all, root, false);
}

MaybeTask Scatter(Collective& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                  void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root) {
  const Role role = role_of(call, root);
  if (role.at_root) {
    call.check_not_in_place(sendbuf);
    call.check_not_aliased(sendbuf, recvbuf, recvcount);
  }
  const Blocks all = role.at_root ? call.blocks(sendbuf, sendcount, sendtype) : Blocks{};
  const Data block = scattered_block(call, role, recvbuf, recvcount, recvtype, all, root);
  return scatter_task(call, all, block, root, true);
}

MaybeTask Scatterv(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                   const Numbers& displs, MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype, int root) {
  const Role role = role_of(call, root);
  if (role.at_root) call.check_not_in_place(sendbuf);
  const Blocks all =
      role.at_root && call.ok() ? call.blocks(sendbuf, sendcounts, displs, sendtype) : Blocks{};
  const Data block = scattered_block(call, role, recvbuf, recvcount, recvtype, all, root);
  return scatter_task(call, all, block, root, false);
}

MaybeTask Allgather(Collective& call, const void* sendbuf, MPI_Count sendcount,
                    MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                    MPI_Datatype recvtype) {
  return allgather_task(call, sendbuf, sendcount, sendtype, recvbuf,
                        call.blocks(recvbuf, recvcount, recvtype), true);
}

MaybeTask Allgatherv(Collective& call, const void* sendbuf, MPI_Count sendcount,
                     MPI_Datatype sendtype, void* recvbuf, const Numbers& recvcounts,
                     const Numbers& displs, MPI_Datatype recvtype) {
  return allgather_task(call, sendbuf, sendcount, sendtype, recvbuf,
                        call.blocks(recvbuf, recvcounts, displs, recvtype), false);
}

MaybeTask Alltoall(Collective& call, const void* sendbuf, MPI_Count sendcount,
                   MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                   MPI_Datatype recvtype) {
  call.check_not_aliased(sendbuf, recvbuf, sendcount);
  return alltoall_task(call, sendbuf, recvbuf, call.blocks(recvbuf, recvcount, recvtype), true,
                       [&] { return call.blocks(sendbuf, sendcount, sendtype); });
}

MaybeTask Alltoallv(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                    const Numbers& sdispls, MPI_Datatype sendtype, void* recvbuf,
                    const Numbers& recvcounts, const Numbers& rdispls, MPI_Datatype recvtype) {
  return alltoall_task(call, sendbuf, recvbuf, call.blocks(recvbuf, recvcounts, rdispls, recvtype),
                       false, [&] { return call.blocks(sendbuf, sendcounts, sdispls, sendtype); });
}

MaybeTask Alltoallw(Collective& call, const void* sendbuf, const Numbers& sendcounts,
                    const Numbers& sdispls, const MPI_Datatype* sendtypes, void* recvbuf,
                    const Numbers& recvcounts, const Numbers& rdispls,
                    const MPI_Datatype* recvtypes) {
  return alltoall_task(call, sendbuf, recvbuf, call.blocks(recvbuf, recvcounts, rdispls, recvtypes),
                       false, [&] { return call.blocks(sendbuf, sendcounts, sdispls, sendtypes); });
}

}  // namespace impishim::shim::collective_arguments
