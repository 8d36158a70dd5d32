// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/supervisor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/output/hydra_exit_codes.hpp"
#include "wire/launch/output/output_forwarder.hpp"
#include "wire/launch/output/rank_output.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/plan/scratch_folder.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

using Clock = std::chrono::steady_clock;

/// Time limits for the other systems when one is lost, to end by themselves and after SIGTERM. They
/// normally end by themselves, because their connections end.
constexpr int kGraceMs = 4000;
constexpr int kTermMs = 4000;

sigset_t watched_signals() {
  return signals_among({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2});
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/// Returns the parent of every process, from /proc.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> parent_of;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr !=
            name.data() + name.size() ||
        pid == 0)
      continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    // The name in parentheses may contain any character. The state and the parent follow the last
    // parenthesis.
    const auto close = text.rfind(')');
    if (close == std::string::npos || close + 4 > text.size()) continue;
    parent_of[pid] = static_cast<pid_t>(std::strtol(text.c_str() + close + 4, nullptr, 10));
  }
  return parent_of;
}

std::vector<pid_t> descendants_of(pid_t root) {
  const auto parent_of = parents();
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : parent_of) {
    for (auto at = parent_of.find(pid); at != parent_of.end() && at->first != 1;
         at = parent_of.find(at->second)) {
      if (at->second != root) continue;
      found.push_back(pid);
      break;
    }
  }
  return found;
}

}  // namespace

Supervisor::Supervisor() {
  signals_ = watch_signals(watched_signals());
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);  // the loss of our output's reader is reported as other errors are
}

std::filesystem::path Supervisor::rank_output(ScratchFolder& scratch) {
  if (rank_output_) return rank_output_path_;
  auto folder = scratch.path();
  auto output = folder ? RankOutput::open(*folder / "output") : Result<RankOutput>(folder.error());
  if (!output) {
    log(LogArea::kStartup, LogLevel::kWarn, "{}; lines of different processes may mix",
        output.error().text);
    return {};
  }
  rank_output_ = std::move(*output);
  rank_output_path_ = *folder / "output";
  return rank_output_path_;
}

Result<void> Supervisor::fork_child(Child child, const std::function<void()>& body) {
  const pid_t parent = getpid();
  child.pid = fork();
  if (child.pid < 0)
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot start {}: {}", child.name, std::strerror(errno))};
  if (child.pid == 0) {
    if (child.own_group) setpgid(0, 0);
    // If impirun is killed and cannot clean up, its children get SIGTERM.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const sigset_t set = watched_signals();
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_DFL);
    if (getppid() == parent) body();
    _exit(127);
  }
  if (child.own_group) setpgid(child.pid, child.pid);
  children_.push_back(std::move(child));
  return {};
}

Result<void> Supervisor::start(const std::string& name, const LaunchPlan& plan, bool keeps_stdin) {
  return start_launcher(name, plan, keeps_stdin, Descriptor(), {});
}

Result<void> Supervisor::start(const std::string& name, const LaunchPlan& plan, Descriptor input,
                               OutputForwarder::LineFilter errors) {
  return start_launcher(name, plan, false, input, std::move(errors));
}

Result<void> Supervisor::start_launcher(const std::string& name, const LaunchPlan& plan,
                                        bool keeps_stdin, const Descriptor& input,
                                        OutputForwarder::LineFilter errors) {
  Child child;
  child.name = name;
  // A background process group may not read from the terminal.
  child.own_group = !keeps_stdin;
  Descriptor out;
  Descriptor err;
  if (!plan.prints_itself) {
    OutputForwarder::LineFilter filter;
    if (plan.tells_exit_codes) {
      child.codes = std::make_shared<HydraExitCodes>();
      filter = [codes = child.codes](std::string_view line) {
        const std::size_t begin = HydraExitCodes::begin(line);
        if (begin < line.size()) codes->read(line.substr(begin));
        return begin;
      };
    }
    OutputForwarder::Prefix prefix;
    // A launcher with input of its own is an impirun on another machine, which labels its lines.
    if (labels_ && !input.valid())
      prefix = [text = fmt::format("[{}] ", plan.system)] { return text; };
    auto opened_out = output_.open(STDOUT_FILENO, std::move(filter), prefix);
    if (!opened_out) return opened_out.error();
    auto opened_err = output_.open(STDERR_FILENO, std::move(errors), prefix);
    if (!opened_err) return opened_err.error();
    out = std::move(*opened_out);
    err = std::move(*opened_err);
  }
  return fork_child(std::move(child), [&] {
    if (input.valid()) {
      dup2(input.get(), STDIN_FILENO);
    } else if (!keeps_stdin) {
      const int nothing = open("/dev/null", O_RDONLY);
      if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    }
    if (out.valid()) dup2(out.get(), STDOUT_FILENO);
    if (err.valid()) dup2(err.get(), STDERR_FILENO);
    log(LogArea::kStartup, LogLevel::kError, "{}", execute(plan.words).text);
  });
}

Result<void> Supervisor::start(const std::string& name, const std::function<int()>& body) {
  Child child;
  child.name = name;
  child.serves = true;
  return fork_child(std::move(child), [&] { _exit(body()); });
}

bool Supervisor::any_running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.running; });
}

void Supervisor::reap() {
  int wait_status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    const auto child = std::find_if(children_.begin(), children_.end(),
                                    [&](const Child& each) { return each.pid == pid; });
    if (child == children_.end()) continue;  // an orphan from below impirun
    ended(*child, wait_status);
  }
}

void Supervisor::ended(Child& child, int wait_status) {
  child.running = false;
  if (on_end_) on_end_(child.name);
  if (child.serves) return server_ended(child, wait_status);
  pass_on_output();  // all text that a launcher prints about its processes has arrived now
  const int status = exit_status(wait_status);
  if (status == 0) return;
  const bool told = child.codes && child.codes->status.value_or(0) != 0;
  system_failed(child, told ? *child.codes->status : status, !told && WIFSIGNALED(wait_status));
}

/// Handles the end of the server. The systems need it only until they have joined.
void Supervisor::server_ended(const Child& child, int wait_status) {
  const int status = exit_status(wait_status);
  if (status == 0) return;
  server_status_ = kFailureStatus;
  if (!WIFSIGNALED(wait_status) && status == kLossStatus) return;  // it has told of the loss
  if (!WIFSIGNALED(wait_status) && status != kServerStatus) {
    ending_ = true;  // it has reported why there is no job
  } else if (!must_end()) {
    log(LogArea::kStartup, LogLevel::kError,
        "{} ended with {} {}; a job that has begun goes on without it", child.name,
        WIFSIGNALED(wait_status) ? "signal" : "status",
        WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : status);
  }
}

/// Notes the systems that the others go on without.
void Supervisor::read_losses() {
  std::uint8_t number = 0;
  while (losses_ >= 0 && recv(losses_, &number, sizeof(number), MSG_DONTWAIT) == 1) {
    std::size_t systems = 0;
    for (Child& child : children_) {
      if (!child.serves && systems++ == number) child.left_behind = true;
    }
  }
}

/// Returns true if all is to end.
bool Supervisor::must_end() const {
  return ending_ || std::ranges::any_of(children_, [](const Child& child) {
           return child.failed && !child.left_behind;
         });
}

void Supervisor::system_failed(Child& child, int status, bool by_signal) {
  // Systems that have lost another one end with kFailureStatus, possibly before that other one
  // ends.
  if (status_ == 0 || (status_ == kFailureStatus && !asked_to_end_)) status_ = status;
  read_losses();  // the server saw the end of its processes before that of their launcher
  if (!must_end() && !child.name.empty()) {
    log(LogArea::kStartup, LogLevel::kError, "{} ended with {} {}; {}", child.name,
        by_signal ? "signal" : "status", by_signal ? status - 128 : status,
        child.left_behind ? "the others go on" : "ending the job");
  }
  child.failed = true;
}

void Supervisor::read_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;
    if (number == SIGUSR1 || number == SIGUSR2) {
      for (const Child& child : children_) {
        if (child.running && !child.serves) kill(child.pid, number);
      }
      continue;
    }
    if (status_ == 0) status_ = 128 + number;
    // A second signal means that the user wants to end the job immediately.
    if (must_end()) kill_descendants();
    ending_ = true;
    signal_rest(SIGTERM);
  }
  reap();
}

/// Passes on output that has arrived. If standard output cannot be written, this is reported once.
/// If its reader is gone, the job is ended.
void Supervisor::pass_on_output() {
  if (rank_output_) {
    for (RankOutput::Stream& stream : rank_output_->take()) {
      OutputForwarder::Prefix prefix;
      if (labels_) prefix = [label = std::move(stream.label)] { return label->text(); };
      output_.add(std::move(stream.source), stream.target, std::move(prefix));
    }
  }
  output_.forward();
  if (!output_.failure() || output_status_ != 0) return;
  output_status_ = kFailureStatus;
  if (*output_.failure() != EPIPE) {
    log(LogArea::kStartup, LogLevel::kError,
        "cannot write standard output: {}; the job continues, and its output is lost",
        std::strerror(*output_.failure()));
    return;
  }
  log(LogArea::kStartup, LogLevel::kError,
      "cannot write standard output: its reader has gone; ending the job");
  if (status_ == 0) status_ = 128 + SIGPIPE;
  ending_ = true;
  signal_rest(SIGTERM);
}

/// Handles signals and output once, or returns after `timeout_ms` without any.
void Supervisor::wait_for_event(int timeout_ms) {
  std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}};
  if (rank_output_) polled.push_back({rank_output_->descriptor(), POLLIN, 0});
  if (losses_ >= 0) polled.push_back({losses_, POLLIN, 0});
  output_.add_to(polled);
  for (const Watched& each : watched_) polled.push_back({each.descriptor, each.events, 0});
  timeout_ms = bounded(timeout_ms);
  const bool impatient =
      output_.holds_back() && (timeout_ms < 0 || timeout_ms > OutputForwarder::kPatienceMs);
  const int ready =
      poll(polled.data(), polled.size(), impatient ? OutputForwarder::kPatienceMs : timeout_ms);
  if (ready == 0 && output_.holds_back()) output_.flush();
  end_if_late();
  if (on_tick_ && Clock::now() >= next_tick_) next_tick_ = Clock::now() + on_tick_();
  if (ready <= 0) return;
  read_losses();
  pass_on_output();
  if (polled.front().revents != 0) read_signal();
  call_watched(polled);
}

/// Calls the listeners of the watched descriptors, which stand at the end of `polled`.
void Supervisor::call_watched(const std::vector<pollfd>& polled) {
  const std::size_t first = polled.size() - watched_.size();
  for (std::size_t i = watched_.size(); i-- > 0;) {
    if (polled[first + i].revents == 0) continue;
    const auto at = watched_.begin() + static_cast<std::ptrdiff_t>(i);
    if (!at->listener()) watched_.erase(at);
  }
}

/// Returns the time to wait, until the next tick or the end of the job's time at most.
int Supervisor::bounded(int timeout_ms) const {
  const auto until = [](Clock::time_point when) {
    return static_cast<int>(std::max<std::int64_t>(
        std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count(), 0));
  };
  const auto smaller = [](int a, int b) { return a < 0 ? b : std::min(a, b); };
  if (on_tick_) timeout_ms = smaller(timeout_ms, until(next_tick_));
  if (deadline_) timeout_ms = smaller(timeout_ms, until(*deadline_));
  return timeout_ms;
}

void Supervisor::end_if_late() {
  if (!deadline_ || Clock::now() < *deadline_) return;
  deadline_.reset();
  log(LogArea::kStartup, LogLevel::kError,
      "the job has not ended within {} s (-timeout); ending it", limit_s_);
  end_job(kTimeoutStatus);
}

void Supervisor::end_job(int status) {
  if (status_ == 0) status_ = status;
  ending_ = true;
  signal_rest(SIGTERM);
}

void Supervisor::signal_rest(int signal) {
  asked_to_end_ = true;
  for (const Child& child : children_) {
    if (child.running) kill(child.own_group ? -child.pid : child.pid, signal);
  }
}

void Supervisor::kill_descendants() {
  for (const pid_t pid : descendants_of(getpid())) kill(pid, SIGKILL);
}

/// Ends what still runs. Returns early if it turns out that the systems go on.
void Supervisor::end_rest() {
  const auto wait_until = [this](Clock::time_point deadline) {
    while (any_running() && Clock::now() < deadline && (asked_to_end_ || must_end())) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      wait_for_event(static_cast<int>(std::max<std::int64_t>(left, 0)) + 1);
    }
  };
  wait_until(Clock::now() + std::chrono::milliseconds(kGraceMs));
  if (!asked_to_end_ && !must_end()) return;
  signal_rest(SIGTERM);
  wait_until(Clock::now() + std::chrono::milliseconds(kTermMs));
}

int Supervisor::wait_for_all() {
  reap();
  while (any_running()) {
    if (must_end()) {
      end_rest();
      if (must_end()) break;
    } else {
      wait_for_event(-1);
    }
  }
  // The remaining processes below impirun have lost their launcher.
  kill_descendants();
  while (waitpid(-1, nullptr, 0) > 0) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    kill_descendants();  // one may have started another before it was killed
  }
  pass_on_output();
  output_.flush();
  pass_on_output();
  for (const int status : {status_, server_status_, output_status_}) {
    if (status != 0) return status;
  }
  return 0;
}

}  // namespace impishim::launch
