// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/join_progress.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace impishim::launch {
namespace {

/// Returns what probably keeps a system from joining.
std::string reason(const JoinProgress::System& system) {
  if (!system.begun)
    return fmt::format("ssh has not reached {} yet, or impirun is not there", system.host);
  if (system.queued)
    return fmt::format("{} runs; it may wait for nodes in the queue", system.launcher);
  return fmt::format("{} runs; its processes have not called MPI_Init, or cannot reach the server",
                     system.launcher);
}

}  // namespace

JoinProgress::JoinProgress(std::vector<System> systems, bool at_once, Clock::time_point now)
    : systems_(std::move(systems)), at_once_(at_once), started_(now), next_(now + kQuiet) {}

bool JoinProgress::all_joined() const {
  return std::all_of(systems_.begin(), systems_.end(),
                     [](const System& each) { return each.joined; });
}

std::string JoinProgress::text(Clock::time_point now) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - started_).count();
  std::vector<std::string> missing;
  for (const System& system : systems_) {
    if (system.joined) continue;
    const std::string place = system.host.empty() ? "" : fmt::format(" on {}", system.host);
    missing.push_back(fmt::format("{}{} ({})", system.name, place, reason(system)));
  }
  const std::string count = fmt::format("{} s: {} of {} systems have joined", seconds,
                                        systems_.size() - missing.size(), systems_.size());
  return missing.empty() ? count : fmt::format("{}; missing: {}", count, fmt::join(missing, "; "));
}

std::string JoinProgress::joined(std::uint32_t mask, Clock::time_point now) {
  for (std::size_t i = 0; i < systems_.size(); ++i) systems_[i].joined = ((mask >> i) & 1U) != 0;
  if (!at_once_ && !told_) return {};
  next_ = now + kPeriod;
  return text(now);
}

std::string JoinProgress::report(Clock::time_point now) {
  if (all_joined() || now < next_) return {};
  told_ = true;
  next_ = now + kPeriod;
  return text(now);
}

std::chrono::milliseconds JoinProgress::time_to_report(Clock::time_point now) const {
  constexpr std::chrono::milliseconds kLong = std::chrono::hours(1);
  if (all_joined()) return kLong;
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(next_ - now),
                  std::chrono::milliseconds(0));
}

}  // namespace impishim::launch
