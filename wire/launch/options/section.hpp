// SPDX-License-Identifier: Apache-2.0
/// What a user says about the processes of one system, on the command line or in a job file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace impishim::launch {

/// The largest number of systems: IMPI's client mask has 32 bits.
constexpr int kMostSystems = 32;

/// A variable of the environment for the processes of a system.
struct Variable {
  std::string name;
  std::optional<std::string> value;  ///< not set: the value that impirun's environment has
};

/// Returns true for variables whose values are never on a command line; they go by a file.
[[nodiscard]] inline bool is_secret(std::string_view name) {
  return name == "IMPI_AUTH_KEY" || name == "IMPISHIM_SECRET";
}

/// Where a launcher places processes. Empty members leave it to the launcher.
struct Placement {
  std::string hosts;      ///< -hosts: names between commas, each with `:N` for N processes
  std::string host_file;  ///< -hostfile
  int per_node = 0;       ///< -ppn; 0: not set
  std::string bind_to;    ///< -bind-to
  std::string map_by;     ///< -map-by
};

/// One native MPI job to start: a section of the command line, or a system of a job file.
struct Section {
  int procs = 1;
  std::vector<std::string> command;  ///< program and its arguments, unchanged
  std::string gateways;              ///< -gateway LIST; empty if not set
  /// -mpi NAME: the MPI library, if the program does not show which one it uses; may be empty
  std::string mpi;
  /// -genv, -env and -x. A later variable replaces an earlier one of the same name.
  std::vector<Variable> environment;
  std::string directory;  ///< -wdir; empty: impirun's own
  Placement placement;
  std::vector<std::string> launcher_arguments;  ///< -mpiexec-args ... --
  /// The command that starts the processes; empty: IMPISHIM_MPIEXEC, or the mpiexec of the MPI
  /// library
  std::string launcher;
};

}  // namespace impishim::launch
