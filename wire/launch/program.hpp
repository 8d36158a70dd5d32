/// Programs: where they are, which MPI library they are linked with, which of our libraries they
/// need.
#pragma once

#include <optional>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// As a shell finds it: with a slash as it stands, otherwise in PATH. kConfiguration: not found, or
/// not executable.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

/// "mpich" or "openmpi", from the ELF dependencies of the program and of the libraries that it
/// needs; nothing: not an MPI program (or a script).
[[nodiscard]] Result<std::optional<std::string>> mpi_of_program(const std::string& path);

/// Path of libimpishim.so for that MPI: IMPISHIM_LIBRARY, or ../lib/impishim/<mpi>/ beside this
/// program. kConfiguration: not built.
[[nodiscard]] Result<std::string> shim_library(const std::string& mpi);

/// The launcher of that MPI: IMPISHIM_MPIEXEC, or mpiexec.<mpi>, mpiexec.hydra, mpiexec.
[[nodiscard]] Result<std::string> launcher_of(const std::string& mpi);

}  // namespace impishim::launch
