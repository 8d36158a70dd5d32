// SPDX-License-Identifier: Apache-2.0
/// Output of started programs, passed on line by line, so that lines of several systems do not mix.
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

/// Pipes from programs to this process's own standard output and error. Complete lines are passed
/// on immediately. An incomplete line is held until its end arrives. On a terminal, where it may be
/// a prompt, it is held for at most kPatienceMs.
class OutputForwarder {
 public:
  static constexpr int kPatienceMs = 50;
  /// Receives each complete line. Returns the number of its first bytes to pass on. If that is all
  /// of them, the end of line is passed on too.
  using LineFilter = std::function<std::size_t(std::string_view line)>;

  /// Returns the text before a line; called when the line is passed on.
  using Prefix = std::function<std::string()>;

  /// Returns the end of a pipe for a program to write to. The output goes to `target`
  /// (STDOUT_FILENO, STDERR_FILENO).
  [[nodiscard]] Result<Descriptor> open(int target, LineFilter filter = {}, Prefix prefix = {});
  /// Adds `source`, which is a pipe or the controlling side of a terminal.
  void add(Descriptor source, int target, Prefix prefix = {});

  /// Appends the pipes to the descriptors that the caller polls.
  void add_to(std::vector<pollfd>& polled) const;
  /// Returns true if an incomplete line for a terminal is held. The caller must then poll for at
  /// most kPatienceMs, and call flush() if nothing arrived.
  [[nodiscard]] bool holds_back() const;
  /// Passes on what has arrived.
  void forward();
  /// Passes on incomplete lines.
  void flush();
  /// Returns errno of the first failed write to standard output. Later output is read and dropped,
  /// so that programs continue.
  [[nodiscard]] std::optional<int> failure() const { return failure_; }

 private:
  struct Pipe {
    Descriptor source;
    int target = -1;
    std::string begun;  ///< an incomplete line
    LineFilter filter;
    Prefix prefix;
    bool inside_line = false;  ///< true if the beginning of a line has been passed on
  };

  void read_all(Pipe& pipe);
  void flush(Pipe& pipe);
  void pass_on(Pipe& pipe, std::string_view lines);
  void write_all(int target, std::string_view text);

  std::vector<Pipe> pipes_;
  std::optional<int> failure_;
};

}  // namespace impishim::launch
