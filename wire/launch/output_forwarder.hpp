/// What started programs print, passed on line by line: lines of several systems do not mix.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::launch {

/// Pipes from programs to this process's own standard output and error. Whole lines are passed on at once; what has no end of
/// line yet (a prompt) after kPatienceMs without more.
class OutputForwarder {
 public:
  static constexpr int kPatienceMs = 50;

  /// The end that a program writes to; what it writes goes to `target` (STDOUT_FILENO, STDERR_FILENO).
  [[nodiscard]] Result<Descriptor> open(int target);

  /// Adds the pipes to what a caller polls.
  void add_to(std::vector<pollfd>& polled) const;
  /// True if something waits for the rest of its line: poll for kPatienceMs at most, and call flush() if nothing came.
  [[nodiscard]] bool holds_back() const;
  /// Passes on what has come.
  void forward();
  /// Passes on what is held back.
  void flush();

 private:
  struct Pipe {
    Descriptor source;
    int target = -1;
    std::string begun;  ///< a line without its end
  };

  static void read_all(Pipe& pipe);

  std::vector<Pipe> pipes_;
};

}  // namespace impishim::launch
