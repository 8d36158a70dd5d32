// SPDX-License-Identifier: Apache-2.0
// The parents of a spawned job (MPI-3.1 10.3.2).
#include "shim/dynamic/parent.hpp"

#include <mpi.h>
#include <stdlib.h>

#include <atomic>
#include <cstdlib>

#include "shim/dynamic/group_connection.hpp"
#include "shim/entry_points.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"
#include "wire/port/spawned_job.hpp"

namespace impishim::shim {

int connect_with_parent(Job& job) {
  const char* const text = secure_getenv(wire::kParentVariable);
  if (text == nullptr) return MPI_SUCCESS;
  const auto name = wire::PortName::parse(text);
  // Programs that this one starts have no parent.
  unsetenv(wire::kParentVariable);
  MPI_Comm parent = MPI_COMM_NULL;
  const int code = connect_groups(job,
                                  {"MPI_Init", job.joined_world, 0, MPI_ERR_SPAWN,
                                   [&]() -> Result<wire::PortConnection> {
                                     return name ? wire::connect_to_port(*name) : name.error();
                                   }},
                                  &parent);
  if (code != MPI_SUCCESS) return code;
  vendor::Comm_set_name(parent, "MPI_COMM_PARENT");
  job.parent.store(parent, std::memory_order_release);
  return MPI_SUCCESS;
}

namespace calls {

int Comm_get_parent(Job& job, MPI_Comm* parent) {
  *parent = job.parent.load(std::memory_order_acquire);
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
