// SPDX-License-Identifier: Apache-2.0
/// How a job file's system starts on another machine: ssh runs `impirun -remote-start` there, and
/// the rest travels on its standard input. So no secret and no word that a shell could misread is
/// on a command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/options/command_line.hpp"

namespace impishim::launch {

/// What the impirun of another machine is told.
struct RemoteStart {
  std::vector<std::string> variables;  ///< NAME=VALUE, for the environment of that impirun
  std::vector<std::string> words;      ///< its command line
  /// Rank of the system's first process in the joined job, or kRankUnknown
  int first_rank = 0;

  /// Returns the bytes for its standard input. Those of the program follow.
  [[nodiscard]] std::string encode() const;
  /// Reads encode()'s bytes from a descriptor, and no byte more. Fails with kProtocol.
  [[nodiscard]] static Result<RemoteStart> read_from(int descriptor);
};

/// The line that the other impirun writes to standard error when it has begun, so that impirun can
/// tell a slow ssh from a slow program.
constexpr std::string_view kRemoteHasBegun = "impirun: this machine's system has begun";

/// Returns what `system`, which is number `client` and begins at rank
/// `first_rank` of the joined job, is told. `line` has the options of the whole
/// job. Takes secret and settings from this process's environment.
[[nodiscard]] RemoteStart make_remote_start(const CommandLine& line, const JobSystem& system,
                                            int client, int first_rank, const std::string& server);

/// Returns the command that begins a system on another machine. `tunnel_port` is the server's port
/// if the system reaches it through ssh, or 0.
[[nodiscard]] std::vector<std::string> remote_command(const JobSystem& system, int tunnel_port);

}  // namespace impishim::launch
