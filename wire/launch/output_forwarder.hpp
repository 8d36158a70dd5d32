/// What started programs print, passed on line by line: lines of several systems do not mix.
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::launch {

/// Pipes from programs to this process's own standard output and error. Whole lines are passed on
/// at once. What has no end of line yet waits for it; on a terminal, where it may be a prompt, for
/// kPatienceMs at most.
class OutputForwarder {
 public:
  static constexpr int kPatienceMs = 50;
  /// Sees each whole line; returns how many of its first bytes are passed on. All of them: its end
  /// of line as well.
  using LineFilter = std::function<std::size_t(std::string_view line)>;

  /// The end that a program writes to; what it writes goes to `target` (STDOUT_FILENO,
  /// STDERR_FILENO).
  [[nodiscard]] Result<Descriptor> open(int target, LineFilter filter = {});
  /// Reads from `source` as well, which is a pipe or the controlling side of a terminal.
  void add(Descriptor source, int target);

  /// Adds the pipes to what a caller polls.
  void add_to(std::vector<pollfd>& polled) const;
  /// True if something for a terminal waits for the rest of its line: poll for kPatienceMs at most,
  /// and call flush() if nothing came.
  [[nodiscard]] bool holds_back() const;
  /// Passes on what has come.
  void forward();
  /// Passes on what is held back.
  void flush();
  /// errno of the first write to standard output that failed. What comes after that is read and
  /// lost, so that programs go on.
  [[nodiscard]] std::optional<int> failure() const { return failure_; }

 private:
  struct Pipe {
    Descriptor source;
    int target = -1;
    std::string begun;  ///< a line without its end
    LineFilter filter;
  };

  void read_all(Pipe& pipe);
  void flush(Pipe& pipe);
  void pass_on(const Pipe& pipe, std::string_view lines);
  void write_all(int target, std::string_view text);

  std::vector<Pipe> pipes_;
  std::optional<int> failure_;
};

}  // namespace impishim::launch
