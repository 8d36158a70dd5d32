// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/batch_start.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/batch_process.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/plan/program.hpp"
#include "wire/launch/remote_start.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// Variables that make_remote_start() leaves out because another machine has its own, and that hold
/// for the nodes of a batch job, which share their files with this machine. PATH leads to mpiexec.
constexpr std::array kOfThisCluster = {"PATH",
                                       "LD_LIBRARY_PATH",
                                       "IMPISHIM_SECRET_FILE",
                                       "IMPISHIM_CERTIFICATE",
                                       "IMPISHIM_PRIVATE_KEY",
                                       "IMPISHIM_AUTHORITY",
                                       "IMPISHIM_SERVER_NAME"};

bool is_slurm(const std::string& submit) { return fs::path(submit).filename() == "sbatch"; }

/// Returns what the impirun of the batch job is told.
RemoteStart describe(const LaunchRequest& request) {
  JobSystem system;
  system.section = request.section;
  system.section.launcher.clear();
  system.section.launcher_arguments.clear();  // those of sbatch or qsub
  RemoteStart start =
      make_remote_start(request.line, system, request.client, request.first_rank, request.server);
  for (const char* name : kOfThisCluster) {
    if (const char* value = secure_getenv(name); value != nullptr)
      start.variables.push_back(fmt::format("{}={}", name, value));
  }
  return start;
}

/// Writes the script of the batch job. The batch system copies it when the job is submitted.
Result<fs::path> write_script(const LaunchRequest& request, const fs::path& impirun) {
  auto description = request.key_files.add(describe(request).encode());
  if (!description) return description;
  auto folder = request.scratch.path();
  if (!folder) return folder;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error)
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot tell the working directory: {}", error.message())};
  fs::path path = *folder / fmt::format("batch-{}", request.client);
  std::ofstream file(path);
  file << "#!/bin/sh\ncd " << shell_word(here.string()) << " || exit\nexec "
       << shell_word(impirun.string()) << ' ' << kRemoteOption << " < "
       << shell_word(description->string()) << '\n';
  file.close();
  if (!file) return Error{ErrorKind::kSystem, fmt::format("cannot write {}", path.string())};
  return path;
}

/// Returns the options that make the command wait for the job's end, and tell the job's number.
Words waiting_words(const std::string& submit, const Section& section) {
  const auto& own = section.launcher_arguments;
  if (!is_slurm(submit)) {
    // Grid Engine's qsub has another option, and cannot be told from OpenPBS's.
    return std::find(own.begin(), own.end(), "-sync") != own.end() ? Words{}
                                                                   : Words{"-W", "block=true"};
  }
  Words words = {"--wait", "--parsable", "--job-name=impirun",
                 fmt::format("--ntasks={}", section.procs)};
  if (section.placement.per_node != 0)
    words.push_back(fmt::format("--ntasks-per-node={}", section.placement.per_node));
  return words;
}

}  // namespace

std::vector<std::string> batch_command(const Section& section) {
  const char* variable = secure_getenv("IMPISHIM_MPIEXEC");
  auto words = split_words(!section.launcher.empty() ? section.launcher
                           : variable != nullptr     ? variable
                                                     : "");
  if (!words || words->empty()) return {};  // plan_launch() tells what is wrong
  const auto name = fs::path(words->front()).filename();
  return name == "sbatch" || name == "qsub" ? *words : Words{};
}

Result<LaunchPlan> plan_batch(const LaunchRequest& request, const Words& submit) {
  auto found = find_program(submit.front());
  if (!found) return found.error();
  auto cancel = find_program(is_slurm(submit.front()) ? "scancel" : "qdel");
  if (!cancel) return cancel.error();
  auto own = own_program();
  if (!own) return own.error();
  auto script = write_script(request, *own);
  if (!script) return script.error();
  LaunchPlan plan;
  plan.system = request.client;
  plan.words = {*own, kBatchOption, *cancel, *found};
  for (const Words& more :
       {Words(submit.begin() + 1, submit.end()), waiting_words(submit.front(), request.section),
        request.section.launcher_arguments, Words{script->string()}})
    plan.words.insert(plan.words.end(), more.begin(), more.end());
  return plan;
}

Result<LaunchPlan> plan_system(const LaunchRequest& request) {
  const Words submit = request.line.own_launcher ? Words{} : batch_command(request.section);
  return submit.empty() ? plan_launch(request) : plan_batch(request, submit);
}

}  // namespace impishim::launch
