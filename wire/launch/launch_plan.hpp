/// From a section of the command line to the command that starts it.
#pragma once

#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/command_line.hpp"
#include "wire/launch/scratch_folder.hpp"

namespace impishim::launch {

/// The words to execute so that the processes of `section` join the server as `client`. LD_PRELOAD reaches the program alone,
/// never the launcher: it is set by env(1) in front of the program. kConfiguration: everything that can be known to be wrong
/// before starting. `scratch`: where launchers that need one get a folder for their own files, which lasts as long; may be
/// null.
[[nodiscard]] Result<std::vector<std::string>> plan_launch(const Section& section, bool own_launcher, const std::string& mpi,
                                                           int host_procs, const std::string& server, int client,
                                                           ScratchFolder* scratch);

/// Sets what launchers need to know when several systems share this machine's processors, `procs` processes in all; variables
/// that the user has set stay. Open MPI binds the ranks of each job to processors from the first on, so those of all systems
/// would share a few, and its waiting ranks let others in only if it sees by itself that there are more ranks than processors.
void share_processors(int procs);

}  // namespace impishim::launch
