// SPDX-License-Identifier: Apache-2.0
// Sockets passed from the process of a host that makes the connections to those that own them.
#include "wire/connect/handover.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <future>
#include <optional>

#include "tests/unit/wire/connect/no_descriptors.hpp"
#include "wire/connect/unix_socket.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

constexpr int kLongMs = 20000;
constexpr int kShortMs = 100;

class Handover : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = HandoverGiver::open(token);
    ASSERT_TRUE(opened.ok()) << opened.error().text;
    giver.emplace(std::move(*opened));
  }
  static std::pair<Descriptor, Descriptor> connected() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
  }
  const std::string token =
      fmt::format("handover-test-{}-{}", getpid(), testing::UnitTest::GetInstance()->random_seed());
  std::optional<HandoverGiver> giver;
};

TEST_F(Handover, GivesEachItsOwn) {
  constexpr std::int32_t kTakers = 5;
  constexpr std::int32_t kEach = 20;
  std::vector<std::future<std::string>> takers;
  for (std::int32_t index = 1; index <= kTakers; ++index) {
    takers.push_back(std::async(std::launch::async, [&, index]() -> std::string {
      auto taker = HandoverTaker::connect(token, index, kLongMs);
      if (!taker) return taker.error().text;
      for (std::int32_t k = 0; k < kEach; ++k) {
        auto taken = taker->take(kLongMs);
        if (!taken) return taken.error().text;
        if (taken->first % (kTakers + 1) != index)
          return fmt::format("host {} went to {}", taken->first, index);
        const std::int32_t host = taken->first;
        if (write(taken->second.get(), &host, sizeof(host)) != sizeof(host)) return "cannot write";
      }
      return "";
    }));
  }
  for (std::int32_t host = 0; host < (kTakers + 1) * kEach; ++host) {
    const std::int32_t index = host % (kTakers + 1);
    if (index == 0) continue;
    auto [mine, theirs] = connected();
    const auto given = giver->give(index, host, theirs, kLongMs);
    ASSERT_TRUE(given.ok()) << given.error().text;
    theirs.reset();
    std::int32_t written = -1;
    ASSERT_EQ(read(mine.get(), &written, sizeof(written)), static_cast<ssize_t>(sizeof(written)));
    EXPECT_EQ(written, host) << "it is the same connection";
    EXPECT_EQ(read(mine.get(), &written, sizeof(written)), 0) << "and nobody else holds it";
  }
  for (auto& taker : takers) EXPECT_EQ(taker.get(), "");
}

TEST_F(Handover, EndsIfNobodyTakes) {
  auto [mine, theirs] = connected();
  const auto given = giver->give(1, 7, theirs, kShortMs);
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().kind, ErrorKind::kTimeout);
}

TEST_F(Handover, EndsIfATakerHasDied) {
  { ASSERT_TRUE(HandoverTaker::connect(token, 1, kLongMs).ok()); }
  auto [mine, theirs] = connected();
  const auto given = giver->give(1, 7, theirs, kLongMs);
  ASSERT_FALSE(given.ok());
  EXPECT_NE(given.error().kind, ErrorKind::kTimeout) << given.error().text;
}

TEST_F(Handover, TellsATakerThatNothingWillCome) {
  auto taker = HandoverTaker::connect(token, 1, kLongMs);
  ASSERT_TRUE(taker.ok());
  giver.reset();
  const auto taken = taker->take(kLongMs);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(taken.error().text, testing::AnyOf(HasSubstr("has given up"), HasSubstr("reset")));
}

TEST_F(Handover, RefusesGarbage) {
  auto stranger = connect_unix(fmt::format("impishim-{}-handover", token), SOCK_SEQPACKET, kLongMs);
  ASSERT_TRUE(stranger.ok());
  ASSERT_EQ(send(stranger->get(), "who?", 4, 0), 4);
  auto [mine, theirs] = connected();
  const auto given = giver->give(1, 7, theirs, kLongMs);
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().kind, ErrorKind::kProtocol);
}

TEST_F(Handover, SaysInTimeThatThereAreNoDescriptors) {
  auto taker = HandoverTaker::connect(token, 1, kLongMs);
  ASSERT_TRUE(taker.ok());
  auto [mine, theirs] = connected();
  const test::NoDescriptors lack;
  const auto given = giver->give(1, 7, theirs, kShortMs);
  ASSERT_FALSE(given.ok());
  EXPECT_EQ(given.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(given.error().text, HasSubstr("ulimit -n"));
}

TEST_F(Handover, GoesOnWhenThereAreDescriptorsAgain) {
  auto taker = HandoverTaker::connect(token, 1, kLongMs);
  ASSERT_TRUE(taker.ok());
  auto [mine, theirs] = connected();
  test::PassingLack lack;
  auto taken = std::async(std::launch::async, [&] {
    lack.end_after_a_failure();
    return taker->take(kLongMs);
  });
  const auto given = giver->give(1, 7, theirs, kLongMs);
  EXPECT_TRUE(given.ok()) << given.error().text;
  if (!given) giver.reset();
  EXPECT_TRUE(taken.get().ok());
  EXPECT_TRUE(lack.has_been_felt());
}

TEST_F(Handover, HasOneGiverForEachName) { EXPECT_FALSE(HandoverGiver::open(token).ok()); }

}  // namespace
}  // namespace impishim::wire
