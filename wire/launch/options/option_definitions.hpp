// SPDX-License-Identifier: Apache-2.0
/// The options of impirun: the one definition from which come the parser, -help, the manual page
/// and the completions.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "wire/launch/options/section.hpp"

namespace impishim::launch {

/// The values of the options of one section, as CLI11 has converted and checked them.
struct OptionValues {
  std::vector<std::string> client;
  int server = 0;
  int port = 0;
  std::optional<std::string> auth;
  int timeout = 0;
  int procs = 0;
  int systems = 0;
  std::string mpi;
  std::string host_procs;
  std::string gateways;
  std::string directory;
  Placement placement;
  std::string out_pattern;
  std::string error_pattern;
  std::string job_file;
  std::string configuration_file;
  bool label = false;
  bool dry_run = false;
  bool quiet = false;
  bool verbose = false;
  bool relay = false;
  std::string check;
  std::string why;
  std::string top;
  std::string metrics;
  bool once = false;
  bool json = false;
  bool new_key = false;
  bool new_secret = false;
  bool name_server = false;
  bool version = false;
  bool help = false;
  // CLI11 would read a value such as "[a,b]" as a list, so the parser fills these itself.
  std::vector<Variable> job_environment;  ///< -genv
  std::vector<Variable> environment;      ///< -env, -x
  std::vector<std::string> launcher_arguments;
};

/// The groups of options. The first two may stand in every section of the command line, all others
/// in the first one only.
constexpr const char* kProcessGroup = "Processes of a system";
constexpr const char* kPlacementGroup = "Where the processes of a system run";
constexpr const char* kJobGroup = "The whole job";
constexpr const char* kOutputGroup = "Output";
constexpr const char* kFormGroup = "What to start";
constexpr const char* kServerGroup = "Server";
constexpr const char* kWatchGroup = "Before a job and while it runs";
constexpr const char* kOtherGroup = "Keys and help";

/// The option whose values end at the word `--`.
constexpr const char* kLauncherArguments = "mpiexec-args";

/// Adds all options to `app`, which stores their values in `values`. CLI11's names have two dashes
/// if they are longer than a letter; all texts for users show one.
void define_options(CLI::App& app, OptionValues& values);

}  // namespace impishim::launch
