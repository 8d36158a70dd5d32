// SPDX-License-Identifier: Apache-2.0
#include "shim/request/status.hpp"
#include <cstddef>
#include <cstdint>

#include "shim/job/communicator.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

namespace {

/// Returns the empty status. The vendor is asked once for its form.
const MPI_Status& empty_status() {
  static const MPI_Status empty = [] {
    MPI_Status status{};
    status.MPI_TAG = MPI_ANY_TAG;
    vendor::Status_set_elements_x(&status, MPI_BYTE, 0);
    vendor::Status_set_cancelled(&status, 0);
    return status;
  }();
  return empty;
}

/// Returns the empty status with a number of bytes received. Consecutive messages often have the
/// same size, so the vendor is asked once for it.
const MPI_Status& status_of(std::uint64_t bytes) {
  static thread_local std::uint64_t latest_bytes = 0;
  static thread_local MPI_Status latest = empty_status();
  if (bytes != latest_bytes) {
    latest = empty_status();
    vendor::Status_set_elements_x(&latest, MPI_BYTE, static_cast<MPI_Count>(bytes));
    latest_bytes = bytes;
  }
  return latest;
}

}  // namespace

void set_empty_status(MPI_Status* status, int source) {
  if (status == MPI_STATUS_IGNORE) return;
  copy_status(status, empty_status());
  status->MPI_SOURCE = source;
}

void set_remote_status(MPI_Status* status, const wire::Envelope& envelope) {
  if (status == MPI_STATUS_IGNORE) return;
  copy_status(status, status_of(envelope.native_bytes));
  status->MPI_SOURCE = envelope.source;
  status->MPI_TAG = envelope.tag;
  if (envelope.cancelled) vendor::Status_set_cancelled(status, 1);
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
