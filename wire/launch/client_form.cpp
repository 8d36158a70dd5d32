// SPDX-License-Identifier: Apache-2.0
// impirun -client.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/check/check.hpp"
#include "wire/launch/batch_start.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/job_key.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/launch/plan/key_file.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/plan/scratch_folder.hpp"
#include "wire/launch/remote_start.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::launch {
namespace {

/// Checks only the form of the address. A connection that sends nothing would count as a client at
/// a plain IMPI server. MPI_Init reports if the server cannot be reached.
Result<void> check_server(const std::string& server) {
  auto parts = wire::split_address_and_port(server);
  if (!parts) return parts.error();
  auto host = wire::parse_address(parts->first);
  if (!host) return host.error();
  return {};
}

/// Returns the status of a client whose processes have ended with `status`. If they never joined,
/// reports that here and to the server, because other clients may wait there.
int end_client(const CommandLine& line, const wire::AuthenticationMethods& methods,
               std::chrono::steady_clock::time_point started, int status) {
  constexpr auto kTimeout = std::chrono::seconds(2);
  const auto age =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started);
  auto never_joined = wire::report_ended(
      line.server, {line.client, static_cast<std::uint64_t>(age.count())}, methods, kTimeout);
  if (!never_joined)
    log(LogArea::kStartup, LogLevel::kDebug, "whether system {} had joined is not known: {}",
        line.client, never_joined.error().text);
  if (!never_joined || !*never_joined) return status;
  log(LogArea::kStartup, LogLevel::kError,
      "system {} ended before it had joined, and the server has been told. If no message above "
      "says why: it is no MPI "
      "program or ended without MPI_Init; libimpishim.so is that of another MPI library (-mpi); "
      "LD_PRELOAD and the IMPISHIM_ "
      "variables did not reach the ranks through the launcher (a static binary, a script that "
      "clears them); or the launcher "
      "ended before its processes",
      line.client);
  return status == 0 ? kFailureStatus : status;
}

/// Runs a client. `first_rank` is the joined rank of its first process, if it is known. `remote` is
/// true if impirun on another machine has begun this one; then the job ends when the connection
/// does.
int run_system(const CommandLine& line, int first_rank, bool remote) {
  auto methods = wire::AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsageStatus);
  export_methods(*methods);
  KeyFiles key_files(std::to_string(methods->key_value), KeyFile::shared_folder());
  ScratchFolder scratch;
  Supervisor supervisor;
  if (line.label) supervisor.label_output();
  if (line.timeout_s != 0) supervisor.limit_time(line.timeout_s);
  // If IMPISHIM_LIBRARY is set, the library's path does not show where impirun is on the nodes.
  const bool everywhere = secure_getenv("IMPISHIM_LIBRARY") == nullptr;
  auto plan = plan_system(
      {line, line.sections.front(), line.server, line.client, first_rank, key_files, scratch,
       everywhere || line.label ? RankOutputPlace([&] { return supervisor.rank_output(scratch); })
                                : nullptr});
  if (!plan)
    return complain(plan.error(),
                    plan.error().kind == ErrorKind::kSystem ? kFailureStatus : kUsageStatus);
  auto address = check_server(line.server);
  if (!address) return complain(address.error(), kUsageStatus);
  if (line.dry_run) return print(shell_command(plan->words) + "\n");
  if (line.verbose)
    log(LogArea::kStartup, LogLevel::kError, "runs: {}", shell_command(plan->words));
  const auto begin = std::chrono::steady_clock::now();
  if (remote) {
    // sshd closes our outputs when ssh has gone, and tells us nothing else.
    supervisor.watch(STDOUT_FILENO, 0, [&] {
      supervisor.end_job(128 + SIGHUP);
      return false;
    });
  }
  auto started = supervisor.start("", *plan, true);
  if (!started) return complain(started.error(), kFailureStatus);
  return end_client(line, *methods, begin, supervisor.wait_for_all());
}

}  // namespace

int run_client(const CommandLine& line) { return run_system(line, kRankUnknown, false); }

int run_remote() {
  auto start = RemoteStart::read_from(STDIN_FILENO);
  if (!start) return complain(start.error(), kUsageStatus);
  for (const std::string& variable : start->variables) {
    const auto equals = variable.find('=');
    if (equals != std::string::npos)
      setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  if (check::is_check(start->words)) {
    std::fprintf(stderr, "%s\n", std::string(kRemoteHasBegun).c_str());
    return run_check(start->words);
  }
  auto line = parse_command_line(start->words);
  if (!line) return complain(line.error(), kUsageStatus);
  if (line->mode != CommandLine::Mode::kClient)
    return complain({ErrorKind::kConfiguration, "-remote-start begins a system and nothing else"},
                    kUsageStatus);
  std::fprintf(stderr, "%s\n", std::string(kRemoteHasBegun).c_str());
  return run_system(*line, start->first_rank, true);
}

}  // namespace impishim::launch
