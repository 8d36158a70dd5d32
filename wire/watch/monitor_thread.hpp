// SPDX-License-Identifier: Apache-2.0
/// The thread of a process that tells the process's state to programs that ask through the
/// rendezvous server, also while the program hangs in a call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/server_stream.hpp"

namespace impishim::wire {

/// Keeps a connection to the rendezvous server, and makes a lost one again. The thread sleeps while
/// there is no question, except for a look at the connection every three seconds. It never calls
/// MPI.
class MonitorThread {
 public:
  /// Returns the parts of the state that a question wants. Called on this object's thread.
  using Describe = std::function<ProcessState(std::uint32_t wants)>;

  /// Starts the thread. The credentials are read from the environment for each connection, so that
  /// they need not stay in memory. The first failure is told on standard error.
  MonitorThread(std::string server, const MonitorHello& hello, Describe describe);
  /// Ends the connection and the thread.
  ~MonitorThread();
  MonitorThread(const MonitorThread&) = delete;
  MonitorThread& operator=(const MonitorThread&) = delete;

  /// Closes the connection in a child of fork(), which must use nothing else of this object.
  /// Async-signal-safe.
  void close_in_forked_child();

 private:
  void run();
  [[nodiscard]] Result<void> serve();
  [[nodiscard]] Result<void> answer(ServerStream& stream, const StartupMessage& message);
  [[nodiscard]] bool stopped_within(int ms);

  std::string server_;
  MonitorHello hello_;
  Describe describe_;
  std::atomic<int> socket_{-1};  ///< of the present connection, whose owner is the thread
  Mutex mutex_;
  Condition changed_;
  bool stop_ IMPISHIM_GUARDED_BY(mutex_) = false;
  bool told_ = false;  ///< of a failure
  bool refused_ = false;
  std::thread thread_;
};

}  // namespace impishim::wire
