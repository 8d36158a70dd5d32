// SPDX-License-Identifier: Apache-2.0
#include "wire/monitor/monitor_hub.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/monitor/process_state.hpp"

namespace impishim::wire {

bool MonitorHub::add_process(int connection, const MonitorHello& hello) {
  if (size_ != 0 && hello.size != size_) return false;
  const auto same = std::ranges::find_if(
      processes_, [&](const auto& each) { return each.second.rank == hello.rank; });
  if (same == processes_.end() && processes_.size() >= kMostProcesses) return false;
  if (same != processes_.end()) remove(same->first);
  size_ = hello.size;
  processes_[connection] = hello;
  return true;
}

bool MonitorHub::ask(int asker, std::uint32_t wants, Clock::time_point now) {
  const bool busy = std::ranges::any_of(
      questions_, [asker](const auto& each) { return each.second.asker == asker; });
  if (busy) return false;
  const std::uint32_t number = next_number_++;
  Question& question = questions_[number];
  question = {asker, now + kPatience, static_cast<std::int32_t>(processes_.size()), {}, {}};
  for (const auto& [connection, hello] : processes_) {
    question.open[connection] = hello.rank;
    actions_.push_back(
        {MonitorAction::Kind::kQuestion, connection, encode(MonitorQuestion{number, wants})});
  }
  if (question.open.empty()) end(number);
  return true;
}

bool MonitorHub::answer(int connection, std::span<const std::byte> payload) {
  ByteReader in(payload);
  const auto number = in.get<std::uint32_t>();
  if (!number) return false;
  const auto rest = *in.get_bytes(in.remaining());
  const auto state = decode_process_state(rest);
  const auto process = processes_.find(connection);
  if (!state || process == processes_.end() || state->rank != process->second.rank) return false;
  const auto found = questions_.find(*number);
  if (found == questions_.end() || found->second.open.erase(connection) == 0) return true;
  actions_.push_back(
      {MonitorAction::Kind::kAnswer, found->second.asker, {rest.begin(), rest.end()}});
  if (found->second.open.empty()) end(*number);
  return true;
}

void MonitorHub::remove(int connection) {
  processes_.erase(connection);
  std::vector<std::uint32_t> over;
  for (auto& [number, question] : questions_) {
    if (const auto open = question.open.find(connection); open != question.open.end()) {
      question.lost.push_back(open->second);
      question.open.erase(open);
      if (question.open.empty()) over.push_back(number);
    }
  }
  for (const std::uint32_t number : over) end(number);
  std::erase_if(questions_,
                [connection](const auto& each) { return each.second.asker == connection; });
}

void MonitorHub::end(std::uint32_t number) {
  const auto found = questions_.find(number);
  MonitorEnd end{size_, found->second.watched, std::move(found->second.lost)};
  for (const auto& [connection, rank] : found->second.open) end.silent.push_back(rank);
  std::ranges::sort(end.silent);
  actions_.push_back({MonitorAction::Kind::kEnd, found->second.asker, encode(end)});
  questions_.erase(found);
}

void MonitorHub::at(Clock::time_point now) {
  std::vector<std::uint32_t> over;
  for (const auto& [number, question] : questions_) {
    if (question.ends <= now) over.push_back(number);
  }
  for (const std::uint32_t number : over) end(number);
}

std::optional<MonitorHub::Clock::time_point> MonitorHub::next_limit() const {
  std::optional<Clock::time_point> next;
  for (const auto& [number, question] : questions_) {
    if (!next || question.ends < *next) next = question.ends;
  }
  return next;
}

}  // namespace impishim::wire
