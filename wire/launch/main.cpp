// SPDX-License-Identifier: Apache-2.0
// impirun: the rendezvous server, a system, or a whole job (IMPI 2.2).
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/check/check.hpp"
#include "wire/launch/batch_process.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/output/rank_process.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/watch/watch_command.hpp"

namespace impishim::launch {
namespace {

int run(const std::vector<std::string>& words) {
  if (!words.empty() && words[0] == kRankOutputOption) {
    auto ended = run_rank_process({words.begin() + 1, words.end()});
    return ended ? *ended : complain(ended.error(), kFailureStatus);
  }
  if (!words.empty() && words[0] == kBatchOption) {
    auto ended = run_batch_process({words.begin() + 1, words.end()});
    return ended ? *ended : complain(ended.error(), kFailureStatus);
  }
  if (words.size() == 1 && words[0] == kRemoteOption) return run_remote();
  auto logging = configure_log();
  if (!logging) return complain(logging.error(), kUsageStatus);
  if (check::is_check(words)) return run_check(words);
  auto line = parse_command_line(words);
  if (!line) return complain(line.error(), kUsageStatus);
  switch (line->mode) {
    case CommandLine::Mode::kHelp:
      return print(line->help);
    case CommandLine::Mode::kVersion:
      return print(fmt::format("impirun {} (IMPI 0.0)\n", IMPISHIM_VERSION));
    case CommandLine::Mode::kNewKey:
      return print_new_key();
    case CommandLine::Mode::kNewSecret:
      return print_new_secret();
    case CommandLine::Mode::kNameServer:
      return run_name_server(*line);
    case CommandLine::Mode::kServer:
      return run_server(*line);
    case CommandLine::Mode::kClient:
      return run_client(*line);
    case CommandLine::Mode::kWhy:
      return wire::run_watch_command({wire::WatchForm::kWhy, line->server, line->json});
    case CommandLine::Mode::kTop:
      return wire::run_watch_command({wire::WatchForm::kTop, line->server, line->json, line->once});
    case CommandLine::Mode::kMetrics:
      return wire::run_watch_command({wire::WatchForm::kMetrics, line->server});
    case CommandLine::Mode::kJobFile:
      return run_job_file(*line);
    case CommandLine::Mode::kLocal:
      break;
  }
  return run_local(*line);
}

}  // namespace
}  // namespace impishim::launch

int main(int argc, char** argv) {
  // If the caller has closed standard output, a file or socket of ours must not get its number.
  int nothing = open("/dev/null", O_RDWR);
  while (nothing >= 0 && nothing <= STDERR_FILENO) nothing = dup(nothing);
  if (nothing >= 0) close(nothing);
  // If the caller ignores SIGCHLD, the kernel forgets children that end.
  signal(SIGCHLD, SIG_DFL);
  impishim::set_log_name("impirun", fmt::format("impirun-{}", getpid()));
  return impishim::launch::run(std::vector<std::string>(argv + 1, argv + argc));
}
