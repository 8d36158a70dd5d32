// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <array>
#include <chrono>
#include <thread>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/poller.hpp"

namespace impishim::wire {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using test::kLongMs;

class PollerTest : public testing::Test {
 protected:
  void ring() {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(event.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
  }
  Descriptor event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Poller poller;
  std::array<epoll_event, 4> events{};
};

TEST_F(PollerTest, GivesNothingWhenTimeIsOver) {
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 7).ok());
  for (const auto timeout : {0us, 1us, 300us, 1000us, 1300us}) {
    const auto begin = std::chrono::steady_clock::now();
    auto count = poller.wait(timeout, events);
    ASSERT_TRUE(count.ok());
    EXPECT_EQ(*count, 0U);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, timeout);
  }
}

TEST_F(PollerTest, TellsWhoIsReadyByItsToken) {
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 0x123456789abcdef0U).ok());
  ring();
  auto count = poller.wait(milliseconds(kLongMs), events);
  ASSERT_TRUE(count.ok());
  ASSERT_EQ(*count, 1U);
  EXPECT_EQ(events[0].data.u64, 0x123456789abcdef0U);
  EXPECT_NE(events[0].events & EPOLLIN, 0U);
  // Level-triggered: still there.
  EXPECT_EQ(*poller.wait(milliseconds(kLongMs), events), 1U);
  EXPECT_EQ(*poller.wait(999999us, events), 1U)
      << "part of it is waited for on the epoll descriptor";
}

TEST_F(PollerTest, ChangesWhatIsAwaited) {
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 1).ok());
  ASSERT_TRUE(
      poller
          .modify(event.get(),
                  static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLOUT), 2)
          .ok());
  ASSERT_EQ(*poller.wait(milliseconds(kLongMs), events), 1U);
  EXPECT_EQ(events[0].data.u64, 2U);
  EXPECT_EQ(events[0].events, static_cast<std::uint32_t>(EPOLLOUT));
}

TEST_F(PollerTest, ForgetsWhatIsRemoved) {
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 1).ok());
  ring();
  ASSERT_TRUE(poller.remove(event.get()).ok());
  EXPECT_EQ(*poller.wait(0us, events), 0U);
}

TEST_F(PollerTest, ReportsMisuse) {
  EXPECT_FALSE(poller.add(-1, EPOLLIN, 1).ok());
  EXPECT_FALSE(poller.modify(event.get(), EPOLLIN, 1).ok());
  EXPECT_FALSE(poller.remove(event.get()).ok());
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 1).ok());
  auto twice = poller.add(event.get(), EPOLLIN, 1);
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, ErrorKind::kSystem);
}

TEST_F(PollerTest, AWakeEndsTheNextWaitAndOnlyThat) {
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 1).ok());
  poller.wake();
  poller.wake();
  EXPECT_EQ(*poller.wait(-1us, events), 0U);
  ring();
  EXPECT_EQ(*poller.wait(-1us, events), 1U) << "the wake-ups are used up, the event is there";
}

TEST_F(PollerTest, AWakeDoesNotHideEvents) {
  ASSERT_TRUE(poller.add(event.get(), EPOLLIN, 1).ok());
  ring();
  poller.wake();
  ASSERT_EQ(*poller.wait(milliseconds(kLongMs), events), 1U);
  EXPECT_EQ(events[0].data.u64, 1U);
}

TEST_F(PollerTest, ALookLeavesAWakeToWhoWaits) {
  poller.wake();
  auto count = poller.ready(events);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0U);
  count = poller.wait(-1us, events);
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0U);
}

TEST_F(PollerTest, AWakeEndsAWaitInAnotherThread) {
  std::thread waker([&] { poller.wake(); });
  auto count = poller.wait(-1us, events);
  waker.join();
  ASSERT_TRUE(count.ok());
  EXPECT_EQ(*count, 0U);
}

}  // namespace
}  // namespace impishim::wire
