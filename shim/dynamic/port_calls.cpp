// SPDX-License-Identifier: Apache-2.0
// MPI_Open_port, MPI_Close_port, MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join (MPI-3.1 10.4,
// 10.5.5).
#include <mpi.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "shim/dynamic/connected_jobs.hpp"
#include "shim/dynamic/group_connection.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "wire/base/result.hpp"
#include "wire/port/join.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::shim {
namespace {

/// Waits for a process that connects to the port.
Result<wire::PortConnection> accept_at(ConnectedJobs& jobs, const std::string& name) {
  const std::shared_ptr<wire::OpenPort> port = jobs.port(name);
  if (port == nullptr)
    return Error{ErrorKind::kConfiguration,
                 "no port of this name is open in the root: call MPI_Open_port there first"};
  auto accepted = port->accept();
  if (!accepted) return accepted.error();
  return std::move(accepted->value());
}

Result<wire::PortConnection> connect_to(const std::string& text) {
  const auto name = wire::PortName::parse(text);
  if (!name) return name.error();
  return wire::connect_to_port(*name);
}

}  // namespace

namespace calls {

int Open_port(Job& job, MPI_Info /*info*/, char* port_name) {
  const auto name = connected_jobs(job).open_port();
  if (!name) return raise(MPI_COMM_WORLD, MPI_ERR_OTHER, "MPI_Open_port", name.error().text);
  std::memcpy(port_name, name->c_str(), name->size() + 1);
  return MPI_SUCCESS;
}

int Close_port(Job& job, const char* port_name) {
  if (connected_jobs(job).close_port(port_name)) return MPI_SUCCESS;
  return raise(MPI_COMM_WORLD, MPI_ERR_PORT, "MPI_Close_port",
               "no port of this name is open in this process");
}

int Comm_accept(Job& job, const char* port_name, MPI_Info /*info*/, int root, MPI_Comm comm,
                MPI_Comm* newcomm) {
  return connect_groups(job,
                        {"MPI_Comm_accept", comm, root, MPI_ERR_PORT,
                         [&] { return accept_at(connected_jobs(job), port_name); }},
                        newcomm);
}

int Comm_connect(Job& job, const char* port_name, MPI_Info /*info*/, int root, MPI_Comm comm,
                 MPI_Comm* newcomm) {
  return connect_groups(
      job, {"MPI_Comm_connect", comm, root, MPI_ERR_PORT, [&] { return connect_to(port_name); }},
      newcomm);
}

/// The group of either side is the process that calls.
int Comm_join(Job& job, int fd, MPI_Comm* intercomm) {
  return connect_groups(job,
                        {"MPI_Comm_join", MPI_COMM_SELF, 0, MPI_ERR_OTHER,
                         [&] { return wire::join_over(fd, job.map.proc(job.here).id.host); }},
                        intercomm);
}

}  // namespace calls
}  // namespace impishim::shim
