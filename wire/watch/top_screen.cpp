// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/top_screen.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/process/process.hpp"
#include "wire/watch/top_report.hpp"

namespace impishim::wire {
namespace {

constexpr std::string_view kSecondScreen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kFirstScreen = "\x1b[?25h\x1b[?1049l";

/// A terminal that cannot be written to has gone; the next read sees its end.
void show_text(std::string_view text) { static_cast<void>(write_all(STDOUT_FILENO, text)); }

sigset_t handled_signals() { return signals_among({SIGINT, SIGTERM, SIGHUP, SIGWINCH}); }

}  // namespace

Result<TopScreen> TopScreen::open() {
  TopScreen screen;
  termios now{};
  if (isatty(STDOUT_FILENO) == 0 || tcgetattr(STDIN_FILENO, &now) != 0)
    return Error{ErrorKind::kConfiguration,
                 "-top needs a terminal; with -once it prints one table, with -once -json its "
                 "numbers"};
  screen.signals_ = watch_signals(handled_signals());
  if (!screen.signals_.valid())
    return Error{ErrorKind::kSystem, fmt::format("signalfd: {}", std::strerror(errno))};
  screen.before_ = now;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &now);
  show_text(kSecondScreen);
  return screen;
}

TopScreen::TopScreen(TopScreen&& other) noexcept
    : before_(std::exchange(other.before_, std::nullopt)), signals_(std::move(other.signals_)) {}

TopScreen::~TopScreen() {
  if (!before_) return;
  show_text(kFirstScreen);
  tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  const sigset_t signals = handled_signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

void TopScreen::show(const std::vector<std::string>& lines) const {
  winsize size{};
  constexpr unsigned short kRows = 24;
  constexpr unsigned short kColumns = 80;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = kRows;
    size.ws_col = kColumns;
  }
  show_text(screen_update(lines, size.ws_row, size.ws_col));
}

bool TopScreen::ended_within(std::chrono::milliseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
    const int count =
        poll(ready.data(), ready.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (count < 0 && errno != EINTR) return true;
    if (count == 0) return false;
    if ((ready[0].revents & (POLLIN | POLLHUP)) != 0) {
      char key = 0;
      if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q') return true;
    }
    if ((ready[1].revents & POLLIN) != 0) {
      signalfd_siginfo signal{};
      if (read(signals_.get(), &signal, sizeof(signal)) != sizeof(signal)) return true;
      return signal.ssi_signo != static_cast<std::uint32_t>(SIGWINCH);
    }
  }
}

}  // namespace impishim::wire
