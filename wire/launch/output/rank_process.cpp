// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/rank_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/output/output_forwarder.hpp"
#include "wire/launch/output/rank_label.hpp"
#include "wire/launch/output/rank_output.hpp"
#include "wire/launch/output/rank_request.hpp"
#include "wire/process/process.hpp"

namespace impishim::launch {
namespace {

/// Replaces one of this process's outputs by a file.
Result<void> write_to_file(const std::string& pattern, const RankOutputRequest& request,
                           int target) {
  if (pattern.empty()) return {};
  const auto name = expand_output_pattern(pattern, request, native_rank(), node_name());
  if (!name) return name.error();
  // Open MPI closes the standard input of a process that has closed both of its outputs.
  if (fcntl(target, F_DUPFD, kOutOfTheWay) < 0) return call_failed("keep an output open");
  constexpr mode_t kAll = 0666;  // the user's umask decides
  const Descriptor file(
      ::open(name->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kAll));
  if (!file.valid() || dup2(file.get(), target) < 0) return call_failed("write " + *name);
  return {};
}

/// A program whose lines this process labels.
class LabelledProgram {
 public:
  explicit LabelledProgram(const RankOutputRequest& request)
      : label_(std::make_shared<RankLabel>(request.system, request.first_rank, native_rank(),
                                           open_rank_pipe())) {}

  Result<int> run(const RankOutputRequest& request, const std::vector<std::string>& command) {
    const sigset_t set = signals_among({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2});
    signals_ = watch_signals(set);
    if (!signals_.valid()) return call_failed("watch signals");
    const auto prefix = [label = label_] { return label->text(); };
    // A stream that goes to a file has no labels.
    auto out = request.out_pattern.empty() ? output_.open(STDOUT_FILENO, {}, prefix)
                                           : Result<Descriptor>(Descriptor());
    if (!out) return out.error();
    auto err = request.error_pattern.empty() ? output_.open(STDERR_FILENO, {}, prefix)
                                             : Result<Descriptor>(Descriptor());
    if (!err) return err.error();
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ < 0) return call_failed("start " + command.front());
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      sigprocmask(SIG_UNBLOCK, &set, nullptr);
      if (out->valid()) dup2(out->get(), STDOUT_FILENO);
      if (err->valid()) dup2(err->get(), STDERR_FILENO);
      if (getppid() == parent) dprintf(STDERR_FILENO, "%s\n", execute(command).text.c_str());
      _exit(127);
    }
    *out = Descriptor();
    *err = Descriptor();
    return wait();
  }

 private:
  Result<int> wait() {
    std::optional<int> status;
    while (!status) {
      std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}};
      output_.add_to(polled);
      poll(polled.data(), polled.size(), -1);
      output_.forward();
      status = read_signals();
    }
    output_.forward();
    output_.flush();
    if (!WIFSIGNALED(*status)) return WEXITSTATUS(*status);
    // Ends like the program, since launchers tell signals from statuses.
    signal(WTERMSIG(*status), SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(*status));
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(WTERMSIG(*status));
    return 128 + WTERMSIG(*status);
  }

  /// Passes on signals. Returns the program's status if it has ended.
  std::optional<int> read_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      if (info.ssi_signo != SIGCHLD) kill(child_, static_cast<int>(info.ssi_signo));
    }
    int status = 0;
    return waitpid(child_, &status, WNOHANG) == child_ ? std::optional<int>(status) : std::nullopt;
  }

  std::shared_ptr<RankLabel> label_;
  OutputForwarder output_;
  Descriptor signals_;
  pid_t child_ = -1;
};

}  // namespace

Result<int> run_rank_process(const std::vector<std::string>& words) {
  std::size_t taken = 0;
  auto request = RankOutputRequest::parse(words, taken);
  if (!request) return request.error();
  const std::vector<std::string> command(words.begin() + static_cast<std::ptrdiff_t>(taken),
                                         words.end());
  if (command.empty())
    return Error{ErrorKind::kConfiguration, "-rank-output needs a program to run"};
  const bool handed_over = !request->socket.empty() && hand_over_output(*request);
  auto written = write_to_file(request->out_pattern, *request, STDOUT_FILENO);
  if (written) written = write_to_file(request->error_pattern, *request, STDERR_FILENO);
  if (!written) return written.error();
  const bool both_in_files = !request->out_pattern.empty() && !request->error_pattern.empty();
  if (request->label && !handed_over && !both_in_files)
    return LabelledProgram(*request).run(*request, command);
  return execute(command);
}

}  // namespace impishim::launch
