// SPDX-License-Identifier: Apache-2.0
#include "wire/peer/readiness.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "tests/unit/wire/path/path_parts.hpp"

namespace impishim::wire::test {
namespace {

const JobShape kTwoSystems{.procs_of_hosts = {{1}, {1}}};
const JobShape kFourSystems{.procs_of_hosts = {{1}, {1}, {1}, {1}}};

bool wakes(PathParts& parts) {
  std::array<epoll_event, 4> events{};
  auto woken = parts.poller.wait(std::chrono::microseconds(0), events);
  EXPECT_TRUE(woken.ok());
  return *woken > 0;
}

TEST(Readiness, FewLinksAreReadWithoutAsking) {
  PathParts parts(kTwoSystems);
  EXPECT_FALSE(parts.readiness.asks_together());
  EXPECT_FALSE(parts.flags.watching.load());
  EXPECT_TRUE(parts.readiness.may_have_input(parts.link_to_host(1)));
}

TEST(Readiness, ManyLinksAreReadWhenTheyAreAnnounced) {
  PathParts parts(kFourSystems, 0, Ends::kSockets);
  EXPECT_TRUE(parts.readiness.asks_together());
  EXPECT_TRUE(parts.flags.always_watching.load());
  const std::array<std::byte, 1> byte{};
  ASSERT_EQ(parts.host(2).say(byte), 1U);
  parts.readiness.find_announced();
  EXPECT_TRUE(parts.readiness.may_have_input(parts.link_to_host(2)));
  EXPECT_FALSE(parts.readiness.may_have_input(parts.link_to_host(1)));
}

TEST(Readiness, AThreadDoesNotSleepOverInput) {
  PathParts parts(kTwoSystems, 0, Ends::kSockets);
  parts.readiness.watch_all();
  EXPECT_TRUE(parts.readiness.begin_sleep());
  EXPECT_FALSE(wakes(parts));
  const std::array<std::byte, 1> byte{};
  ASSERT_EQ(parts.host(1).say(byte), 1U);
  EXPECT_TRUE(wakes(parts));
  parts.readiness.end_sleep();
}

TEST(Readiness, WakesASleeper) {
  PathParts parts(kTwoSystems);
  parts.readiness.watch_all();
  static_cast<void>(parts.readiness.begin_sleep());
  parts.readiness.wake_sleepers();
  std::array<epoll_event, 4> events{};
  // The wait ends at once, though no link is ready.
  EXPECT_TRUE(parts.poller.wait(std::chrono::microseconds(-1), events).ok());
  parts.readiness.end_sleep();
}

TEST(Readiness, StopsWatchingUnlessAThreadSleeps) {
  PathParts parts(kTwoSystems, 0, Ends::kSockets);
  parts.readiness.watch_all();
  static_cast<void>(parts.readiness.begin_sleep());
  parts.readiness.stop_watching_all();
  EXPECT_TRUE(parts.flags.watching.load());
  parts.readiness.end_sleep();
  parts.readiness.stop_watching_all();
  EXPECT_FALSE(parts.flags.watching.load());
  const std::array<std::byte, 1> byte{};
  ASSERT_EQ(parts.host(1).say(byte), 1U);
  EXPECT_FALSE(wakes(parts));
}

TEST(Readiness, AFullChannelAnnouncesRoom) {
  PathParts parts(kTwoSystems, 0, 500);
  parts.readiness.watch_all();
  PathSend send(1, 2000);
  parts.send_path.start(send.operation);
  EXPECT_TRUE(parts.link_to_host(1).output.wants_output);
  while (parts.link_to_host(1).output.wants_output) {
    ASSERT_TRUE(parts.host(1).listen());
    ASSERT_TRUE(parts.sender.flush(parts.link_to_host(1)));
  }
  EXPECT_TRUE(parts.link_to_host(1).output.empty());
}

}  // namespace
}  // namespace impishim::wire::test
