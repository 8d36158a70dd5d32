// SPDX-License-Identifier: Apache-2.0
// The forms that start a whole job, with its server: impirun -np N program : ..., and impirun
// -file.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/batch_start.hpp"
#include "wire/launch/check_form.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/job_server.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/join_progress.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/plan/scratch_folder.hpp"
#include "wire/launch/remote_start.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

/// What starts one system.
struct Start {
  std::string name;  ///< "system 0"
  LaunchPlan plan;
  /// What the impirun of another machine reads before the program's input; empty for a system of
  /// this machine.
  std::string input;
};

/// Gives a system on another machine its description, and then, if it is the first one, all of this
/// program's standard input. Works in a thread, because each side may wait for the other. The
/// thread lives as long as this process.
void feed(Descriptor to, std::string text, bool standard_input) {
  // A reader that has gone is no error here: the supervisor sees the end of its process.
  quiet_thread("input", [to = std::move(to), text = std::move(text), standard_input] {
    if (write_all(to.get(), text) != 0 || !standard_input) return;
    std::array<char, 65536> buffer{};
    while (const std::size_t size = read_some(STDIN_FILENO, buffer.data(), buffer.size())) {
      if (write_all(to.get(), {buffer.data(), size}) != 0) return;
    }
  }).detach();
}

/// All systems of a job and their server, from the first process to the last one's end.
class WholeJob {
 public:
  WholeJob(const CommandLine& line, const JobFile& job) : line_(line), job_(job) {}

  /// Returns the exit status.
  int run() {
    if (!line_.dry_run) {
      auto metrics = server_.open_metrics();
      if (!metrics) return complain(metrics.error(), kUsageStatus);
    }
    const Result<void> prepared = prepare();
    if (!prepared)
      return complain(prepared.error(), prepared.error().kind == ErrorKind::kConfiguration
                                            ? kUsageStatus
                                            : kFailureStatus);
    if (line_.dry_run) return print(commands());
    if (line_.verbose) tell_commands();
    auto told = tell_how_to_watch();
    if (!told) return complain(told.error(), kFailureStatus);
    supervisor_.on_end([this](const std::string& name) {
      for (std::size_t i = 0; i < starts_.size(); ++i) {
        if (name == starts_[i].name) server_.tell_ended(static_cast<std::uint8_t>(i));
      }
    });
    supervisor_.watch_losses(server_.losses());
    auto started = start();
    return started ? supervisor_.wait_for_all() : complain(started.error(), kFailureStatus);
  }

 private:
  [[nodiscard]] bool from_file() const { return line_.mode == CommandLine::Mode::kJobFile; }

  Result<void> prepare() {
    auto opened = server_.open(line_, job_);
    if (!opened) return opened;
    share_with_processors();
    if (line_.label) supervisor_.label_output();
    if (line_.timeout_s != 0) supervisor_.limit_time(line_.timeout_s);
    return plan();
  }

  void share_with_processors() const {
    int procs = 0;
    for (const JobSystem& system : job_.systems) {
      if (system.host.empty() && system.section.placement.hosts.empty() &&
          system.section.placement.host_file.empty())
        procs += system.section.procs;
    }
    if (procs != 0) share_processors(procs);
  }

  Result<void> plan() {
    int first_rank = 0;
    for (const JobSystem& system : job_.systems) {
      const auto client = static_cast<int>(starts_.size());
      auto start = system.host.empty() ? plan_here(system, client, first_rank)
                                       : plan_there(system, client, first_rank);
      if (!start)
        return from_file() ? Error{start.error().kind,
                                   fmt::format("system {}: {}", system.name, start.error().text)}
                           : start.error();
      starts_.push_back(std::move(*start));
      first_rank += system.section.procs;
    }
    return {};
  }

  Result<Start> plan_here(const JobSystem& system, int client, int first_rank) {
    auto plan = line_.checks ? plan_check(line_, system, client, server_.address())
                             : plan_system({line_, system.section, server_.address(), client,
                                            first_rank, server_.key_files(), scratch_,
                                            [this] { return supervisor_.rank_output(scratch_); }});
    if (!plan) return plan.error();
    return Start{"system " + system.name, std::move(*plan), {}};
  }

  Result<Start> plan_there(const JobSystem& system, int client, int first_rank) {
    Start start;
    start.name = "system " + system.name;
    start.plan.system = client;
    const std::string& own = server_.address();
    const std::string port = own.substr(own.rfind(':') + 1);
    start.plan.words = remote_command(system, system.tunnel ? std::atoi(port.c_str()) : 0);
    start.input =
        told_there(system, client, first_rank, system.tunnel ? "127.0.0.1:" + port : own).encode();
    return start;
  }

  [[nodiscard]] RemoteStart told_there(const JobSystem& system, int client, int first_rank,
                                       const std::string& server) const {
    auto told = make_remote_start(line_, system, client, first_rank, server);
    return line_.checks ? remote_check(std::move(told), line_, system, client, server) : told;
  }

  /// Returns the commands of all systems, one on a line.
  [[nodiscard]] std::string commands() const {
    std::string text;
    for (std::size_t i = 0; i < starts_.size(); ++i) text += command(i) + "\n";
    return text;
  }

  /// Returns the command of a system. For another machine, it is what impirun runs there, behind
  /// what brings it there.
  [[nodiscard]] std::string command(std::size_t system) const {
    std::string here = shell_command(starts_[system].plan.words);
    if (starts_[system].input.empty()) return here;
    const auto there =
        told_there(job_.systems[system], static_cast<int>(system), 0,
                   job_.systems[system].tunnel ? "127.0.0.1:PORT" : server_.address());
    return fmt::format("{}   # there: impirun {}", here, shell_command(there.words));
  }

  /// Tells how the job can be watched, if its processes can be asked. Others need for that the key,
  /// and the secret, that impirun has made for the job.
  Result<void> tell_how_to_watch() {
    const char* monitor = secure_getenv("IMPISHIM_MONITOR");
    if (monitor == nullptr || std::strcmp(monitor, "on") != 0) return {};
    auto key = server_.key_files().key.path();
    if (!key) return key.error();
    std::string secret;
    if (job_.leaves_this_machine()) {
      auto path = server_.key_files().secret.path();
      if (!path) return path.error();
      secret = fmt::format("IMPISHIM_SECRET_FILE={} ", path->string());
    }
    std::fprintf(stderr, "impirun: IMPI_AUTH_KEY_FILE=%s %simpirun -why %s\n", key->c_str(),
                 secret.c_str(), server_.address().c_str());
    return {};
  }

  void tell_commands() const {
    for (std::size_t i = 0; i < starts_.size(); ++i)
      log(LogArea::kStartup, LogLevel::kError, "{} runs: {}", starts_[i].name, command(i));
  }

  Result<void> start() {
    auto started = server_.start(supervisor_);
    if (from_file() && !line_.quiet) watch_progress();
    for (std::size_t i = 0; i < starts_.size() && started; ++i) {
      started = starts_[i].input.empty()
                    ? supervisor_.start(starts_[i].name, starts_[i].plan, i == 0)
                    : start_there(i);
    }
    return started;
  }

  Result<void> start_there(std::size_t system) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      return Error{ErrorKind::kSystem, fmt::format("cannot make a pipe: {}", std::strerror(errno))};
    Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    auto started = supervisor_.start(starts_[system].name, starts_[system].plan, std::move(reader),
                                     [this, system](std::string_view text) -> std::size_t {
                                       if (text != kRemoteHasBegun) return text.size();
                                       if (progress_) progress_->begun(system);
                                       return 0;
                                     });
    if (started) feed(std::move(writer), starts_[system].input, system == 0);
    return started;
  }

  /// Tells the user who has joined, and what is missing.
  void watch_progress() {
    std::vector<JoinProgress::System> systems;
    for (const JobSystem& each : job_.systems) {
      JoinProgress::System system;
      system.name = each.name;
      system.host = each.host;
      system.launcher = each.section.launcher.empty() ? "mpiexec" : each.section.launcher;
      if (line_.checks) system.launcher = "impirun -check";
      system.queued = !each.section.launcher.empty() && !line_.checks;
      system.begun = each.host.empty();
      systems.push_back(std::move(system));
    }
    using Clock = JoinProgress::Clock;
    progress_.emplace(std::move(systems), line_.verbose, Clock::now());
    supervisor_.watch(server_.joined(), POLLIN, [this] {
      std::uint32_t mask = 0;
      while (recv(server_.joined(), &mask, sizeof(mask), 0) == sizeof(mask))
        tell(progress_->joined(mask, Clock::now()));
      return true;
    });
    supervisor_.on_tick([this] {
      tell(progress_->report(Clock::now()));
      return progress_->time_to_report(Clock::now());
    });
  }

  static void tell(const std::string& text) {
    if (!text.empty()) log(LogArea::kStartup, LogLevel::kError, "{}", text);
  }

  const CommandLine& line_;
  const JobFile& job_;
  JobServer server_;
  ScratchFolder scratch_;
  Supervisor supervisor_;
  std::vector<Start> starts_;
  std::optional<JoinProgress> progress_;
};

}  // namespace

int run_local(const CommandLine& line) {
  JobFile job;
  for (const Section& section : line.sections) {
    JobSystem system;
    system.name = std::to_string(job.systems.size());
    system.section = section;
    job.systems.push_back(std::move(system));
  }
  return WholeJob(line, job).run();
}

int run_job_file(const CommandLine& given) {
  auto job = read_job_file(given.job_file);
  if (!job) return complain(job.error(), kUsageStatus);
  CommandLine line = given;  // the command line has priority over the file
  line.label = given.label || job->label;
  if (line.timeout_s == 0) line.timeout_s = job->timeout_s;
  if (line.out_pattern.empty()) line.out_pattern = job->out_pattern;
  if (line.error_pattern.empty()) line.error_pattern = job->error_pattern;
  line.host_procs = job->host_procs;
  return WholeJob(line, *job).run();
}

}  // namespace impishim::launch
