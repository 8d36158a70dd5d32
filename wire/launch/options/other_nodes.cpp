// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/other_nodes.hpp"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/variable.hpp"
#include "wire/launch/options/shell_words.hpp"

namespace impishim::launch {
namespace {

/// Returns true if a command starts with an mpiexec, which by itself stays on this machine.
bool is_mpiexec(const std::string& command) {
  constexpr std::array<std::string_view, 3> kNames = {"mpiexec", "mpirun", "orterun"};
  const std::string name = std::filesystem::path(command).filename();
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

bool names_hosts(std::string_view word) {
  constexpr std::array<std::string_view, 6> kWords = {"hosts", "host",     "H",
                                                      "f",     "hostfile", "machinefile"};
  const std::size_t dashes = std::min(word.find_first_not_of('-'), std::size_t{2});
  return dashes > 0 && std::find(kWords.begin(), kWords.end(), word.substr(dashes)) != kWords.end();
}

bool launcher_leaves(const char* command) {
  const auto words = split_words(command);
  if (!words || words->empty()) return false;  // plan_launch() tells what is wrong
  return !is_mpiexec(words->front()) || std::any_of(words->begin() + 1, words->end(), names_hosts);
}

bool has_several(const char* variable) {
  const char* text = secure_getenv(variable);
  return text != nullptr && parse_number<int>(text).value_or(1) > 1;
}

}  // namespace

bool may_reach_other_nodes() {
  const char* launcher = secure_getenv("IMPISHIM_MPIEXEC");
  if (launcher != nullptr && launcher_leaves(launcher)) return true;
  return has_several("SLURM_JOB_NUM_NODES") || has_several("SLURM_NNODES") ||
         has_several("PBS_NUM_NODES");
}

}  // namespace impishim::launch
