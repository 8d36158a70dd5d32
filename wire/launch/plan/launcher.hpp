// SPDX-License-Identifier: Apache-2.0
/// Properties of the programs that start MPI jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/plan/key_file.hpp"

namespace impishim::launch {

enum class LauncherKind : std::uint8_t {
  /// MPICH's launcher and those derived from it: passes on the whole environment, and can print the
  /// exit code of each process
  kHydra,
  kOpenMpi,  ///< passes on the variables that -x names
  kSlurm,    ///< srun: passes on the whole environment
  kOther,    ///< unknown
};

/// Returns the kind of the launcher at `path`, from the name of the file that the path leads to.
[[nodiscard]] LauncherKind launcher_kind(const std::string& path);

/// Returns the options that a launcher needs in addition to the user's. They must directly follow
/// its name. They contain no secret: -x contains only the name of a variable, whose value the
/// launcher takes from its environment.
[[nodiscard]] std::vector<std::string> extra_options(LauncherKind kind);

/// Returns the words for env(1) that give the job's key to processes whose launcher does not pass
/// on the environment. They contain the name of a file, not the key. Fails with kSystem if
/// a file cannot be created.
[[nodiscard]] Result<std::vector<std::string>> key_words(LauncherKind kind, KeyFiles& key_files);

}  // namespace impishim::launch
