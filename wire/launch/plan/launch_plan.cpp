// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/launch_plan.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/output/rank_request.hpp"
#include "wire/launch/plan/launcher.hpp"
#include "wire/launch/plan/program.hpp"
#include "wire/launch/plan/translation.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

Error configuration(std::string text) { return Error{ErrorKind::kConfiguration, std::move(text)}; }

/// Returns what the user preloads: the section's own choice, or that of impirun's environment.
std::string preloaded_before(const Section& section) {
  const char* own = secure_getenv("LD_PRELOAD");
  std::string preloaded = own == nullptr ? "" : own;
  for (const Variable& variable : section.environment) {
    if (variable.name == "LD_PRELOAD" && variable.value) preloaded = *variable.value;
  }
  return preloaded;
}

/// Returns env(1) and the variables that make a program join.
Result<std::vector<std::string>> environment_words(const LaunchRequest& request,
                                                   const std::string& mpi, LauncherKind launcher) {
  auto library = shim_library(mpi);
  if (!library) return library.error();
  const std::string before = preloaded_before(request.section);
  std::vector<std::string> words = {"env"};
  const auto variables = variable_words(
      launcher, request.section, request.line.own_launcher || launcher == LauncherKind::kOther);
  words.insert(words.end(), variables.begin(), variables.end());
  words.insert(words.end(), {before.empty() ? "LD_PRELOAD=" + *library
                                            : fmt::format("LD_PRELOAD={}:{}", before, *library),
                             "IMPISHIM_SERVER=" + request.server,
                             fmt::format("IMPISHIM_CLIENT={}", request.client)});
  if (!request.line.host_procs.empty())
    words.push_back("IMPISHIM_HOST_PROCS=" + request.line.host_procs);
  if (!request.section.gateways.empty())
    words.push_back("IMPISHIM_GATEWAY=" + request.section.gateways);
  // Some launchers do not pass on the whole environment.
  if (secure_getenv("IMPI_AUTH_NONE") != nullptr) words.emplace_back("IMPI_AUTH_NONE=1");
  auto key = key_words(launcher, request.key_files);
  if (!key) return key.error();
  words.insert(words.end(), key->begin(), key->end());
  return words;
}

/// Fails if -mpi names another MPI library than the program's. The shim for another library would
/// crash the program.
Result<void> check_forced_mpi(const std::string& forced, const std::string& mpi,
                              const std::string& program) {
  if (forced.empty() || forced == mpi) return {};
  return configuration(
      fmt::format("-mpi {} does not fit {}, which needs {}'s library: leave -mpi out, or name "
                  "another build of the program",
                  forced, program, mpi));
}

Result<std::string> choose_mpi(const std::string& forced, const std::string& program) {
  auto mpi = mpi_of_program(program);
  if (!mpi) return mpi.error();
  if (*mpi) {
    auto fits = check_forced_mpi(forced, **mpi, program);
    if (!fits) return fits.error();
    return **mpi;
  }
  if (!forced.empty()) return forced;
  // Of a process that spawns others (wire/port/spawned_job.hpp): a script's MPI is probably its
  // own.
  if (const char* spawner = secure_getenv("IMPISHIM_SPAWN_MPI"); spawner != nullptr)
    return std::string(spawner);
  return configuration(
      fmt::format("{} is not an MPI program: it needs neither libmpich nor libmpi nor libmpi_abi. "
                  "Instead of a script, name the program that the "
                  "script starts; for an interpreter that loads MPI later, say which: -mpi mpich, "
                  "-mpi openmpi or -mpi abi",
                  program));
}

/// A word of the user's own launcher command that is an MPI program.
struct FoundProgram {
  std::size_t position = 0;
  std::string mpi;
};

std::optional<FoundProgram> find_mpi_program(const std::vector<std::string>& words) {
  std::optional<FoundProgram> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto path = find_program(words[i]);
    if (!path) continue;
    auto mpi = mpi_of_program(*path);
    if (!mpi || !*mpi) continue;
    found = FoundProgram{i, **mpi};
    if (i > 0) break;  // the first word may be a launcher that is linked with its own MPI library
  }
  return found;
}

/// Returns true if the launcher may mix lines. Open MPI's launcher gives each rank a terminal and
/// passes on output as it arrives, not line by line.
bool mixes_lines(LauncherKind launcher) {
  constexpr std::array kUsers = {"OMPI_MCA_orte_tag_output", "OMPI_MCA_orte_timestamp_output",
                                 "OMPI_MCA_orte_output_filename", "OMPI_MCA_orte_xml_output"};
  // Users who request output in a form of Open MPI get that form.
  return launcher == LauncherKind::kOpenMpi &&
         std::none_of(kUsers.begin(), kUsers.end(),
                      [](const char* name) { return secure_getenv(name) != nullptr; });
}

/// Returns the words that run this program in front of a rank's program, to hand over the rank's
/// outputs, to label them, or to write them to files.
Result<std::vector<std::string>> hand_over_words(const LaunchRequest& request,
                                                 LauncherKind launcher) {
  const CommandLine& line = request.line;
  RankOutputRequest wanted;
  wanted.system = request.client;
  wanted.first_rank = request.first_rank;
  wanted.label = line.label;
  wanted.out_pattern = line.out_pattern;
  wanted.error_pattern = line.error_pattern;
  const bool asked = line.label || !line.out_pattern.empty() || !line.error_pattern.empty();
  if (request.rank_output && (line.label || (mixes_lines(launcher) && !line.own_launcher)))
    wanted.socket = request.rank_output();
  std::vector<std::string> words;
  if (wanted.socket.empty() && !asked) return words;
  for (const std::string& pattern : {line.out_pattern, line.error_pattern}) {
    auto fits = check_output_pattern(pattern, request.first_rank >= 0, request.section.procs != 1);
    if (!fits) return fits.error();
  }
  auto own = own_program();
  if (!own) return own.error();
  words = {*own, kRankOutputOption};
  const auto described = wanted.words();
  words.insert(words.end(), described.begin(), described.end());
  return words;
}

/// Returns the words that Open MPI's mpiexec needs to start several jobs on one machine.
Result<std::vector<std::string>> open_mpi_words(const LaunchRequest& request) {
  std::vector<std::string> words;
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
  words.emplace_back("--oversubscribe");
  // All launchers of a user share one folder, and the last one to end removes it. Another launcher
  // that starts at that moment would fail.
  if (request.line.mode != CommandLine::Mode::kClient &&
      secure_getenv("OMPI_MCA_orte_tmpdir_base") == nullptr) {
    auto folder = request.scratch.path();
    if (!folder) return folder.error();
    words.insert(words.end(),
                 {"--mca", "orte_tmpdir_base", *folder / std::to_string(request.client)});
  }
  return words;
}

/// Plans `-- CMD...`: inserts env in front of the first word that is an MPI program.
Result<LaunchPlan> plan_own_launcher(const LaunchRequest& request) {
  const auto& command = request.section.command;
  const std::string& forced = request.section.mpi;
  auto first = find_program(command.front());
  if (!first) return first.error();
  auto program = find_mpi_program(command);
  if (program) {
    auto fits = check_forced_mpi(forced, program->mpi, command[program->position]);
    if (!fits) return fits.error();
  } else if (!forced.empty() && command.size() == 1) {
    program = FoundProgram{0, forced};
  } else {
    return configuration(
        fmt::format("no word of \"{} ...\" is an MPI program: name the program that a script among "
                    "them starts, by its path, or put "
                    "`env LD_PRELOAD=<libimpishim.so> IMPISHIM_SERVER={} IMPISHIM_CLIENT={}` in "
                    "front of the program yourself",
                    command.front(), request.server, request.client));
  }
  const LauncherKind launcher =
      program->position == 0 ? LauncherKind::kOther : launcher_kind(*first);
  auto environment = environment_words(request, program->mpi, launcher);
  if (!environment) return environment.error();
  auto hand_over = hand_over_words(request, launcher);
  if (!hand_over) return hand_over.error();
  hand_over->insert(hand_over->end(), environment->begin(), environment->end());
  LaunchPlan plan;
  plan.system = request.client;
  plan.words = command;
  plan.words.insert(plan.words.begin() + static_cast<std::ptrdiff_t>(program->position),
                    hand_over->begin(), hand_over->end());
  auto options = extra_options(launcher);
  const auto passed_on = pass_on_words(launcher, request.section);
  options.insert(options.end(), passed_on.begin(), passed_on.end());
  if (program->position > 0)
    plan.words.insert(plan.words.begin() + 1, options.begin(), options.end());
  plan.tells_exit_codes = launcher == LauncherKind::kHydra;
  plan.prints_itself = !plan.tells_exit_codes;
  return plan;
}

}  // namespace

void share_processors(int procs) {
  constexpr int kKeepTheUsers = 0;
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", kKeepTheUsers);
  const auto processors = std::thread::hardware_concurrency();
  if (processors != 0 && static_cast<unsigned>(procs) > processors)
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", kKeepTheUsers);
}

Result<LaunchPlan> plan_launch(const LaunchRequest& request) {
  if (request.line.own_launcher) return plan_own_launcher(request);
  const Section& section = request.section;
  auto program = find_program(section.command.front(), section.directory);
  if (!program) return program.error();
  auto mpi = choose_mpi(section.mpi, *program);
  if (!mpi) return mpi.error();
  auto launcher = launcher_of(*mpi, section.launcher);
  if (!launcher) return launcher.error();
  const LauncherKind kind = launcher_kind(launcher->front());
  LaunchPlan plan;
  plan.system = request.client;
  plan.tells_exit_codes = kind == LauncherKind::kHydra;
  const auto add = [&plan](const std::vector<std::string>& words) {
    plan.words.insert(plan.words.end(), words.begin(), words.end());
  };
  add({launcher->front()});
  add(extra_options(kind));
  add(pass_on_words(kind, section));
  if (*mpi == "openmpi" && kind != LauncherKind::kHydra && kind != LauncherKind::kSlurm) {
    auto words = open_mpi_words(request);
    if (!words) return words.error();
    add(*words);
  }
  add({launcher->begin() + 1, launcher->end()});
  auto placement = placement_words(kind, section, [&]() -> Result<std::filesystem::path> {
    auto folder = request.scratch.path();
    if (!folder) return folder;
    return *folder / fmt::format("hosts-{}", request.client);
  });
  if (!placement) return placement.error();
  add(*placement);
  add({"-n", std::to_string(section.procs)});
  auto environment = environment_words(request, *mpi, kind);
  if (!environment) return environment.error();
  auto hand_over = hand_over_words(request, kind);
  if (!hand_over) return hand_over.error();
  add(*hand_over);
  add(*environment);
  add({*program});
  add({section.command.begin() + 1, section.command.end()});
  return plan;
}

}  // namespace impishim::launch
