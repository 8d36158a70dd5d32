// SPDX-License-Identifier: Apache-2.0
/// Requests of MPI_Rput, MPI_Rget, MPI_Raccumulate, MPI_Rget_accumulate (MPI-4.0 12.3.5).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "shim/rma/access.hpp"
#include "shim/rma/outstanding_requests.hpp"

namespace impishim::shim {

/// Makes the user's request of a call: complete when the answer is here, or if `asked` is null when
/// the data of the request with this ticket is sent. Ticket 0 has no data.
void make_rma_request(const AccessCall& call, std::shared_ptr<AskedRequest> asked,
                      std::uint64_t ticket);

}  // namespace impishim::shim
