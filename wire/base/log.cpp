// SPDX-License-Identifier: Apache-2.0
#include "wire/base/log.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/log_settings.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/output_file.hpp"
#include "wire/base/result.hpp"

namespace impishim {
namespace {

/// Bytes of lines that wait for the file until the rank is known.
constexpr std::size_t kMostWaiting = std::size_t{1} << 16U;

void write_to(int descriptor, std::string_view text) {
  // A short or failed write to standard error cannot be reported anywhere.
  [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
}

/// Lines in memory, of which the oldest are dropped.
class LineBuffer {
 public:
  void put(std::string line, std::size_t most_bytes) {
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    for (; bytes_ > most_bytes && !lines_.empty(); lines_.pop_front())
      bytes_ -= lines_.front().size();
  }
  [[nodiscard]] std::deque<std::string> take() {
    bytes_ = 0;
    return std::exchange(lines_, {});
  }

 private:
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
};

std::string time_text() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  constexpr int kFirstYear = 1900;
  constexpr long kNanoseconds = 1000;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + kFirstYear,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     now.tv_nsec / kNanoseconds);
}

std::string host_text() {
  std::string name = node_name();
  return name.empty() ? "-" : name;
}

/// The log of this process.
class Log {
 public:
  void configure(LogSettings settings) {
    const MutexLock lock(mutex_);
    if (settings.file != settings_.file) {
      file_.reset();
      file_failed_ = false;
    }
    settings_ = std::move(settings);
    read_ = true;
    publish_locked();
  }

  Result<void> configure_from_environment() {
    auto settings = LogSettings::from_environment();
    if (!settings) return settings.error();
    configure(std::move(*settings));
    return {};
  }

  LogSettings settings() {
    read_if_unread();
    const MutexLock lock(mutex_);
    return settings_;
  }

  void set_name(std::string_view prefix, std::string_view process) {
    const MutexLock lock(mutex_);
    prefix_ = prefix;
    process_ = process;
  }

  void set_place(std::int32_t system, std::int32_t rank) {
    const MutexLock lock(mutex_);
    system_ = system;
    rank_ = rank;
    if (rank_ >= 0) process_ = fmt::format("{}", rank_);
    publish_locked();
  }

  void line(LogArea area, LogLevel level, std::string_view text, bool always) {
    read_if_unread();
    const MutexLock lock(mutex_);
    const std::string full = fmt::format("{} system {} rank {} host {} {} {}: {}\n", time_text(),
                                         number_or_dash(system_), number_or_dash(rank_), host_,
                                         name_of(area), name_of(level), text);
    if (settings_.buffer_bytes > 0) buffer_.put(full, settings_.buffer_bytes);
    const bool recorded = level <= level_locked(area);
    if (always || (recorded && level <= settings_.shown()))
      write_to(STDERR_FILENO, settings_.levels ? full : plain_locked(level, text));
    if ((always || recorded) && !settings_.file.empty() && has_file_locked())
      write_file_locked(full);
  }

  void write_buffer() {
    const MutexLock lock(mutex_);
    if (process_.empty()) process_ = fmt::format("pid-{}", getpid());
    const auto waiting = waiting_.take();
    if (!waiting.empty()) {
      for (const std::string& line : waiting) write_file_locked(line);
    }
    const auto lines = buffer_.take();
    if (lines.empty()) return;
    const std::string head =
        fmt::format("the latest {} lines of all levels before the failure:\n", lines.size());
    std::string text = head;
    for (const std::string& line : lines) text += line;
    if (settings_.file.empty())
      write_to(STDERR_FILENO, text);
    else
      write_file_locked(text);
  }

 private:
  static std::string number_or_dash(std::int32_t number) {
    return number < 0 ? "-" : fmt::format("{}", number);
  }

  /// Reads the environment if nothing has been set. A wrong value is told, and has no effect:
  /// a joined job and impirun have reported it as an error before.
  void read_if_unread() {
    {
      const MutexLock lock(mutex_);
      if (read_) return;
    }
    auto settings = LogSettings::from_environment();
    if (!settings) write_to(STDERR_FILENO, fmt::format("impishim: {}\n", settings.error().text));
    configure(settings ? std::move(*settings) : LogSettings());
  }

  [[nodiscard]] bool has_file_locked() const IMPISHIM_REQUIRES(mutex_) {
    return rank_ < 0 || settings_.ranks.contains(rank_);
  }

  [[nodiscard]] LogLevel level_locked(LogArea area) const IMPISHIM_REQUIRES(mutex_) {
    if (!has_file_locked()) return LogLevel::kError;
    return settings_.recorded().at(static_cast<std::size_t>(area));
  }

  /// Tells the areas' levels to log_enabled().
  void publish_locked() IMPISHIM_REQUIRES(mutex_) {
    if (!read_) return;
    for (std::size_t i = 0; i < kLogAreas; ++i) {
      const LogLevel level =
          settings_.buffer_bytes > 0 ? LogLevel::kDebug : level_locked(static_cast<LogArea>(i));
      log_thresholds[i].store(static_cast<std::uint8_t>(level), std::memory_order_relaxed);
    }
  }

  [[nodiscard]] std::string plain_locked(LogLevel level, std::string_view text) const
      IMPISHIM_REQUIRES(mutex_) {
    if (level == LogLevel::kError) return fmt::format("{}: {}\n", prefix_, text);
    return fmt::format("{}: {}: {}\n", prefix_, name_of(level), text);
  }

  void write_file_locked(const std::string& line) IMPISHIM_REQUIRES(mutex_) {
    if (process_.empty()) return waiting_.put(line, kMostWaiting);
    if (!file_.valid() && !file_failed_) open_locked();
    for (const std::string& each : waiting_.take()) write_line_locked(each);
    write_line_locked(line);
  }

  /// Writes to the file, unless that has failed before.
  void write_line_locked(std::string_view line) IMPISHIM_REQUIRES(mutex_) {
    while (file_.valid() && !line.empty()) {
      const ssize_t size = ::write(file_.get(), line.data(), line.size());
      if (size >= 0)
        line.remove_prefix(static_cast<std::size_t>(size));
      else if (errno != EINTR)
        give_up_file_locked(std::strerror(errno));
    }
  }

  [[nodiscard]] std::string file_path_locked() const IMPISHIM_REQUIRES(mutex_) {
    return fmt::format("{}.{}.log", settings_.file, process_);
  }

  /// Says once that the file cannot be written, and why. Standard error still has its lines.
  void give_up_file_locked(std::string_view cause) IMPISHIM_REQUIRES(mutex_) {
    file_failed_ = true;
    file_.reset();
    const std::string text = fmt::format("cannot write the log to {} (IMPISHIM_LOG_FILE): {}",
                                         file_path_locked(), cause);
    write_to(STDERR_FILENO, plain_locked(LogLevel::kWarn, text));
  }

  void open_locked() IMPISHIM_REQUIRES(mutex_) {
    auto opened = open_output_file(file_path_locked(), S_IRUSR | S_IWUSR);
    if (opened)
      file_ = std::move(*opened);
    else
      give_up_file_locked(opened.error().text);
  }

  Mutex mutex_;
  bool read_ IMPISHIM_GUARDED_BY(mutex_) = false;
  LogSettings settings_ IMPISHIM_GUARDED_BY(mutex_);
  std::string prefix_ IMPISHIM_GUARDED_BY(mutex_) = "impishim";
  std::string process_ IMPISHIM_GUARDED_BY(mutex_);  ///< in the file's name; empty: not known yet
  std::int32_t system_ IMPISHIM_GUARDED_BY(mutex_) = -1;
  std::int32_t rank_ IMPISHIM_GUARDED_BY(mutex_) = -1;
  std::string host_ IMPISHIM_GUARDED_BY(mutex_) = host_text();
  LineBuffer waiting_ IMPISHIM_GUARDED_BY(mutex_);
  LineBuffer buffer_ IMPISHIM_GUARDED_BY(mutex_);
  Descriptor file_ IMPISHIM_GUARDED_BY(mutex_);
  bool file_failed_ IMPISHIM_GUARDED_BY(mutex_) = false;
};

/// Lives until the process ends, since threads may write lines until then.
Log& the_log() {
  static Log& log = *new Log;  // NOLINT(cppcoreguidelines-owning-memory)
  return log;
}

}  // namespace

Result<void> configure_log() { return the_log().configure_from_environment(); }
void configure_log(const LogSettings& settings) { the_log().configure(settings); }
LogSettings log_settings() { return the_log().settings(); }

void set_log_name(std::string_view prefix, std::string_view process) {
  the_log().set_name(prefix, process);
}

void set_log_place(std::int32_t system, std::int32_t rank) { the_log().set_place(system, rank); }

void log_line(LogArea area, LogLevel level, std::string_view text) {
  the_log().line(area, level, text, true);
}

void log_if_wanted(LogArea area, LogLevel level, std::string_view text) {
  the_log().line(area, level, text, false);
}

void write_log_buffer() { the_log().write_buffer(); }

}  // namespace impishim
