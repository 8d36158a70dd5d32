// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/check_form.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/check.hpp"
#include "wire/check/options.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/section.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/remote_start.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

/// Returns the variables that the job file gives to a system, as NAME=VALUE.
std::vector<std::string> variables_of(const CommandLine& line, const JobSystem& system) {
  std::vector<std::string> variables;
  if (!line.host_procs.empty()) variables.push_back("IMPISHIM_HOST_PROCS=" + line.host_procs);
  for (const Variable& each : system.section.environment)
    if (each.value) variables.push_back(fmt::format("{}={}", each.name, *each.value));
  return variables;
}

std::vector<std::string> words_of(const CommandLine& line, const JobSystem& system, int client,
                                  const std::string& server) {
  check::CheckOptions options;
  options.server = server;
  options.client = client;
  options.processes = system.section.procs;
  options.json = line.json;
  options.part = client != 0;
  return check::check_words(options);
}

}  // namespace

Result<LaunchPlan> plan_check(const CommandLine& line, const JobSystem& system, int client,
                              const std::string& server) {
  auto own = own_program();
  if (!own) return own.error();
  LaunchPlan plan;
  plan.system = client;
  plan.prints_itself = true;
  plan.words = {"env"};
  for (std::string& each : variables_of(line, system)) plan.words.push_back(std::move(each));
  plan.words.push_back(*own);
  for (std::string& each : words_of(line, system, client, server))
    plan.words.push_back(std::move(each));
  return plan;
}

RemoteStart remote_check(RemoteStart start, const CommandLine& line, const JobSystem& system,
                         int client, const std::string& server) {
  for (std::string& each : variables_of(line, system)) start.variables.push_back(std::move(each));
  start.words = words_of(line, system, client, server);
  return start;
}

int run_check(const std::vector<std::string>& words) {
  const auto options = check::parse_check_options({words.begin() + 1, words.end()});
  if (!options) return complain(options.error(), kUsageStatus);
  if (options->help) return print(check::check_help());
  if (options->job_file.empty()) return check::run_check(*options, IMPISHIM_VERSION);
  CommandLine line;
  line.mode = CommandLine::Mode::kJobFile;
  line.job_file = options->job_file;
  line.checks = true;
  line.json = options->json;
  return run_job_file(line);
}

}  // namespace impishim::launch
