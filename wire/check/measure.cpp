// SPDX-License-Identifier: Apache-2.0
#include "wire/check/measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/check/line.hpp"

namespace impishim::check {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostQuestions = 200;
constexpr auto kMostTime = std::chrono::seconds(1);
constexpr std::size_t kLeastQuestions = 10;
constexpr std::size_t kPieceSize = 64U << 10U;
/// The one that leads sends for seconds; what has been sent then takes longer on a slow road.
constexpr auto kMostRateAnswer = std::chrono::minutes(5);

/// Message of a series: something follows, or nothing more.
constexpr std::byte kMore{1};
constexpr std::byte kEnd{0};

std::int64_t wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

Result<Exchange> ask(Line& line) {
  Exchange exchange;
  exchange.asked = wall_clock();
  auto sent = line.send({&kMore, 1});
  if (!sent) return sent.error();
  std::array<std::byte, sizeof(std::int64_t)> answer{};
  auto received = line.receive(answer);
  if (!received) return received.error();
  exchange.answered = wall_clock();
  exchange.there = load_big_endian<std::int64_t>(answer.data());
  return exchange;
}

Error too_long() {
  return {ErrorKind::kProtocol, "the other end does not come to an end with measuring"};
}

/// Reads the byte that says if the series goes on.
Result<bool> goes_on(Line& line) {
  std::array<std::byte, 1> word{};
  auto received = line.receive(word);
  if (!received) return received.error();
  return word[0] == kMore;
}

}  // namespace

RoundTrips evaluate(std::vector<Exchange> exchanges) {
  RoundTrips result;
  if (exchanges.empty()) return result;
  const auto time_of = [](const Exchange& each) { return each.answered - each.asked; };
  std::ranges::sort(exchanges, {}, time_of);
  const auto at = [&](double part) {
    const auto index =
        static_cast<std::size_t>(std::ceil(part * static_cast<double>(exchanges.size())));
    return static_cast<double>(time_of(exchanges[std::max<std::size_t>(index, 1) - 1])) / 1e3;
  };
  result.median_us = at(0.5);
  result.most_us = at(0.99);
  const Exchange& best = exchanges.front();
  // Clocks may be years apart and lie about it, so the difference is computed without overflow.
  result.clock_ahead_us =
      (static_cast<double>(best.there) - static_cast<double>(best.asked)) / 1e3 -
      static_cast<double>(time_of(best)) / 2e3;
  result.clock_error_us = static_cast<double>(time_of(best)) / 2e3;
  return result;
}

Result<RoundTrips> lead_round_trips(Line& line) {
  std::vector<Exchange> exchanges;
  auto first = ask(line);  // connections and processes wake up
  if (!first) return first.error();
  const auto end = Steady::now() + kMostTime;
  while (exchanges.size() < kMostQuestions &&
         (exchanges.size() < kLeastQuestions || Steady::now() < end)) {
    auto exchange = ask(line);
    if (!exchange) return exchange.error();
    exchanges.push_back(*exchange);
  }
  auto ended = line.send({&kEnd, 1});
  if (!ended) return ended.error();
  return evaluate(std::move(exchanges));
}

Result<void> answer_round_trips(Line& line) {
  for (std::size_t questions = 0;; ++questions) {
    // The first question is not among those that are evaluated.
    if (questions > 1 + kMostQuestions) return too_long();
    auto more = goes_on(line);
    if (!more) return more.error();
    if (!*more) return {};
    std::array<std::byte, sizeof(std::int64_t)> answer{};
    store_big_endian(answer.data(), wall_clock());
    auto sent = line.send(answer);
    if (!sent) return sent;
  }
}

Result<double> lead_rate(Line& line, std::chrono::milliseconds time) {
  std::vector<std::byte> piece(1 + kPieceSize);
  piece[0] = kMore;
  const auto begin = Steady::now();
  double bytes = 0;
  while (Steady::now() - begin < time) {
    auto sent = line.send(piece);
    if (!sent) return sent.error();
    bytes += static_cast<double>(kPieceSize);
  }
  auto ended = line.send({&kEnd, 1});
  if (!ended) return ended.error();
  std::array<std::byte, 1> confirmed{};
  auto received = line.receive(confirmed);
  if (!received) return received.error();
  return bytes / std::chrono::duration<double>(Steady::now() - begin).count();
}

Result<void> answer_rate(Line& line) {
  std::vector<std::byte> piece(kPieceSize);
  const auto end = Steady::now() + kMostRateAnswer;
  for (;;) {
    if (Steady::now() > end) return too_long();
    auto more = goes_on(line);
    if (!more) return more.error();
    if (!*more) return line.send({&kEnd, 1});
    auto received = line.receive(piece);
    if (!received) return received;
  }
}

Result<void> meet(Line& line) {
  auto sent = line.send({&kMore, 1});
  if (!sent) return sent;
  auto there = goes_on(line);
  if (!there) return there.error();
  return *there ? Result<void>()
                : Error{ErrorKind::kProtocol, "the two ends of the check are not in step"};
}

}  // namespace impishim::check
