// MPI_Reduce and MPI_Allreduce.
#include "shim/collective_call.hpp"
#include "shim/handled.hpp"
#include "shim/reduction.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim::calls {

int Reduce(Job& job, const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return native::Reduce(job, sendbuf, recvbuf, count, datatype, op, root, comm);
  CollectiveCall call(job, *communicator, "MPI_Reduce");
  call.check_root(root);
  call.check_op(op);
  const bool at_root = call.rank() == root;
  const bool in_place = sendbuf == MPI_IN_PLACE;
  if (!at_root) call.check_not_in_place(sendbuf);
  if (at_root) {
    call.check_not_in_place(recvbuf);
    call.check_not_aliased(sendbuf, recvbuf, count);
  }
  collectives::ElementType type;
  const collectives::Data contribution = call.data(in_place ? recvbuf : sendbuf, count, datatype, type);
  const collectives::Data result = at_root ? call.data(recvbuf, count, datatype, type) : collectives::Data{};
  if (!call.ok()) return call.code();
  const OpReduction operation(op, datatype);
  return call.run(collectives::reduce(call.team(), contribution, result, operation, root), operation.code());
}

int Allreduce(Job& job, const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return native::Allreduce(job, sendbuf, recvbuf, count, datatype, op, comm);
  CollectiveCall call(job, *communicator, "MPI_Allreduce");
  call.check_op(op);
  call.check_not_in_place(recvbuf);
  call.check_not_aliased(sendbuf, recvbuf, count);
  collectives::ElementType type;
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const collectives::Data contribution = call.data(in_place ? recvbuf : sendbuf, count, datatype, type);
  const collectives::Data result = call.data(recvbuf, count, datatype, type);
  if (!call.ok()) return call.code();
  const OpReduction operation(op, datatype);
  return call.run(collectives::allreduce(call.team(), contribution, result, operation), operation.code());
}

}  // namespace impishim::shim::calls
