// SPDX-License-Identifier: Apache-2.0
/// impirun's options in the words of each launcher.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/plan/launcher.hpp"

namespace impishim::launch {

/// Returns the path for a file of hosts in the launcher's form; called only if one is needed.
using HostFilePlace = std::function<Result<std::filesystem::path>()>;

/// Returns the options that tell a launcher where to run a section's processes, and the launcher's
/// own words (-mpiexec-args). They follow the launcher's name and stand before the program. Fails
/// with kConfiguration if the launcher has no such option; the text names the cure.
[[nodiscard]] Result<std::vector<std::string>> placement_words(LauncherKind kind,
                                                               const Section& section,
                                                               const HostFilePlace& host_file);

/// Returns the options that make a launcher pass on the variables that are named without a value.
/// For an unknown launcher the result is empty: variable_words() has them.
[[nodiscard]] std::vector<std::string> pass_on_words(LauncherKind kind, const Section& section);

/// Returns the words of env(1), without env itself, that set a section's variables and its working
/// directory. `by_env` is true if the launcher cannot change the directory.
[[nodiscard]] std::vector<std::string> variable_words(LauncherKind kind, const Section& section,
                                                      bool by_env);

}  // namespace impishim::launch
