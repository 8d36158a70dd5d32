// SPDX-License-Identifier: Apache-2.0
// What the relay passes on between the two ends of a pair, and how a pair ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/wire/relay/relay_by_hand.hpp"
#include "wire/relay/relay_service.hpp"

namespace impishim::wire {
namespace {

using test::HostSocket;
using testing::HasSubstr;

constexpr int kSmallBuffers = 32768;

class RelayTraffic : public test::RelayByHand {
 protected:
  /// Sends `bytes` to the end while `reader` reads at most `most` bytes at a time.
  bool passes(HostSocket& sender, HostSocket& reader, std::span<const std::byte> bytes,
              std::size_t most = 65536) {
    const std::size_t begin = reader.got.size();
    const std::size_t end = begin + bytes.size();
    std::span<const std::byte> rest = bytes;
    const bool arrived = until([&] {
      rest = rest.subspan(rest.empty() ? 0 : sender.send_some(rest));
      reader.receive_some(most);
      return reader.got.size() >= end;
    });
    return arrived && reader.got.size() == end &&
           std::ranges::equal(std::span(reader.got).subspan(begin), bytes);
  }
  /// Sends until neither the kernel nor the relay takes more. Returns the number of bytes.
  std::size_t fill(HostSocket& sender, std::span<const std::byte> bytes) {
    std::size_t sent = 0;
    for (int idle = 0; idle < 5 && sent < bytes.size();) {
      const std::size_t now = sender.send_some(bytes.subspan(sent));
      sent += now;
      EXPECT_TRUE(becomes_quiet());
      idle = now == 0 ? idle + 1 : 0;
    }
    return sent;
  }
};

TEST_F(RelayTraffic, PassesTwentyMegabytesBothWaysToASlowReader) {
  auto hosts = pair_of(1, 2);
  auto& left = hosts.first;
  auto& right = hosts.second;
  const auto to_right = test::random_bytes(20'000'000, 31);
  const auto to_left = test::random_bytes(20'000'000, 32);
  std::span<const std::byte> left_rest = to_right;
  std::span<const std::byte> right_rest = to_left;
  std::mt19937 random(33);
  left.got.clear();
  right.got.clear();
  EXPECT_TRUE(until([&] {
    if (!left_rest.empty()) left_rest = left_rest.subspan(left.send_some(left_rest));
    if (!right_rest.empty()) right_rest = right_rest.subspan(right.send_some(right_rest));
    left.receive_some();
    if (random() % 4 == 0) right.receive_some(1 + random() % 100'000);
    return left.got.size() >= to_left.size() && right.got.size() >= to_right.size();
  }));
  EXPECT_TRUE(left.got == to_left);
  EXPECT_TRUE(right.got == to_right);
}

TEST_F(RelayTraffic, StopsASenderWhoseReaderDoesNotRead) {
  auto pair_sender = pair_of(1, 2, kSmallBuffers);
  auto& sender = pair_sender.first;
  auto& reader = pair_sender.second;
  auto pair_other = pair_of(3, 4, kSmallBuffers);
  auto& other = pair_other.first;
  auto& partner = pair_other.second;
  const auto bytes = test::random_bytes(8U << 20U, 41);
  const std::size_t sent = fill(sender, bytes);
  // The kernel doubles the sizes of the four buffers between sender and reader.
  EXPECT_LT(sent, 262144U + 4U * 2U * kSmallBuffers + 65536U);
  EXPECT_GT(sent, 262144U) << "the relay's buffer is full";
  EXPECT_TRUE(becomes_quiet()) << "a pair that is full is no event";
  EXPECT_TRUE(passes(other, partner, test::random_bytes(1U << 20U, 42)));
  EXPECT_TRUE(passes(partner, other, test::random_bytes(1U << 20U, 43)));
  EXPECT_TRUE(passes(reader, sender, test::random_bytes(1U << 20U, 44)))
      << "the other direction goes on";
  const std::size_t expected = kRelayAnswerSize + sent;
  EXPECT_TRUE(until([&] { return receive(reader).got.size() >= expected; }));
  EXPECT_TRUE(std::ranges::equal(std::span(reader.got).subspan(kRelayAnswerSize),
                                 std::span(bytes).first(sent)));
  EXPECT_TRUE(passes(sender, reader, std::span(bytes).subspan(sent)));
}

TEST_F(RelayTraffic, PassesThroughASmallBufferWhoseContentWraps) {
  open({.buffer_size = 4099});
  auto hosts = pair_of(1, 2, kSmallBuffers);
  auto& left = hosts.first;
  auto& right = hosts.second;
  EXPECT_TRUE(passes(left, right, test::random_bytes(1'000'000, 51), 5001));
  const auto more = test::random_bytes(1'000'000, 52);
  const std::size_t sent = fill(right, more);
  EXPECT_LT(sent, more.size());
  const std::size_t expected = kRelayAnswerSize + sent;
  EXPECT_TRUE(until([&] {
    left.receive_some(777);
    return left.got.size() >= expected;
  }));
  EXPECT_TRUE(std::ranges::equal(std::span(left.got).subspan(kRelayAnswerSize),
                                 std::span(more).first(sent)));
}

TEST_F(RelayTraffic, KeepsTheOtherDirectionAfterAHalfClose) {
  auto hosts = pair_of(1, 2);
  auto& left = hosts.first;
  auto& right = hosts.second;
  left.send_some(test::bytes_of("the end"));
  ASSERT_EQ(shutdown(left.socket.get(), SHUT_WR), 0);
  EXPECT_TRUE(until([&] { return receive(right).ended; }));
  EXPECT_EQ(right.text(), "the end");
  EXPECT_TRUE(becomes_quiet());
  EXPECT_EQ(service->pairs(), 1U);
  EXPECT_TRUE(passes(right, left, test::random_bytes(3'000'000, 61)));
  ASSERT_EQ(shutdown(right.socket.get(), SHUT_WR), 0);
  EXPECT_TRUE(until([&] { return receive(left).ended; }));
  EXPECT_TRUE(until([&] { return service->idle(); }));
  EXPECT_FALSE(left.failed || right.failed);
}

TEST_F(RelayTraffic, PassesOnAllBytesBeforeTheEndOfTheStream) {
  auto hosts = pair_of(1, 2, kSmallBuffers);
  auto& left = hosts.first;
  auto& right = hosts.second;
  const auto bytes = test::random_bytes(8U << 20U, 71);
  const std::size_t sent = fill(left, bytes);
  ASSERT_LT(sent, bytes.size());
  ASSERT_EQ(shutdown(left.socket.get(), SHUT_WR), 0);
  EXPECT_TRUE(becomes_quiet());
  EXPECT_TRUE(passes(right, left, test::random_bytes(1U << 20U, 72)));
  EXPECT_TRUE(until([&] { return receive(right).ended; }));
  EXPECT_TRUE(std::ranges::equal(std::span(right.got).subspan(kRelayAnswerSize),
                                 std::span(bytes).first(sent)));
}

// Both directions of the sender's socket have ended, which epoll reports whether one asks or not,
// while the relay's buffer is full.
TEST_F(RelayTraffic, DoesNotSpinOnASocketThatHasHungUp) {
  auto hosts = pair_of(1, 2, kSmallBuffers);
  auto& left = hosts.first;
  auto& right = hosts.second;
  const auto bytes = test::random_bytes(8U << 20U, 81);
  const std::size_t sent = fill(left, bytes);
  ASSERT_LT(sent, bytes.size());
  ASSERT_EQ(shutdown(right.socket.get(), SHUT_WR), 0);
  EXPECT_TRUE(until([&] { return receive(left).ended; }));
  // The rest must fit the kernel's buffers, or the end of the stream stays at the sender.
  EXPECT_TRUE(until([&] {
    right.receive_some(16384);
    handle();
    int unsent = 0;
    ioctl(left.socket.get(), TIOCOUTQ, &unsent);
    return unsent == 0;
  }));
  ASSERT_EQ(shutdown(left.socket.get(), SHUT_WR), 0);
  EXPECT_TRUE(becomes_quiet());
  EXPECT_EQ(service->pairs(), 1U) << "bytes of the sender are still to be passed on";
  EXPECT_TRUE(until([&] { return receive(right).ended; }));
  EXPECT_TRUE(std::ranges::equal(std::span(right.got).subspan(kRelayAnswerSize),
                                 std::span(bytes).first(sent)));
  EXPECT_TRUE(until([&] { return service->idle(); }));
}

TEST_F(RelayTraffic, ClosesBothAfterAFailure) {
  auto hosts = pair_of(1, 2);
  auto& left = hosts.first;
  auto& right = hosts.second;
  reports.clear();
  const linger reset{1, 0};
  ASSERT_EQ(setsockopt(right.socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
  right.send_some(test::bytes_of("last words"));
  right.socket.reset();
  EXPECT_TRUE(is_closed(left));
  EXPECT_TRUE(service->idle());
  EXPECT_EQ(left.text(), "last words");
  EXPECT_THAT(reports, testing::IsEmpty());
  const auto limit = service->next_limit();
  ASSERT_TRUE(limit);
  handle(*limit);
  EXPECT_THAT(reports, testing::ElementsAre(HasSubstr("end 2: Connection reset")));
}

TEST_F(RelayTraffic, ReportsAFailureAtOnceIfAsked) {
  auto hosts = pair_of(1, 2);
  reports.clear();
  const linger reset{1, 0};
  ASSERT_EQ(setsockopt(hosts.second.socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
  hosts.second.socket.reset();
  EXPECT_TRUE(is_closed(hosts.first));
  EXPECT_THAT(reports, testing::IsEmpty());
  service->report_losses_now();
  collect_reports();
  EXPECT_THAT(reports, testing::ElementsAre(HasSubstr("end 2: Connection reset")));
}

TEST_F(RelayTraffic, ResetsTheOtherEndIfAFailureLosesBytes) {
  auto hosts = pair_of(1, 2, kSmallBuffers);
  auto& left = hosts.first;
  auto& right = hosts.second;
  const auto bytes = test::random_bytes(8U << 20U, 91);
  ASSERT_GT(fill(left, bytes), 262144U);
  const linger reset{1, 0};
  ASSERT_EQ(setsockopt(left.socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
  left.socket.reset();
  EXPECT_TRUE(until([&] { return service->idle(); }))
      << "although nothing could be read or written";
  EXPECT_TRUE(is_closed(right));
  EXPECT_TRUE(right.failed) << "and not the end of the stream";
}

TEST_F(RelayTraffic, ClosesBothIfThePeerOfASenderIsGone) {
  auto hosts = pair_of(1, 2);
  auto& left = hosts.first;
  auto& right = hosts.second;
  right.socket.reset();
  EXPECT_TRUE(until([&] {
    left.send_some(test::bytes_of("is anybody there?"));
    return service->idle();
  }));
  EXPECT_TRUE(is_closed(left));
}

TEST_F(RelayTraffic, ServesManyPairs) {
  constexpr std::size_t kPairs = 100;
  std::vector<std::pair<HostSocket, HostSocket>> pairs;
  for (std::size_t i = 0; i < kPairs; ++i)
    pairs.push_back(
        pair_of(static_cast<std::int32_t>(2 * i), static_cast<std::int32_t>(2 * i + 1)));
  EXPECT_EQ(service->pairs(), kPairs);
  const auto bytes = test::random_bytes(100'000, 101);
  std::vector<std::size_t> sent(kPairs);
  EXPECT_TRUE(until([&] {
    bool all = true;
    for (std::size_t i = 0; i < kPairs; ++i) {
      auto& [left, right] = pairs[i];
      // Each pair has bytes of its own.
      const auto own = std::span(bytes).subspan(i, 90'000);
      if (sent[i] < own.size()) sent[i] += left.send_some(own.subspan(sent[i]));
      all = receive(right).got.size() >= kRelayAnswerSize + own.size() && all;
    }
    return all;
  }));
  for (std::size_t i = 0; i < kPairs; ++i)
    EXPECT_TRUE(std::ranges::equal(std::span(pairs[i].second.got).subspan(kRelayAnswerSize),
                                   std::span(bytes).subspan(i, 90'000)))
        << i;
  EXPECT_TRUE(becomes_quiet());
  pairs.clear();
  EXPECT_TRUE(until([&] { return service->idle(); }));
}

TEST_F(RelayTraffic, HasNoEventsWithoutTraffic) {
  auto hosts = pair_of(1, 2);
  auto& left = hosts.first;
  auto& right = hosts.second;
  auto waiting = come(3, 4);
  auto newcomer = connect(test::bytes_of("R"));
  EXPECT_TRUE(becomes_quiet());
  EXPECT_FALSE(test::readable(service->descriptor(), 50));
  left.send_some(test::bytes_of("one"));
  EXPECT_TRUE(test::readable(service->descriptor(), test::kLongMs));
  handle();
  EXPECT_FALSE(test::readable(service->descriptor(), 50)) << "one event was enough";
  EXPECT_TRUE(gets(right, "one"));
}

TEST_F(RelayTraffic, ChecksForSilentMachinesFromTimeToTime) {
  EXPECT_FALSE(service->next_limit().has_value());
  auto hosts = pair_of(1, 2);
  auto& left = hosts.first;
  auto& right = hosts.second;
  for (int i = 0; i < 20; ++i) {
    const auto limit = service->next_limit();
    ASSERT_TRUE(limit.has_value());
    handle(*limit);
    EXPECT_GT(*service->next_limit(), *limit);
  }
  left.send_some(test::bytes_of("alive"));
  EXPECT_TRUE(gets(right, "alive"));
}

}  // namespace
}  // namespace impishim::wire
