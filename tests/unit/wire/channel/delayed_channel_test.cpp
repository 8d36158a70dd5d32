// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/delayed_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/tcp_channel.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using Clock = DelayedChannel::Clock;
using std::chrono::milliseconds;

constexpr milliseconds kDelay{20};

/// The plain end of a connection and its delayed one.
std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> near_and_far(Clock::duration delay) {
  auto [left, right] = test::connected_pair("127.0.0.1");
  auto near = std::make_unique<TcpChannel>(std::move(left), "near");
  auto far = DelayedChannel::make(std::make_unique<TcpChannel>(std::move(right), "far"), delay);
  EXPECT_TRUE(far.ok());
  return {std::move(near), std::move(far).value()};
}

TEST(DelayedChannel, HandsEverythingOnInOrderAndNothingEarly) {
  auto [near, far] = near_and_far(kDelay);
  const auto first = test::random_bytes(1000, 1);
  const auto second = test::random_bytes(300000, 2);
  const auto begin = Clock::now();
  ASSERT_TRUE(test::send_all(*near, first).ok());
  std::vector<std::byte> got(first.size());
  ASSERT_TRUE(test::receive_all(*far, got).ok());
  EXPECT_GE(Clock::now() - begin, kDelay);
  EXPECT_EQ(got, first);
  ASSERT_TRUE(test::send_all(*near, second).ok());
  got.resize(second.size());
  ASSERT_TRUE(test::receive_all(*far, got).ok());
  EXPECT_EQ(got, second);
}

TEST(DelayedChannel, DoesNotDelayOutput) {
  auto [near, far] = near_and_far(std::chrono::hours(1));
  const auto bytes = test::random_bytes(1000, 3);
  ASSERT_TRUE(test::send_all(*far, bytes).ok());
  std::vector<std::byte> got(bytes.size());
  ASSERT_TRUE(test::receive_all(*near, got).ok());
  EXPECT_EQ(got, bytes);
}

TEST(DelayedChannel, ItsOwnerMaySleepUntilSomethingIsDue) {
  auto [near, far] = near_and_far(kDelay);
  std::array<std::byte, 10> got{};
  const std::array<iovec, 1> room = {piece(got)};
  EXPECT_EQ(*far->try_receive(room), 0U);
  const auto bytes = test::random_bytes(10, 4);
  const auto begin = Clock::now();
  ASSERT_TRUE(test::send_all(*near, bytes).ok());
  // The arrival wakes it, the timer after that: sleep_on() fails after half a minute.
  ASSERT_TRUE(test::receive_all(*far, got).ok());
  EXPECT_GE(Clock::now() - begin, kDelay);
  ASSERT_TRUE(far->prepare_to_sleep());
  EXPECT_FALSE(test::readable(far->descriptor(), 0)) << "the timer has been taken out";
}

/// Bytes become due at any moment, also between two pieces of one read.
TEST(DelayedChannel, FillsPiecesInOrder) {
  constexpr std::size_t kBytes = 200000;
  const auto ends = near_and_far(std::chrono::microseconds(100));
  Channel* const near = ends.first.get();
  Channel* const far = ends.second.get();
  const auto bytes = test::random_bytes(kBytes, 6);
  std::thread sender([near, &bytes] {
    const std::span<const std::byte> all = bytes;
    for (std::size_t i = 0; i < kBytes; ++i)
      EXPECT_TRUE(test::send_all(*near, all.subspan(i, 1)).ok());
  });
  std::vector<std::byte> got(kBytes + 64);
  std::size_t total = 0;
  while (total < kBytes) {
    const std::array<iovec, 3> pieces = {
        piece(std::span(got).subspan(total, 1)), piece(std::span(got).subspan(total + 1, 2)),
        piece(std::span(got).subspan(total + 3, std::min<std::size_t>(40, kBytes - total)))};
    const auto size = far->try_receive(pieces);
    EXPECT_TRUE(size.ok()) << size.error().text;
    if (!size) break;
    total += *size;
  }
  sender.join();
  got.resize(kBytes);
  EXPECT_EQ(got, bytes);
}

TEST(DelayedChannel, TheEndComesAfterWhatWasSentBeforeIt) {
  auto [near, far] = near_and_far(kDelay);
  const auto bytes = test::random_bytes(500, 5);
  ASSERT_TRUE(test::send_all(*near, bytes).ok());
  near.reset();
  std::vector<std::byte> got(bytes.size());
  ASSERT_TRUE(test::receive_all(*far, got).ok());
  EXPECT_EQ(got, bytes);
  std::array<std::byte, 1> more{};
  const auto ended = test::receive_some(*far, more);
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::kConnection);
}

}  // namespace
}  // namespace impishim::wire
