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
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/launch/batch_start.hpp"
#include "wire/launch/check_form.hpp"
#include "wire/launch/forms.hpp"
#include "wire/launch/job_key.hpp"
#include "wire/launch/jobfile/job_file.hpp"
#include "wire/launch/join_progress.hpp"
#include "wire/launch/metrics_form.hpp"
#include "wire/launch/name_server.hpp"
#include "wire/launch/options/command_line.hpp"
#include "wire/launch/options/shell_words.hpp"
#include "wire/launch/output/process.hpp"
#include "wire/launch/plan/key_file.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/plan/scratch_folder.hpp"
#include "wire/launch/remote_start.hpp"
#include "wire/launch/supervisor.hpp"
#include "wire/port/open_port.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/watch/metrics_service.hpp"

namespace impishim::launch {
namespace {

/// Tells the server's process which systems have ended. The server's process tells which lost
/// systems do not end the others.
class EndedSystems {
 public:
  EndedSystems() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
    to_server_ = Descriptor(ends[0]);
    server_ = Descriptor(ends[1]);
  }
  [[nodiscard]] int for_server() const { return server_.get(); }
  [[nodiscard]] int from_server() const { return to_server_.get(); }
  void add(std::uint8_t system) const {
    // A server that has ended does not need the report, so a failure is ignored.
    [[maybe_unused]] const auto sent =
        send(to_server_.get(), &system, sizeof(system), MSG_NOSIGNAL);
  }

 private:
  Descriptor to_server_;
  Descriptor server_;
};

/// What starts one system.
struct Start {
  std::string name;  ///< "system 0"
  LaunchPlan plan;
  /// What the impirun of another machine reads before the program's input; empty for a system of
  /// this machine.
  std::string input;
};

/// Runs in a process of its own: the rendezvous, and the names that the systems publish.
int serve_job(wire::Rendezvous& server, std::shared_ptr<wire::OpenPort> names,
              wire::MetricsService* metrics, const wire::AuthenticationMethods& methods) {
  serve_in_background(std::move(names));
  if (metrics != nullptr) {
    auto started = metrics->start(server.address(), methods);
    if (!started) return complain(started.error(), kServerStatus);
  }
  auto served = server.serve();
  if (served) return 0;
  if (served.error().kind == ErrorKind::kLost) return kLossStatus;  // it has told of the loss
  return complain(served.error(),
                  served.error().kind == ErrorKind::kSystem ? kServerStatus : kFailureStatus);
}

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
      auto metrics = open_metrics_of_own_job();
      if (!metrics) return complain(metrics.error(), kUsageStatus);
      metrics_ = std::move(*metrics);
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
        if (name == starts_[i].name) ended_.add(static_cast<std::uint8_t>(i));
      }
    });
    supervisor_.watch_losses(ended_.from_server());
    auto started = start();
    return started ? supervisor_.wait_for_all() : complain(started.error(), kFailureStatus);
  }

 private:
  [[nodiscard]] bool from_file() const { return line_.mode == CommandLine::Mode::kJobFile; }

  Result<void> prepare() {
    auto opened = open_server();
    if (!opened) return opened;
    share_with_processors();
    if (!job_.leaves_this_machine() && !line_.checks) {
      auto names = open_own_name_server();
      if (!names) return names.error();
      name_server_ = std::move(*names);
    }
    if (line_.label) supervisor_.label_output();
    if (line_.timeout_s != 0) supervisor_.limit_time(line_.timeout_s);
    return plan();
  }

  /// Opens the rendezvous server. A job that leaves this machine gets a secret, which only it
  /// knows.
  Result<void> open_server() {
    wire::RendezvousOptions options;
    options.clients = static_cast<std::int32_t>(job_.systems.size());
    options.this_machine = !job_.leaves_this_machine();
    options.verbose = line_.verbose && !from_file();
    options.quiet = line_.quiet || from_file();
    if (!options.this_machine) {
      const char* own = secure_getenv("IMPISHIM_HOST_ADDRESS");
      options.address = !job_.server_address.empty() || own == nullptr ? job_.server_address : own;
      options.port = static_cast<std::uint16_t>(job_.server_port);
      options.relays = job_.relay;
      for (const char* name : {"IMPISHIM_SECRET_FILE", "IMPISHIM_CERTIFICATE",
                               "IMPISHIM_PRIVATE_KEY", "IMPISHIM_AUTHORITY"})
        unsetenv(name);
      auto secret = random_secret();
      if (!secret) return secret.error();
      setenv("IMPISHIM_SECRET", secret->c_str(), 1);
    }
    auto methods = private_key();
    if (!methods) return methods.error();
    methods_ = *methods;
    options.methods = methods_;
    auto reconnect =
        read_variable("IMPISHIM_RECONNECT", 0, wire::kMostReconnect, options.reconnect);
    if (!reconnect) return reconnect;
    options.ended_clients = ended_.for_server();
    if (from_file()) {
      std::array<int, 2> ends{-1, -1};
      if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
        return Error{ErrorKind::kSystem, "cannot make a pair of sockets"};
      joined_ = Descriptor(ends[0]);
      joined_writer_ = Descriptor(ends[1]);
      options.joined_clients = joined_writer_.get();
    }
    auto opened = wire::Rendezvous::open(options);
    if (!opened) return opened.error();
    server_.emplace(std::move(*opened));
    std::error_code error;
    key_files_.emplace(std::to_string(methods->key_value),
                       options.this_machine ? std::filesystem::temp_directory_path(error)
                                            : KeyFile::shared_folder());
    return {};
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
    auto plan = line_.checks ? plan_check(line_, system, client, server_->address())
                             : plan_system({line_, system.section, server_->address(), client,
                                            first_rank, *key_files_, scratch_,
                                            [this] { return supervisor_.rank_output(scratch_); }});
    if (!plan) return plan.error();
    return Start{"system " + system.name, std::move(*plan), {}};
  }

  Result<Start> plan_there(const JobSystem& system, int client, int first_rank) {
    Start start;
    start.name = "system " + system.name;
    start.plan.system = client;
    const std::string& own = server_->address();
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
                   job_.systems[system].tunnel ? "127.0.0.1:PORT" : server_->address());
    return fmt::format("{}   # there: impirun {}", here, shell_command(there.words));
  }

  /// Tells how the job can be watched, if its processes can be asked. Others need for that the key,
  /// and the secret, that impirun has made for the job.
  Result<void> tell_how_to_watch() {
    const char* monitor = secure_getenv("IMPISHIM_MONITOR");
    if (monitor == nullptr || std::strcmp(monitor, "on") != 0) return {};
    auto key = key_files_->key.path();
    if (!key) return key.error();
    std::string secret;
    if (job_.leaves_this_machine()) {
      auto path = key_files_->secret.path();
      if (!path) return path.error();
      secret = fmt::format("IMPISHIM_SECRET_FILE={} ", path->string());
    }
    std::fprintf(stderr, "impirun: IMPI_AUTH_KEY_FILE=%s %simpirun -why %s\n", key->c_str(),
                 secret.c_str(), server_->address().c_str());
    return {};
  }

  void tell_commands() const {
    for (std::size_t i = 0; i < starts_.size(); ++i)
      log(LogArea::kStartup, LogLevel::kError, "{} runs: {}", starts_[i].name, command(i));
  }

  Result<void> start() {
    auto started = supervisor_.start("the rendezvous server", [this] {
      return serve_job(*server_, name_server_, metrics_.get(), methods_);
    });
    // Only the server's process may listen. When it has ended, late clients are then refused and do
    // not wait for an answer.
    server_.reset();
    metrics_.reset();
    name_server_.reset();
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
    supervisor_.watch(joined_.get(), POLLIN, [this] {
      std::uint32_t mask = 0;
      while (recv(joined_.get(), &mask, sizeof(mask), 0) == sizeof(mask))
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
  const EndedSystems ended_;
  Descriptor joined_;
  Descriptor joined_writer_;
  std::unique_ptr<wire::MetricsService> metrics_;
  wire::AuthenticationMethods methods_;
  std::optional<wire::Rendezvous> server_;
  std::shared_ptr<wire::OpenPort> name_server_;
  ScratchFolder scratch_;
  std::optional<KeyFiles> key_files_;
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
