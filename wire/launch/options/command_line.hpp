// SPDX-License-Identifier: Apache-2.0
/// The command line of impirun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// One native MPI job to start.
struct Section {
  int procs = 1;
  std::vector<std::string> command;  ///< program and its arguments, unchanged
  std::string gateways;              ///< -gateway LIST; empty if not set
};

struct CommandLine {
  enum class Mode : std::uint8_t {
    kServer,
    kClient,
    kLocal,
    kHelp,
    kVersion,
    kNewKey,
    kNewSecret,
    kNameServer
  };
  Mode mode = Mode::kLocal;
  std::string help;  ///< the text to print, in mode kHelp

  int clients = 0;                        ///< -server N
  int port = 0;                           ///< -port P; 0 means any port
  std::optional<std::string> preference;  ///< -auth list
  int timeout_s = 0;                      ///< -timeout S; 0 means no limit for clients to join

  int client = 0;      ///< -client I ...
  std::string server;  ///< ... address:port
  /// `-- CMD...`: the command is a launcher that starts the processes itself
  bool own_launcher = false;

  std::vector<Section> sections;  ///< one for a client; one for each system in the local forms
  std::string mpi;  ///< -mpi NAME: the MPI library, if the program does not show which one it uses
  std::string host_procs;  ///< -host-procs K; empty if not set
  bool verbose = false;
  bool relay = false;  ///< of a server    ///< -v
};

/// The option with which launchers run impirun in front of a program: `impirun -rank-output SOCKET
/// command...` (see hand_over_output()). It is not an option for users.
constexpr const char* kRankOutputOption = "-rank-output";

/// Parses the command line. -option and --option are equivalent. Options end at the program's name.
/// Fails with kConfiguration; the text says what is wrong and how to correct it.
[[nodiscard]] Result<CommandLine> parse_command_line(const std::vector<std::string>& words);

}  // namespace impishim::launch
