/// What MPICH's launcher tells of the ends of its processes (`mpiexec -print-all-exitcodes`).
#pragma once

#include <optional>
#include <string_view>

namespace impishim::launch {

/// Hydra's own exit status mixes those of all processes bit by bit, and is the bare number of a
/// signal. The line that it prints on request has each process's status as wait(2) gives it.
struct HydraExitCodes {
  /// Bytes of `line` that come before Hydra's words; all of it, if it has none of them.
  static std::size_t begin(std::string_view line);

  /// Takes Hydra's words, from begin() on.
  void read(std::string_view words);

  /// Exit status of the job, once Hydra has told: the code of a process that failed by itself, 128
  /// + n if signal n ended it. Hydra ends the other processes by SIGKILL or SIGTERM then, so that
  /// these two count last.
  std::optional<int> status;
};

}  // namespace impishim::launch
