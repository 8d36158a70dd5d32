// SPDX-License-Identifier: Apache-2.0
/// The child processes of impirun: started in process groups of their own, supervised together and
/// ended together.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/output/hydra_exit_codes.hpp"
#include "wire/launch/output/output_forwarder.hpp"
#include "wire/launch/output/rank_output.hpp"
#include "wire/launch/plan/launch_plan.hpp"
#include "wire/launch/plan/scratch_folder.hpp"

namespace impishim::launch {

/// Exit statuses of impirun in addition to the program's.
constexpr int kUsageStatus = 2;    ///< the user's request cannot be executed
constexpr int kFailureStatus = 1;  ///< the job was started and failed
/// Exit status of the rendezvous server's process if it cannot continue and knows nothing about the
/// job.
constexpr int kServerStatus = 3;
/// Exit status of that process if a system was lost and the others have finished without it.
constexpr int kLossStatus = 4;
/// Exit status of impirun if -timeout has ended the job; timeout(1) has the same.
constexpr int kTimeoutStatus = 124;

/// Starts and supervises children. While it exists, only it receives SIGCHLD, SIGINT, SIGTERM,
/// SIGHUP, SIGUSR1 and SIGUSR2, apart from those that the process has ignored. SIGUSR1 and SIGUSR2
/// are passed on to the launchers. Processes below impirun that lose their parent become children
/// of impirun, so that none is left behind.
class Supervisor {
 public:
  Supervisor();

  /// Sets a function that is called with the name of each child that ends while others may still
  /// run.
  void on_end(std::function<void(const std::string& name)> listener) {
    on_end_ = std::move(listener);
  }
  /// Ends the job `seconds` after now, with status kTimeoutStatus.
  void limit_time(int seconds) {
    deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    limit_s_ = seconds;
  }
  /// Begins each line of the ranks, and of systems' launchers, with a label.
  void label_output() { labels_ = true; }
  /// Sets a function that is called now and then while the job runs, and that returns the time
  /// until it wants to be called again.
  void on_tick(std::function<std::chrono::milliseconds()> listener) {
    on_tick_ = std::move(listener);
  }
  /// Adds a descriptor; `listener` is called when it can be read or has lost its other end, and
  /// returns false if it is to be called no more.
  void watch(int descriptor, short events, std::function<bool()> listener) {
    watched_.push_back({descriptor, events, std::move(listener)});
  }
  /// Ends the job as a signal from outside does; `status` is then the exit status unless a system
  /// has failed before.
  void end_job(int status);

  /// Sets a socket; each byte read from it is the number of a system that is lost and that the
  /// others go on without: its failure then does not end them. Systems are numbered in the order in
  /// which they are started.
  void watch_losses(int socket) { losses_ = socket; }
  /// Opens a RankOutput in `scratch`, if there is none yet, and returns its path. Output that ranks
  /// hand over there is passed on line by line. Returns an empty path on failure; then ranks print
  /// through their launcher.
  [[nodiscard]] std::filesystem::path rank_output(ScratchFolder& scratch);
  /// Starts a launcher. `name` is used in messages ("system 1"); it is empty for a single launcher,
  /// which needs no name. If `keeps_stdin`, the launcher keeps the standard input and stays in the
  /// terminal's foreground; other launchers read nothing.
  [[nodiscard]] Result<void> start(const std::string& name, const LaunchPlan& plan,
                                   bool keeps_stdin);
  /// Starts a launcher that reads `input`. Each line of its standard error passes `errors` first.
  [[nodiscard]] Result<void> start(const std::string& name, const LaunchPlan& plan,
                                   Descriptor input, OutputForwarder::LineFilter errors);
  /// Runs `body` in a child, whose exit status is the result of `body`. This child serves the
  /// others. Their statuses have priority over its own, and it reports by itself why it fails. If
  /// it cannot continue (a signal, kServerStatus), a job that has begun continues.
  [[nodiscard]] Result<void> start(const std::string& name, const std::function<int()>& body);

  /// Waits until all children have ended, one has failed without which the others do not go on, or
  /// a signal has arrived. In the last two
  /// cases the others get a few seconds to end by themselves, then get SIGTERM, and are finally
  /// killed. Returns the exit status for impirun: 0, or the status of the child whose failure is
  /// probably the first cause.
  [[nodiscard]] int wait_for_all();

 private:
  struct Child {
    pid_t pid = 0;
    std::string name;
    bool serves = false;
    bool own_group = true;
    bool running = true;
    bool failed = false;
    bool left_behind = false;  ///< the others go on without it
    /// Null if only the launcher's own status is known.
    std::shared_ptr<HydraExitCodes> codes;
  };

  [[nodiscard]] Result<void> start_launcher(const std::string& name, const LaunchPlan& plan,
                                            bool keeps_stdin, const Descriptor& input,
                                            OutputForwarder::LineFilter errors);
  [[nodiscard]] Result<void> fork_child(Child child, const std::function<void()>& body);
  void reap();
  void ended(Child& child, int wait_status);
  void server_ended(const Child& child, int wait_status);
  void system_failed(Child& child, int status, bool by_signal);
  void read_losses();
  [[nodiscard]] bool must_end() const;
  struct Watched {
    int descriptor = -1;
    short events = 0;
    std::function<bool()> listener;
  };

  void read_signal();
  void end_if_late();
  void call_watched(const std::vector<pollfd>& polled);
  [[nodiscard]] int bounded(int timeout_ms) const;
  void pass_on_output();
  [[nodiscard]] bool any_running() const;
  void end_rest();
  void signal_rest(int signal);
  void wait_for_event(int timeout_ms);
  void kill_descendants();

  Descriptor signals_;
  OutputForwarder output_;
  std::optional<RankOutput> rank_output_;
  std::filesystem::path rank_output_path_;
  std::vector<Child> children_;
  std::function<void(const std::string&)> on_end_;
  std::function<std::chrono::milliseconds()> on_tick_;
  std::chrono::steady_clock::time_point next_tick_;
  std::vector<Watched> watched_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  int limit_s_ = 0;
  bool labels_ = false;
  int losses_ = -1;
  int status_ = 0;  ///< of the systems, or of a signal from outside
  /// Has lower priority than status_; so has output_status_, which is the lowest.
  int server_status_ = 0;
  int output_status_ = 0;
  bool ending_ = false;  ///< also for another reason than a failed system
  /// True if SIGTERM has been sent; from then on, the exit statuses of children do not show the
  /// cause.
  bool asked_to_end_ = false;
};

}  // namespace impishim::launch
