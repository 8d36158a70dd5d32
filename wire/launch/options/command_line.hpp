// SPDX-License-Identifier: Apache-2.0
/// The command line of impirun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/section.hpp"

namespace impishim::launch {

struct CommandLine {
  enum class Mode : std::uint8_t {
    kServer,
    kClient,
    kLocal,
    kJobFile,
    kHelp,
    kVersion,
    kNewKey,
    kNewSecret,
    kNameServer,
    kWhy,
    kTop,
    kMetrics
  };
  Mode mode = Mode::kLocal;
  std::string help;  ///< the text to print, in mode kHelp

  int clients = 0;                        ///< -server N
  int port = 0;                           ///< -port P; 0 means any port
  std::optional<std::string> preference;  ///< -auth list
  bool relay = false;                     ///< -relay, of a server
  /// -timeout S; 0 means no limit. For a server: until all systems have joined. For all other
  /// forms: until the job has ended.
  int timeout_s = 0;

  int client = 0;  ///< -client I ...
  /// ... address:port; also that of -why, -top and -metrics
  std::string server;
  /// `-- CMD...`: the command is a launcher that starts the processes itself
  bool own_launcher = false;

  std::string job_file;  ///< -file FILE
  bool checks = false;   ///< -check FILE: check the systems, and start no program

  bool once = false;  ///< -once, of -top
  bool json = false;  ///< -json, of -why, -top and -check

  std::vector<Section> sections;  ///< one for a client; one for each system in the local forms
  std::string host_procs;         ///< -host-procs K; empty if not set
  bool verbose = false;           ///< -v
  bool quiet = false;             ///< -q
  bool dry_run = false;           ///< -dry-run
  bool label = false;             ///< -label
  std::string out_pattern;        ///< -outfile-pattern; empty if not set
  std::string error_pattern;      ///< -errfile-pattern; empty if not set
};

/// The option with which launchers run impirun in front of a program: `impirun -rank-output WORD...
/// -- command...` (see rank_output.hpp). It is not an option for users.
constexpr const char* kRankOutputOption = "-rank-output";

/// The option with which a job file's system begins on another machine: the command line and the
/// secret then come from standard input (see remote_start.hpp). It is not an option for users.
constexpr const char* kRemoteOption = "-remote-start";

/// Parses the command line. -option and --option are equivalent. Options end at the program's name.
/// Reads the file of -configfile. Fails with kConfiguration; the text says what is wrong and how to
/// correct it.
[[nodiscard]] Result<CommandLine> parse_command_line(const std::vector<std::string>& words);

}  // namespace impishim::launch
