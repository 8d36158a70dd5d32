/// Child processes of impirun: started in groups of their own, watched together, and ended
/// together.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/hydra_exit_codes.hpp"
#include "wire/launch/launch_plan.hpp"
#include "wire/launch/output_forwarder.hpp"
#include "wire/launch/rank_output.hpp"
#include "wire/launch/scratch_folder.hpp"

namespace impishim::launch {

/// Exit statuses of impirun besides the program's.
constexpr int kUsageStatus = 2;    ///< what the user asked cannot be done
constexpr int kFailureStatus = 1;  ///< it was begun and failed
/// Of the rendezvous server's process: it cannot go on, and nothing is known of the job.
constexpr int kServerStatus = 3;

/// Starts and watches children. While it lives, SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1 and
/// SIGUSR2 come to it alone, and processes that lose their parent below impirun become its
/// children, so that none is left behind. The last two go on to the launchers.
class Supervisor {
 public:
  Supervisor();

  /// Called with the name of each child that ends while the others may still run.
  void on_end(std::function<void(const std::string& name)> listener) {
    on_end_ = std::move(listener);
  }
  /// Opens a RankOutput in `scratch`, if there is none yet, and returns its path; what ranks hand
  /// over there is passed on line by line. Returns an empty path if it cannot be had: ranks then
  /// print as their launcher does.
  [[nodiscard]] std::filesystem::path rank_output(ScratchFolder& scratch);
  /// Starts a launcher; `name` is for messages ("system 1"), empty for a single one that speaks for
  /// itself. `keeps_stdin`: others read nothing; it stays in the terminal's foreground.
  [[nodiscard]] Result<void> start(const std::string& name, const LaunchPlan& plan,
                                   bool keeps_stdin);
  /// Runs `body` in a child; its return value is the exit status. It serves the others: their
  /// statuses count before its own, and it says itself why it fails. If it cannot go on (a signal,
  /// kServerStatus), a job that has begun does.
  [[nodiscard]] Result<void> start(const std::string& name, const std::function<int()>& body);

  /// Waits until all children have ended, or one has failed or a signal has come: then the rest get
  /// a few seconds to end by themselves, are asked to (SIGTERM), and are killed. Returns the exit
  /// status for impirun: 0, or that of the child whose failure seems to be the first cause.
  [[nodiscard]] int wait_for_all();

 private:
  struct Child {
    pid_t pid = 0;
    std::string name;
    bool serves = false;
    bool own_group = true;
    bool running = true;
    std::shared_ptr<HydraExitCodes>
        codes;  ///< null: the launcher's own status is all that is known
  };

  [[nodiscard]] Result<void> fork_child(Child child, const std::function<void()>& body);
  void reap();
  void ended(Child& child, int wait_status);
  void server_ended(const Child& child, int wait_status);
  void system_failed(const Child& child, int status, bool by_signal);
  void read_signal();
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
  int status_ = 0;         ///< of the systems, or of a signal from outside
  int server_status_ = 0;  ///< counts after that, and so does:
  int output_status_ = 0;
  bool ending_ = false;
  bool asked_to_end_ =
      false;  ///< SIGTERM has been sent: how children end from now on tells nothing
};

}  // namespace impishim::launch
