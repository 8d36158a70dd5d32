// SPDX-License-Identifier: Apache-2.0
/// The rendezvous server's part of monitoring: it passes questions to all processes that have
/// called it, and their answers back. No sockets and no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "wire/monitor/monitor_message.hpp"

namespace impishim::wire {

/// A message that the hub wants to be sent.
struct MonitorAction {
  enum class Kind : std::uint8_t {
    kQuestion,  ///< to a process
    kAnswer,    ///< to an asker
    kEnd,       ///< to an asker
  };
  Kind kind;
  int connection;
  std::vector<std::byte> payload;
};

/// The connections have been authenticated. Those of processes and of askers have numbers of one
/// set, which the caller chooses.
class MonitorHub {
 public:
  using Clock = std::chrono::steady_clock;
  /// More processes cannot be watched: each has a connection to the server.
  static constexpr std::size_t kMostProcesses = 384;
  /// Time for a process to answer.
  static constexpr std::chrono::milliseconds kPatience{2000};

  /// Adds a process. A process with the same rank that was there before is no longer asked. Returns
  /// false if there are too many, or if it names another size of the job than those before it.
  [[nodiscard]] bool add_process(int connection, const MonitorHello& hello);
  /// Passes a question on. Returns false if the asker's last one is not answered yet.
  [[nodiscard]] bool ask(int asker, std::uint32_t wants, Clock::time_point now);
  /// Passes the answer of a process on. Answers that were not asked for, or come too late, are
  /// dropped. Returns false if it is no answer.
  [[nodiscard]] bool answer(int connection, std::span<const std::byte> payload);
  /// Forgets a process or an asker whose connection has ended.
  void remove(int connection);
  /// Ends questions whose time is over.
  void at(Clock::time_point now);
  /// Returns the time at which at() must be called if nothing else happens.
  [[nodiscard]] std::optional<Clock::time_point> next_limit() const;
  [[nodiscard]] std::vector<MonitorAction> take_actions() { return std::exchange(actions_, {}); }
  [[nodiscard]] std::size_t processes() const { return processes_.size(); }

 private:
  struct Question {
    int asker = 0;
    Clock::time_point ends;
    std::int32_t watched = 0;
    std::map<int, std::int32_t> open;  ///< connection -> rank, without answers
    std::vector<std::int32_t> lost;    ///< ranks whose connection has ended meanwhile
  };

  void end(std::uint32_t number);

  std::int32_t size_ = 0;
  std::map<int, MonitorHello> processes_;
  std::map<std::uint32_t, Question> questions_;
  std::uint32_t next_number_ = 1;
  std::vector<MonitorAction> actions_;
};

}  // namespace impishim::wire
