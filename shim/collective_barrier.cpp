// MPI_Barrier and MPI_Bcast.
#include "shim/collective_call.hpp"
#include "shim/handled.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim::calls {

int Barrier(Job& job, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return native::Barrier(job, comm);
  CollectiveCall call(job, *communicator, "MPI_Barrier");
  return call.run(collectives::barrier(call.team()));
}

int Bcast(Job& job, void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return native::Bcast(job, buffer, count, datatype, root, comm);
  CollectiveCall call(job, *communicator, "MPI_Bcast");
  call.check_root(root);
  call.check_not_in_place(buffer);
  collectives::ElementType type;
  const collectives::Data data = call.data(buffer, count, datatype, type);
  return call.ok() ? call.run(collectives::bcast(call.team(), data, root)) : call.code();
}

}  // namespace impishim::shim::calls
