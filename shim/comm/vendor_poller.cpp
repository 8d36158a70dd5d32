// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/vendor_poller.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <optional>
#include <system_error>

#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

int start_poller(const Job& job, MPI_Comm comm, std::optional<VendorPoller>& poller) {
  try {
    poller.emplace(*job.vendor_progress);
  } catch (const std::system_error& error) {
    return raise(comm, MPI_ERR_OTHER, "MPI_Comm_idup",
                 fmt::format("cannot create a thread: {}; raise the limit of processes (ulimit -u)",
                             error.what()));
  }
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
