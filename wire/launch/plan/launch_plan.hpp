// SPDX-License-Identifier: Apache-2.0
/// The command that starts the processes of a section of the command line.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/plan/key_file.hpp"
#include "wire/launch/plan/scratch_folder.hpp"

namespace impishim::launch {

/// Returns the path of the RankOutput for this machine's ranks, or an empty path if there is none.
using RankOutputPlace = std::function<std::filesystem::path()>;

constexpr int kRankUnknown = -1;

/// The input of plan_launch().
struct LaunchRequest {
  const CommandLine& line;
  const Section& section;
  std::string server;             ///< address:port
  int client = 0;                 ///< number of this section
  int first_rank = kRankUnknown;  ///< of its first process in the joined job
  KeyFiles& key_files;            ///< used if a launcher does not pass on the environment
  ScratchFolder& scratch;         ///< for files of launchers and for the socket of RankOutput
  RankOutputPlace rank_output;    ///< called only if needed; may be empty
};

/// The words to execute, and properties of the launcher among them.
struct LaunchPlan {
  std::vector<std::string> words;
  int system = 0;
  bool tells_exit_codes = false;  ///< true if the launcher prints exit codes, see HydraExitCodes
  /// True for a user's own launcher that writes to impirun's standard output and error directly.
  bool prints_itself = false;
};

/// Returns the command that makes the processes of a section join the server. LD_PRELOAD is set by
/// env(1) in front of the program, so it reaches only the program and never the launcher. The key
/// is not among the words: launchers take it from impirun's environment (IMPI_AUTH_KEY), or it is
/// in a file. Fails with kConfiguration for every error that can be detected before the start.
[[nodiscard]] Result<LaunchPlan> plan_launch(const LaunchRequest& request);

/// Sets the environment variables of launchers for several systems that share this machine's
/// processors. `procs` is the number of processes of all systems. Variables that the user has set
/// stay unchanged.
///
/// Open MPI binds the ranks of each job to processors, beginning with the first one, so all systems
/// would use the same few. Its waiting ranks yield the processor only if Open MPI itself sees more
/// ranks than processors.
void share_processors(int procs);

}  // namespace impishim::launch
