// SPDX-License-Identifier: Apache-2.0
/// Threads that the library runs inside the user's program.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace impishim {

/// Starts a thread that runs `function`. Debuggers and top show it as `name` (at most 15
/// characters). The thread receives no signals, so the program's handlers run on the program's
/// threads. Throws std::system_error if the thread cannot be created.
template <class Function>
[[nodiscard]] std::thread quiet_thread(const char* name, Function&& function) {
  /// A new thread inherits the signal mask of the thread that creates it.
  class AllBlocked {
   public:
    AllBlocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllBlocked(const AllBlocked&) = delete;
    AllBlocked& operator=(const AllBlocked&) = delete;

   private:
    sigset_t before_{};
  };
  const AllBlocked blocked;
  std::thread made(std::forward<Function>(function));
  pthread_setname_np(made.native_handle(), name);
  return made;
}

}  // namespace impishim
