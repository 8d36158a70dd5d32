// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/batch_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

/// More than any batch system prints before the job's number.
constexpr std::size_t kMostText = 65536;

sigset_t watched_signals() { return signals_among({SIGCHLD, SIGINT, SIGTERM, SIGHUP}); }

/// Starts a command. Its standard output goes to `out`, if that is valid.
Result<pid_t> start(const std::vector<std::string>& command, const Descriptor& out) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return call_failed("start " + command.front());
  if (child > 0) return child;
  // A signal for this process's group is for this process alone, which then cancels the job.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const sigset_t set = watched_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  if (out.valid()) dup2(out.get(), STDOUT_FILENO);
  if (getppid() == parent) dprintf(STDERR_FILENO, "impirun: %s\n", execute(command).text.c_str());
  _exit(127);
}

/// A submitted job and the command that waits for it.
class BatchJob {
 public:
  explicit BatchJob(std::string cancel) : cancel_(std::move(cancel)) {}

  Result<int> run(const std::vector<std::string>& submit) {
    signals_ = watch_signals(watched_signals());
    std::array<int, 2> ends{-1, -1};
    if (!signals_.valid() || pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
      return call_failed("make a pipe");
    printed_ = Descriptor(ends[0]);
    {
      const Descriptor writer(ends[1]);
      // Only this end is not to block.
      fcntl(writer.get(), F_SETFL, 0);
      auto started = start(submit, writer);
      if (!started) return started.error();
      child_ = *started;
    }
    while (!status_) {
      auto went_on = step();
      if (!went_on) return went_on.error();
    }
    return *status_;
  }

 private:
  /// Waits for an event and handles it.
  Result<void> step() {
    std::array<pollfd, 2> polled{{{signals_.get(), POLLIN, 0}, {printed_.get(), POLLIN, 0}}};
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return call_failed("poll");
    if (polled[1].revents != 0) read_number();
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      if (info.ssi_signo != SIGCHLD && signal_ == 0) signal_ = static_cast<int>(info.ssi_signo);
    }
    // A job without a number cannot be canceled yet.
    if (signal_ != 0 && !number_.empty()) return cancel();
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) != child_) return {};
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (signal_ != 0) status_ = 128 + signal_;
    return {};
  }

  /// Reads what the submitting command prints. Tells the job's number once.
  void read_number() {
    std::array<char, 512> buffer{};
    const auto size = read(printed_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      printed_ = Descriptor();  // poll() passes it over
    } else if (number_.empty() && text_.size() < kMostText) {
      text_.append(buffer.data(), static_cast<std::size_t>(size));
    }
    // A number may arrive in two pieces.
    if (!number_.empty() || (size > 0 && text_.find('\n') == std::string::npos)) return;
    number_ = batch_job_number(text_);
    if (!number_.empty())
      std::fprintf(stderr, "impirun: batch job %s\n", printable(number_).c_str());
  }

  /// Cancels the job, and ends the command that waits for it.
  Result<void> cancel() {
    auto canceling = start({cancel_, number_}, Descriptor());
    if (!canceling) return canceling.error();
    int status = 0;
    while (waitpid(*canceling, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0)
      std::fprintf(stderr, "impirun: %s %s has failed; the batch job may still run\n",
                   cancel_.c_str(), number_.c_str());
    kill(child_, SIGTERM);
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    status_ = 128 + signal_;
    return {};
  }

  std::string cancel_;
  Descriptor signals_;
  Descriptor printed_;  ///< not valid once the submitting command has closed it
  pid_t child_ = -1;
  std::string text_;
  std::string number_;
  int signal_ = 0;
  std::optional<int> status_;
};

}  // namespace

std::string batch_job_number(std::string_view printed) {
  std::istringstream words{std::string(printed)};
  for (std::string word; words >> word;) {
    if (std::isdigit(static_cast<unsigned char>(word.front())) == 0) continue;
    return word.substr(0, word.find(';'));
  }
  return {};
}

Result<int> run_batch_process(const std::vector<std::string>& words) {
  if (words.size() < 2)
    return Error{ErrorKind::kConfiguration,
                 "-batch-job is for impirun's own use, for sbatch and "
                 "qsub"};
  return BatchJob(words.front()).run({words.begin() + 1, words.end()});
}

}  // namespace impishim::launch
