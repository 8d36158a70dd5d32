// SPDX-License-Identifier: Apache-2.0
/// A terminal that is written again and again until the user ends it.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

/// Takes the terminal of standard output, on its second screen, and of standard input. The
/// destructor gives both back. While it exists, SIGINT, SIGTERM, SIGHUP and SIGWINCH are blocked.
class TopScreen {
 public:
  /// Fails with kConfiguration if standard input and output are no terminal.
  [[nodiscard]] static Result<TopScreen> open();
  TopScreen(TopScreen&& other) noexcept;
  TopScreen& operator=(TopScreen&&) = delete;
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;
  ~TopScreen();

  /// Shows the lines, as many as there is room for.
  void show(const std::vector<std::string>& lines) const;
  /// Waits for `time`, or until the size of the terminal changes. Returns true if the user has
  /// ended it: with q, Ctrl-C or a signal.
  [[nodiscard]] bool ended_within(std::chrono::milliseconds time) const;

 private:
  TopScreen() = default;

  std::optional<termios> before_;  ///< nothing: moved from
  Descriptor signals_;
};

}  // namespace impishim::wire
