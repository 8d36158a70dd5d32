// SPDX-License-Identifier: Apache-2.0
/// The exit codes that MPICH's launcher prints (`mpiexec -print-all-exitcodes`).
#pragma once

#include <optional>
#include <string_view>

namespace impishim::launch {

/// Parser for the exit codes of Hydra. Hydra's own exit status combines those of all processes bit
/// by bit, and is the plain number of a signal. The line that it prints on request contains the
/// status of each process in the form of wait(2).
struct HydraExitCodes {
  /// Returns the number of bytes of `line` before Hydra's text, or its size if it contains none.
  static std::size_t begin(std::string_view line);

  /// Parses Hydra's text, which begins at begin().
  void read(std::string_view words);

  /// Exit status of the job, after read(). It is the code of a process that failed by itself, or
  /// 128 + n if signal n ended that process. Hydra then ends the other processes with SIGKILL or
  /// SIGTERM, so these two signals have the lowest priority.
  std::optional<int> status;
};

}  // namespace impishim::launch
