/// Threads of the library's own in somebody else's program.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace impishim {

/// Starts a thread that `function` runs on, called `name` (at most 15 characters) in debuggers and
/// top. It takes no signals: the program's handlers run on the program's threads. Throws
/// std::system_error where no thread can be made.
template <class Function>
[[nodiscard]] std::thread quiet_thread(const char* name, Function&& function) {
  /// A new thread inherits the mask of the one that makes it.
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
