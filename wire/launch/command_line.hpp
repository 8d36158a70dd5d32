/// What the user asks of impirun.
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
  std::vector<std::string> command;  ///< program and its arguments, untouched
  std::string gateways;              ///< -gateway LIST; empty: not set
};

struct CommandLine {
  enum class Mode : std::uint8_t { kServer, kClient, kLocal, kHelp, kVersion, kNewKey };
  Mode mode = Mode::kLocal;
  std::string help;  ///< kHelp

  int clients = 0;                        ///< -server N
  int port = 0;                           ///< -port P; 0: any
  std::optional<std::string> preference;  ///< -auth list
  int timeout_s = 0;                      ///< -timeout S; 0: no bound on waiting for clients

  int client = 0;             ///< -client I ...
  std::string server;         ///< ... address:port
  bool own_launcher = false;  ///< `-- CMD...`: the command starts the processes itself

  std::vector<Section> sections;  ///< one for a client; one for each system in the local forms
  std::string mpi;                ///< -mpi NAME: the MPI library, where the program does not tell
  int host_procs = 0;             ///< -host-procs K; 0: not set
  bool verbose = false;           ///< -v
};

/// What impirun's launchers run in front of a program: `impirun -rank-output SOCKET command...`
/// (see hand_over_output()). No option for users.
constexpr const char* kRankOutputOption = "-rank-output";

/// Understands -option and --option alike. Options end at the program's name. kConfiguration says
/// what is wrong and how it is right.
[[nodiscard]] Result<CommandLine> parse_command_line(const std::vector<std::string>& words);

}  // namespace impishim::launch
