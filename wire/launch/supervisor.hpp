/// Child processes of impirun: started in groups of their own, watched together, and ended together.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/launch/output_forwarder.hpp"

namespace impishim::launch {

/// Starts and watches children. While it lives, SIGCHLD, SIGINT, SIGTERM and SIGHUP come to it alone, and processes that lose
/// their parent below impirun become its children, so that none is left behind.
class Supervisor {
 public:
  Supervisor();

  /// Called with the name of each child that ends while the others may still run.
  void on_end(std::function<void(const std::string& name)> listener) { on_end_ = std::move(listener); }
  /// Starts a command; `name` is for messages ("system 1"). What it prints is passed on line by line. `keeps_stdin`: others
  /// read nothing; it stays in the terminal's foreground.
  [[nodiscard]] Result<void> start(const std::string& name, const std::vector<std::string>& command, bool keeps_stdin);
  /// Runs `body` in a child; its return value is the exit status. It serves the others and says itself why it fails: their
  /// statuses count before its own, and it gets a moment to see how they end.
  [[nodiscard]] Result<void> start(const std::string& name, const std::function<int()>& body);

  /// Waits until all children have ended, or one has failed or a signal has come: then the rest get a few seconds to end by
  /// themselves, are asked to (SIGTERM), and are killed. Returns the exit status for impirun: 0, or that of the first failure.
  [[nodiscard]] int wait_for_all();

 private:
  struct Child {
    pid_t pid = 0;
    std::string name;
    bool serves = false;
    bool own_group = true;
    bool running = true;
  };

  [[nodiscard]] Result<void> fork_child(Child child, const std::function<void()>& body);
  void reap();
  void ended(Child& child, int wait_status);
  void read_signal();
  [[nodiscard]] bool any_running() const;
  void end_rest();
  void signal_rest(int signal);
  void wait_for_event(int timeout_ms);
  void kill_descendants();

  Descriptor signals_;
  OutputForwarder output_;
  std::vector<Child> children_;
  std::function<void(const std::string&)> on_end_;
  int status_ = 0;
  int server_status_ = 0;
  bool ending_ = false;
};

}  // namespace impishim::launch
