// SPDX-License-Identifier: Apache-2.0
/// Programs and their files: the path of a program, the MPI library that it is linked with, and the
/// shim library that it needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// Returns the path of a program, found as a shell does: a name with a slash is used unchanged, any
/// other name is searched in PATH. Fails with kConfiguration if the program is not found or not
/// executable.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

/// Returns the path of a program whose working directory will be `directory`, or impirun's own if
/// that is empty. A relative path is looked for in the directory first, then in impirun's own; the
/// result is then absolute. Fails as the function above does, also if there is no such directory.
[[nodiscard]] Result<std::string> find_program(const std::string& name,
                                               const std::string& directory);

/// Returns "mpich", "openmpi", or "abi" for the standard ABI, from the ELF dependencies of the
/// program and of the libraries that it needs. Returns nothing if it is not an MPI program (or if
/// it is a script).
[[nodiscard]] Result<std::optional<std::string>> mpi_of_program(const std::string& path);

/// Returns the path of libimpishim.so for `mpi`: IMPISHIM_LIBRARY, or the file in
/// ../lib/impishim/<mpi>/ relative to this program. Fails with kConfiguration if the library was
/// not built.
[[nodiscard]] Result<std::string> shim_library(const std::string& mpi);

/// Returns the launcher for `mpi` as words of a command, the first of which is its path: those of
/// `chosen`; if that is empty, those of IMPISHIM_MPIEXEC, or the first that exists of
/// mpiexec.<mpi>, mpiexec.hydra and mpiexec.
[[nodiscard]] Result<std::vector<std::string>> launcher_of(const std::string& mpi,
                                                           const std::string& chosen);

}  // namespace impishim::launch
