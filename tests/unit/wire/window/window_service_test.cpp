// SPDX-License-Identifier: Apache-2.0
// One-sided communication between processes in memory.
#include "wire/window/window_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/element_operation.hpp"
#include "wire/window/engine_channel.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {
namespace {

using Kind = WindowRequestKind;
using testing::Each;
using testing::ElementsAre;

constexpr WindowId kWindow = 3;
constexpr std::size_t kLong = 50000;  ///< elements that do not travel with a request

/// Three processes in three systems, each with a window of integers.
class WindowServiceTest : public testing::TestWithParam<Format> {
 protected:
  WindowServiceTest()
      : job({.procs_of_hosts = {{1}, {1}, {1}},
             .seed = 7,
             .format = GetParam(),
             .values = {.datalen = 8192}}) {
    for (int rank = 0; rank < job.size(); ++rank) {
      memory.emplace_back(kLong + 10, rank);
      targets.push_back(std::make_unique<WindowTarget>(WindowMemory::fixed(
          reinterpret_cast<std::byte*>(memory.back().data()), 4 * memory.back().size(), 4)));
    }
    for (int rank = 0; rank < job.size(); ++rank) {
      channels.push_back(std::make_unique<EngineChannel>(
          job.engine(rank), rank, [](WorldRank /*rank*/) { return GetParam(); }));
      services.push_back(std::make_unique<WindowService>(*channels.back(), nullptr,
                                                         [](WorldRank /*rank*/) { return false; }));
      services.back()->add(kWindow, *targets[static_cast<std::size_t>(rank)]);
    }
  }
  ~WindowServiceTest() override {
    services.clear();
    channels.clear();
    EXPECT_TRUE(job.close_all());
  }
  [[nodiscard]] WindowService& service(int rank) {
    return *services[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::vector<std::int32_t>& room(int rank) {
    return memory[static_cast<std::size_t>(rank)];
  }
  /// Runs all processes until a condition holds.
  [[nodiscard]] bool run_until(const std::function<bool()>& done) {
    return job.run_until([&] {
      for (const auto& each : services) each->progress(WindowService::Caller::kAnyThread);
      return done();
    });
  }
  [[nodiscard]] static WindowRequest request(Kind kind, std::int64_t displacement = 0,
                                             std::uint64_t count = 0) {
    WindowRequest made;
    made.kind = kind;
    made.element = ElementKind::kInt32;
    made.basic = BasicType::kInt32;
    made.window = kWindow;
    made.displacement = displacement;
    made.count = count;
    return made;
  }
  [[nodiscard]] static ConstBuffer from(const std::vector<std::int32_t>& values) {
    return {reinterpret_cast<const std::byte*>(values.data()), values.size(),
            &TypeLayout::basic(BasicType::kInt32)};
  }
  [[nodiscard]] static MutableBuffer to(std::vector<std::int32_t>& values) {
    return {reinterpret_cast<std::byte*>(values.data()), values.size(),
            &TypeLayout::basic(BasicType::kInt32)};
  }
  /// Sends a request that is answered, and waits for the answer.
  WindowStatus ask(int origin, int target, const WindowRequest& made, const ConstBuffer& data = {},
                   const MutableBuffer& result = {}) {
    WindowAnswer answer;
    EXPECT_TRUE(service(origin).ask(target, made, data, result, answer).ok());
    EXPECT_TRUE(run_until([&] { return answer.complete(); }));
    return answer.status();
  }
  void flush(int origin, int target) {
    EXPECT_EQ(ask(origin, target, request(Kind::kFlush)), WindowStatus::kDone);
  }

  test::SimulatedJob job;
  std::vector<std::vector<std::int32_t>> memory;
  std::vector<std::unique_ptr<WindowTarget>> targets;
  std::vector<std::unique_ptr<EngineChannel>> channels;
  std::vector<std::unique_ptr<WindowService>> services;
};

TEST_P(WindowServiceTest, AFlushedPutIsInTheTargetsMemory) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, kLong}) {
    std::vector<std::int32_t> data(size);
    std::iota(data.begin(), data.end(), 100);
    const auto ticket = service(0).send(1, request(Kind::kPut, 5, size), from(data));
    ASSERT_TRUE(ticket.ok());
    flush(0, 1);
    EXPECT_TRUE(run_until([&] { return service(0).sent(*ticket); }));
    EXPECT_TRUE(std::equal(data.begin(), data.end(), room(1).begin() + 5));
    EXPECT_EQ(room(1)[4], 1);
    EXPECT_EQ(room(1)[5 + size], 1);
  }
  EXPECT_EQ(service(1).applied(kWindow, 0), 3U);
}

TEST_P(WindowServiceTest, AccessesLeaveWithTheFlushBehindThem) {
  if (GetParam() != Format::kNative)
    GTEST_SKIP() << "only messages in the representation of this machine wait in a batch";
  const auto calls = [&] { return job.engine(0).counters().send_calls; };
  const std::vector<std::int32_t> data{5};
  std::vector<std::int32_t> got{-1};
  const std::uint64_t before = calls();
  WindowAnswer got_answer;
  ASSERT_TRUE(service(0).send(1, request(Kind::kPut, 2, 1), from(data)).ok());
  ASSERT_TRUE(service(0).ask(1, request(Kind::kGet, 2, 1), {}, to(got), got_answer).ok());
  EXPECT_EQ(calls(), before);
  WindowAnswer flushed;
  ASSERT_TRUE(service(0).ask(1, request(Kind::kFlush), {}, {}, flushed).ok());
  EXPECT_GT(calls(), before);
  EXPECT_TRUE(run_until([&] { return flushed.complete() && got_answer.complete(); }));
  EXPECT_EQ(got[0], 5);
  // Without a flush they leave at the next poll.
  ASSERT_TRUE(service(0).send(1, request(Kind::kPut, 2, 1), from(got)).ok());
  EXPECT_TRUE(run_until([&] { return service(1).applied(kWindow, 0) == 3; }));
}

// Process 0 has passed a fence that process 1 has not: process 2 may still send to it.
TEST_P(WindowServiceTest, AnAccessBehindAFenceWaitsForItsTarget) {
  const std::vector<std::int32_t> before{7};
  const std::vector<std::int32_t> behind{8};
  std::vector<std::int32_t> got{-1};
  service(0).pass_fence(kWindow);
  WindowAnswer answer;
  ASSERT_TRUE(service(0).ask(1, request(Kind::kGet, 5, 1), {}, to(got), answer).ok());
  ASSERT_TRUE(service(0).send(1, request(Kind::kPut, 5, 1), from(behind)).ok());
  ASSERT_TRUE(service(2).send(1, request(Kind::kPut, 5, 1), from(before)).ok());
  flush(2, 1);
  EXPECT_EQ(room(1)[5], 7);
  EXPECT_EQ(service(1).applied(kWindow, 0), 0U);
  EXPECT_FALSE(answer.complete());
  service(1).pass_fence(kWindow);
  EXPECT_TRUE(run_until([&] { return answer.complete(); }));
  EXPECT_EQ(got[0], 7);
  flush(0, 1);
  EXPECT_EQ(room(1)[5], 8);
  // A process that is behind is served at once: its requests belong to the epoch before.
  EXPECT_EQ(ask(2, 1, request(Kind::kGet, 5, 1), {}, to(got)), WindowStatus::kDone);
  EXPECT_EQ(got[0], 8);
}

TEST_P(WindowServiceTest, AGetReadsTheTargetsMemory) {
  std::iota(room(2).begin(), room(2).end(), 0);
  for (const std::size_t size : {std::size_t{1}, kLong}) {
    std::vector<std::int32_t> data(size, -1);
    EXPECT_EQ(ask(0, 2, request(Kind::kGet, 7, size), {}, to(data)), WindowStatus::kDone);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), room(2).begin() + 7));
  }
}

TEST_P(WindowServiceTest, DatatypesWithGapsOnBothSides) {
  std::iota(room(1).begin(), room(1).end(), 0);
  WindowRequest made = request(Kind::kGet, 0, 2);
  made.layout =
      std::make_shared<TypeLayout>(std::vector<Block>{{0, BasicType::kInt32, 1, 2, 8}}, 20);
  std::vector<std::int32_t> data(8, -1);
  const TypeLayout backwards({{28, BasicType::kInt32, 1, 4, -8}}, 32);
  EXPECT_EQ(ask(0, 1, made, {}, {reinterpret_cast<std::byte*>(data.data()), 1, &backwards}),
            WindowStatus::kDone);
  EXPECT_THAT(data, ElementsAre(-1, 7, -1, 5, -1, 2, -1, 0));
}

TEST_P(WindowServiceTest, AccumulatesOfOneOriginAreOrdered) {
  // The long one's data arrives after the short one.
  WindowRequest replace = request(Kind::kAccumulate, 0, kLong);
  WindowRequest add = request(Kind::kAccumulate, 0, 1);
  add.operation = ElementOperation::kSum;
  const std::vector<std::int32_t> values(kLong, 1000);
  static_cast<void>(service(0).send(1, replace, from(values)));
  static_cast<void>(service(0).send(1, add, from({7})));
  flush(0, 1);
  EXPECT_EQ(room(1)[0], 1007);
  EXPECT_EQ(room(1)[kLong - 1], 1000);
}

TEST_P(WindowServiceTest, FetchedValuesAreAllDifferent) {
  constexpr int kRounds = 50;
  room(0)[0] = 0;
  WindowRequest add = request(Kind::kGetAccumulate, 0, 1);
  add.operation = ElementOperation::kSum;
  std::vector<std::int32_t> fetched;
  std::vector<std::vector<std::int32_t>> results(2 * kRounds, {-1});
  std::vector<WindowAnswer> answers(2 * kRounds);
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_TRUE(service(1 + static_cast<int>(i % 2))
                    .ask(0, add, from({1}), to(results[i]), answers[i])
                    .ok());
  EXPECT_TRUE(run_until([&] { return std::ranges::all_of(answers, &WindowAnswer::complete); }));
  for (const auto& each : results) fetched.push_back(each[0]);
  std::ranges::sort(fetched);
  for (std::size_t i = 0; i < fetched.size(); ++i)
    EXPECT_EQ(fetched[i], static_cast<std::int32_t>(i));
  EXPECT_EQ(room(0)[0], 2 * kRounds);
}

TEST_P(WindowServiceTest, LongValuesAreFetched) {
  WindowRequest add = request(Kind::kGetAccumulate, 0, kLong);
  add.operation = ElementOperation::kSum;
  std::vector<std::int32_t> before(kLong, -1);
  EXPECT_EQ(ask(0, 2, add, from(std::vector<std::int32_t>(kLong, 10)), to(before)),
            WindowStatus::kDone);
  EXPECT_THAT(before, Each(2));
  EXPECT_EQ(room(2)[kLong - 1], 12);
}

TEST_P(WindowServiceTest, LongDataOfRequestsAndAnswersIsNotMixedUp) {
  room(1).assign(room(1).size(), 20);
  const std::vector<std::int32_t> ones(kLong, 1);
  std::vector<std::int32_t> got(kLong, -1);
  WindowAnswer answer;
  // The get of process 0 and the put of process 1 have the same ticket.
  EXPECT_TRUE(service(0).ask(1, request(Kind::kGet, 0, kLong), {}, to(got), answer).ok());
  static_cast<void>(service(1).send(0, request(Kind::kPut, 0, kLong), from(ones)));
  EXPECT_TRUE(run_until([&] { return answer.complete(); }));
  flush(1, 0);
  EXPECT_THAT(got, Each(20));
  EXPECT_EQ(room(0)[kLong - 1], 1);
}

TEST_P(WindowServiceTest, CompareAndSwap) {
  std::vector<std::int32_t> before = {-1};
  EXPECT_EQ(ask(0, 1, request(Kind::kCompareAndSwap, 4, 1), from({1, 50}), to(before)),
            WindowStatus::kDone);
  EXPECT_EQ(before[0], 1);
  EXPECT_EQ(room(1)[4], 50);
}

TEST_P(WindowServiceTest, AnExclusiveLockExcludesOthersUntilItIsReleased) {
  WindowRequest lock = request(Kind::kLock);
  lock.exclusive = true;
  EXPECT_EQ(ask(0, 2, lock), WindowStatus::kDone);
  WindowAnswer second;
  EXPECT_TRUE(service(1).ask(2, lock, {}, {}, second).ok());
  job.settle();
  for (const auto& each : services) each->progress(WindowService::Caller::kAnyThread);
  job.settle();
  EXPECT_FALSE(second.complete());
  // What the holder has put is there before the next one holds the lock.
  const std::vector<std::int32_t> nines(kLong, 9);
  static_cast<void>(service(0).send(2, request(Kind::kPut, 0, kLong), from(nines)));
  WindowAnswer released;
  EXPECT_TRUE(service(0).ask(2, request(Kind::kUnlock), {}, {}, released).ok());
  EXPECT_TRUE(run_until([&] { return second.complete(); }));
  EXPECT_EQ(room(2)[kLong - 1], 9);
  EXPECT_TRUE(run_until([&] { return released.complete(); }));
  EXPECT_EQ(ask(1, 2, request(Kind::kUnlock)), WindowStatus::kDone);
}

TEST_P(WindowServiceTest, RequestsBehindOneForTheLockWaitUntilItIsHeld) {
  WindowRequest lock = request(Kind::kLock);
  lock.exclusive = true;
  EXPECT_EQ(ask(0, 2, lock), WindowStatus::kDone);
  // One round trip for all: nothing is waited for before the unlock.
  WindowAnswer locked;
  WindowAnswer read;
  WindowAnswer unlocked;
  std::vector<std::int32_t> before(1, -1);
  EXPECT_TRUE(service(1).ask(2, lock, {}, {}, locked).ok());
  EXPECT_TRUE(service(1).ask(2, request(Kind::kGet, 3, 1), {}, to(before), read).ok());
  static_cast<void>(service(1).send(2, request(Kind::kPut, 3, 1), from({30})));
  const std::vector<std::int32_t> sixes(kLong, 6);
  static_cast<void>(service(1).send(2, request(Kind::kPut, 4, kLong), from(sixes)));
  EXPECT_TRUE(service(1).ask(2, request(Kind::kUnlock), {}, {}, unlocked).ok());
  job.settle();
  for (const auto& each : services) each->progress(WindowService::Caller::kAnyThread);
  job.settle();
  EXPECT_FALSE(read.complete());
  EXPECT_EQ(room(2)[3], 2);
  static_cast<void>(service(0).send(2, request(Kind::kPut, 3, 1), from({20})));
  EXPECT_EQ(ask(0, 2, request(Kind::kUnlock)), WindowStatus::kDone);
  EXPECT_TRUE(run_until([&] { return unlocked.complete(); }));
  EXPECT_TRUE(locked.complete());
  EXPECT_EQ(before[0], 20);
  EXPECT_EQ(room(2)[3], 30);
  EXPECT_EQ(room(2)[3 + kLong], 6);
  // The lock is free again.
  EXPECT_EQ(ask(0, 2, lock), WindowStatus::kDone);
  EXPECT_EQ(ask(0, 2, request(Kind::kUnlock)), WindowStatus::kDone);
}

TEST_P(WindowServiceTest, TheEndOfAnEpochComesBehindItsData) {
  service(1).tell(0, request(Kind::kPost));
  EXPECT_TRUE(run_until([&] { return service(0).told(kWindow, 1, Kind::kPost) == 1; }));
  const std::vector<std::int32_t> eights(kLong, 8);
  static_cast<void>(service(0).send(1, request(Kind::kPut, 0, kLong), from(eights)));
  service(0).tell(1, request(Kind::kComplete));
  EXPECT_TRUE(run_until([&] { return service(1).told(kWindow, 0, Kind::kComplete) == 1; }));
  EXPECT_EQ(room(1)[kLong - 1], 8);
}

TEST_P(WindowServiceTest, AccessOutsideOfTheWindowIsToldToItsOrigin) {
  static_cast<void>(service(0).send(1, request(Kind::kPut, kLong + 10, 1), from({5})));
  const std::vector<std::int32_t> fives(kLong, 5);
  static_cast<void>(service(0).send(1, request(Kind::kPut, kLong, kLong), from(fives)));
  flush(0, 1);
  EXPECT_EQ(service(0).take_error(kWindow), WindowStatus::kOutOfRange);
  EXPECT_EQ(service(0).take_error(kWindow), WindowStatus::kDone);
  std::vector<std::int32_t> data(1, -1);
  EXPECT_EQ(ask(0, 1, request(Kind::kGet, -1, 1), {}, to(data)), WindowStatus::kOutOfRange);
  EXPECT_EQ(data[0], -1);
  EXPECT_EQ(room(1)[kLong + 9], 1);
  EXPECT_EQ(service(1).failure(), nullptr);
}

TEST_P(WindowServiceTest, AnOperationThatTheTypeLacksIsToldToItsOrigin) {
  WindowRequest made = request(Kind::kAccumulate, 0, 1);
  made.operation = ElementOperation::kMinimumLocation;
  static_cast<void>(service(0).send(1, made, from({5})));
  flush(0, 1);
  EXPECT_EQ(service(0).take_error(kWindow), WindowStatus::kBadRequest);
}

TEST_P(WindowServiceTest, AnUnlockOfALockThatIsNotHeldEndsTheService) {
  WindowAnswer answer;
  EXPECT_TRUE(service(0).ask(1, request(Kind::kUnlock), {}, {}, answer).ok());
  EXPECT_TRUE(run_until([&] { return service(1).failure() != nullptr; }));
  EXPECT_NE(service(1).failure()->text.find("does not hold"), std::string::npos);
}

TEST_P(WindowServiceTest, AnAnswerOfAnotherProcessEndsTheService) {
  // Process 0 waits for process 1; its request has ticket 1, which process 2 answers.
  WindowRequest lock = request(Kind::kLock);
  lock.exclusive = true;
  EXPECT_EQ(ask(2, 1, lock), WindowStatus::kDone);
  WindowAnswer answer;
  EXPECT_TRUE(service(0).ask(1, lock, {}, {}, answer).ok());
  WindowRequest lie = request(Kind::kAnswer);
  lie.ticket = 1;
  service(2).tell(0, lie);
  EXPECT_TRUE(run_until([&] { return service(0).failure() != nullptr; }));
  EXPECT_NE(service(0).failure()->text.find("another process"), std::string::npos);
  EXPECT_TRUE(answer.complete()) << "nobody waits for a service that has ended";
}

INSTANTIATE_TEST_SUITE_P(Formats, WindowServiceTest,
                         testing::Values(Format::kNative, Format::kWide));

}  // namespace
}  // namespace impishim::wire
