// SPDX-License-Identifier: Apache-2.0
#include "wire/check/measure.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/check/line.hpp"

namespace impishim::check {
namespace {

/// Two ends of one connection.
std::pair<Line, Line> connected_lines() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
  return {Line(std::make_unique<wire::TcpChannel>(Descriptor(ends[0]), "the right")),
          Line(std::make_unique<wire::TcpChannel>(Descriptor(ends[1]), "the left"))};
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes;
  for (const char each : text) bytes.push_back(static_cast<std::byte>(each));
  return bytes;
}

TEST(Evaluate, NothingFromNothing) { EXPECT_EQ(evaluate({}).median_us, 0); }

TEST(Evaluate, MedianAndNinetyNineOfAHundred) {
  std::vector<Exchange> exchanges;
  for (std::int64_t us = 1; us <= 100; ++us) exchanges.push_back({0, 0, us * 1000});
  const RoundTrips trips = evaluate(exchanges);
  EXPECT_EQ(trips.median_us, 50);
  EXPECT_EQ(trips.most_us, 99);
}

TEST(Evaluate, TheShortestExchangeComparesTheClocks) {
  // The other clock is 7 s ahead; a slow answer says nothing of that.
  const std::int64_t ahead = 7'000'000'000;
  const RoundTrips trips =
      evaluate({{0, ahead + 900'000, 1'000'000}, {5'000, ahead + 15'000, 25'000}});
  EXPECT_DOUBLE_EQ(trips.clock_ahead_us, 7e6);
  EXPECT_DOUBLE_EQ(trips.clock_error_us, 10);
}

TEST(Evaluate, AClockMayLie) {
  const RoundTrips trips = evaluate({{0, INT64_MIN, 10}});
  EXPECT_LT(trips.clock_ahead_us, -9e15);
}

TEST(Measure, RoundTripsOfOneClock) {
  auto [left, right] = connected_lines();
  std::thread answering([&line = right] { EXPECT_TRUE(answer_round_trips(line)); });
  const auto trips = lead_round_trips(left);
  answering.join();
  ASSERT_TRUE(trips) << trips.error().text;
  EXPECT_GT(trips->median_us, 0);
  EXPECT_LE(std::abs(trips->clock_ahead_us), trips->clock_error_us + 1);
}

TEST(Measure, RatesInBothDirections) {
  using std::chrono::milliseconds;
  auto [left, right] = connected_lines();
  std::thread other([&line = right] {
    EXPECT_TRUE(answer_rate(line));
    EXPECT_TRUE(lead_rate(line, milliseconds(20)));
    EXPECT_TRUE(meet(line));
  });
  const auto rate = lead_rate(left, milliseconds(20));
  EXPECT_TRUE(answer_rate(left));
  EXPECT_TRUE(meet(left));
  other.join();
  ASSERT_TRUE(rate) << rate.error().text;
  EXPECT_GT(*rate, 0);
}

TEST(Measure, QuestionsComeToAnEnd) {
  auto [left, right] = connected_lines();
  std::thread asking([&line = left] {
    const std::vector<std::byte> questions(1000, std::byte{1});
    EXPECT_TRUE(line.send(questions));
  });
  const auto answered = answer_round_trips(right);
  asking.join();
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().kind, ErrorKind::kProtocol);
}

TEST(Line, FramesSurvive) {
  auto [left, right] = connected_lines();
  ASSERT_TRUE(left.send_frame(bytes_of("a road")));
  ASSERT_TRUE(left.send_frame({}));
  const auto first = right.receive_frame(6);
  ASSERT_TRUE(first) << first.error().text;
  EXPECT_EQ(*first, bytes_of("a road"));
  const auto second = right.receive_frame(0);
  ASSERT_TRUE(second) << second.error().text;
  EXPECT_TRUE(second->empty());
}

TEST(Line, AFrameThatIsTooLongIsRefused) {
  auto [left, right] = connected_lines();
  ASSERT_TRUE(left.send_frame(bytes_of("a road")));
  const auto frame = right.receive_frame(5);
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().kind, ErrorKind::kProtocol);
}

TEST(Line, SilenceIsATimeout) {
  auto [left, right] = connected_lines();
  left.set_patience(std::chrono::milliseconds(30));
  const auto met = meet(left);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().kind, ErrorKind::kTimeout);
  EXPECT_NE(met.error().text.find("the right"), std::string::npos);
}

TEST(Line, AnEndIsAnError) {
  auto [left, right] = connected_lines();
  { const Line gone = std::move(right); }
  EXPECT_FALSE(meet(left));
}

TEST(Line, EndsThatAreNotInStep) {
  auto [left, right] = connected_lines();
  const std::byte other{0};
  ASSERT_TRUE(right.send({&other, 1}));
  const auto met = meet(left);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().kind, ErrorKind::kProtocol);
}

}  // namespace
}  // namespace impishim::check
