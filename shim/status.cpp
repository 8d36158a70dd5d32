#include "shim/status.hpp"

#include "shim/vendor.hpp"

namespace impishim::shim {

void set_empty_status(MPI_Status* status, int source) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = source;
  status->MPI_TAG = MPI_ANY_TAG;
  vendor::Status_set_elements_x(status, MPI_BYTE, 0);
  vendor::Status_set_cancelled(status, 0);
}

void set_remote_status(MPI_Status* status, const wire::Envelope& envelope) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = envelope.source;
  status->MPI_TAG = envelope.tag;
  vendor::Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(envelope.native_bytes));
  vendor::Status_set_cancelled(status, envelope.cancelled ? 1 : 0);
}

void copy_status(MPI_Status* status, const MPI_Status& from) {
  if (status == MPI_STATUS_IGNORE) return;
  const int error = status->MPI_ERROR;
  *status = from;
  status->MPI_ERROR = error;
}

void translate_source(const Communicator& communicator, MPI_Status& status) {
  const int source = status.MPI_SOURCE;
  if (source >= 0 && static_cast<std::size_t>(source) < communicator.spanning_ranks.size()) {
    status.MPI_SOURCE = communicator.spanning_ranks[static_cast<std::size_t>(source)];
  }
}

}  // namespace impishim::shim
