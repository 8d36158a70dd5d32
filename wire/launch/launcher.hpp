/// What is known of the programs that start MPI jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/key_file.hpp"

namespace impishim::launch {

enum class LauncherKind : std::uint8_t {
  kHydra,    ///< MPICH's and its relatives': passes the whole environment on, and can tell each
             ///< process's exit code
  kOpenMpi,  ///< passes on the variables that -x names
  kSlurm,    ///< srun: passes the whole environment on
  kOther,    ///< nothing is known
};

/// Returns the kind of the launcher at `path`, from the name of the file that it leads to.
[[nodiscard]] LauncherKind launcher_kind(const std::string& path);

/// Returns the options that a launcher needs besides the user's, to stand right behind its name. No
/// secret is among them: -x has the name of a variable, whose value the launcher takes from its
/// environment.
[[nodiscard]] std::vector<std::string> extra_options(LauncherKind kind);

/// Returns the words for env(1) by which the job's key reaches processes to which the launcher does
/// not pass the environment on: the name of a file, not the key. kSystem: `key_file` cannot be
/// made.
[[nodiscard]] Result<std::vector<std::string>> key_words(LauncherKind kind, KeyFile& key_file);

}  // namespace impishim::launch
