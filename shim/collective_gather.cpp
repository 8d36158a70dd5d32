// MPI_Gather and MPI_Allgather.
#include "shim/collective_call.hpp"
#include "shim/handled.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim::calls {

int Gather(Job& job, const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
           MPI_Datatype recvtype, int root, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) {
    return native::Gather(job, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
  }
  CollectiveCall call(job, *communicator, "MPI_Gather");
  call.check_root(root);
  const bool at_root = call.rank() == root;
  const bool in_place = at_root && sendbuf == MPI_IN_PLACE;
  if (!at_root) call.check_not_in_place(sendbuf);
  if (at_root) {
    call.check_not_in_place(recvbuf);
    call.check_not_aliased(sendbuf, recvbuf, sendcount);
  }
  collectives::ElementType send_type;
  collectives::ElementType receive_type;
  const collectives::Data all = at_root ? call.data(recvbuf, recvcount, recvtype, receive_type) : collectives::Data{};
  const collectives::Data block = in_place && call.ok() ? all.block(root) : call.data(sendbuf, sendcount, sendtype, send_type);
  return call.ok() ? call.run(collectives::gather(call.team(), block, all, root)) : call.code();
}

int Allgather(Job& job, const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
              MPI_Datatype recvtype, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) {
    return native::Allgather(job, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  }
  CollectiveCall call(job, *communicator, "MPI_Allgather");
  call.check_not_in_place(recvbuf);
  call.check_not_aliased(sendbuf, recvbuf, sendcount);
  collectives::ElementType send_type;
  collectives::ElementType receive_type;
  const collectives::Data all = call.data(recvbuf, recvcount, recvtype, receive_type);
  const bool in_place = sendbuf == MPI_IN_PLACE;
  const collectives::Data block =
      in_place && call.ok() ? all.block(call.rank()) : call.data(sendbuf, sendcount, sendtype, send_type);
  return call.ok() ? call.run(collectives::allgather(call.team(), block, all)) : call.code();
}

}  // namespace impishim::shim::calls
