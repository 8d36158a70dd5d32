/// From a section of the command line to the command that starts it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/command_line.hpp"
#include "wire/launch/key_file.hpp"
#include "wire/launch/scratch_folder.hpp"

namespace impishim::launch {

/// Returns the path of the RankOutput of this machine's ranks; empty: there is none.
using RankOutputPlace = std::function<std::filesystem::path()>;

/// What is to be started, and with what.
struct LaunchRequest {
  const CommandLine& line;
  const Section& section;
  std::string server;           ///< address:port
  int client = 0;               ///< this section's number
  KeyFile& key_file;            ///< used where a launcher does not pass the environment on
  ScratchFolder& scratch;       ///< for the files of launchers and of the ranks' outputs
  RankOutputPlace rank_output;  ///< called where it is of use; may be empty
};

/// The words to execute, and what is known of the launcher among them.
struct LaunchPlan {
  std::vector<std::string> words;
  bool tells_exit_codes = false;  ///< see HydraExitCodes
  bool prints_itself =
      false;  ///< the user's own launcher, which keeps impirun's standard output and error
};

/// Returns what makes the processes of a section join the server. LD_PRELOAD reaches the program
/// alone, never the launcher: it is set by env(1) in front of the program. The key is not among the
/// words: launchers take it from impirun's environment (IMPI_AUTH_KEY), or it stands in a file.
/// kConfiguration: everything that can be known to be wrong before starting.
[[nodiscard]] Result<LaunchPlan> plan_launch(const LaunchRequest& request);

/// Sets what launchers need to know when several systems share this machine's processors, `procs`
/// processes in all; variables that the user has set stay. Open MPI binds the ranks of each job to
/// processors from the first on, so those of all systems would share a few, and its waiting ranks
/// let others in only if it sees by itself that there are more ranks than processors.
void share_processors(int procs);

}  // namespace impishim::launch
