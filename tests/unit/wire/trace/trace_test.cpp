// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/trace.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

TraceEvent tagged(std::int32_t tag) {
  TraceEvent event;
  event.tag = tag;
  return event;
}

std::vector<std::int32_t> tags_of(const TraceContent& content) {
  std::vector<std::int32_t> tags;
  for (const TraceEvent& each : content.events) tags.push_back(each.tag);
  return tags;
}

TEST(Trace, KeepsEventsInTheirOrder) {
  Trace trace(3 * sizeof(TraceEvent));
  trace.add(tagged(1));
  trace.add(tagged(2));
  const TraceContent content = trace.take().value();
  EXPECT_EQ(tags_of(content), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(content.lost, 0U);
}

TEST(Trace, LosesTheOldestEvents) {
  Trace trace(3 * sizeof(TraceEvent) + 1);
  for (std::int32_t tag = 0; tag < 8; ++tag) trace.add(tagged(tag));
  const TraceContent content = trace.take().value();
  EXPECT_EQ(tags_of(content), (std::vector<std::int32_t>{5, 6, 7}));
  EXPECT_EQ(content.lost, 5U);
}

TEST(Trace, HasRoomForOneEventAtLeast) {
  Trace trace(1);
  trace.add(tagged(1));
  trace.add(tagged(2));
  EXPECT_EQ(tags_of(trace.take().value()), (std::vector<std::int32_t>{2}));
}

TEST(Trace, AddNowSetsTheTime) {
  Trace trace(1024);
  const std::int64_t before = trace.now_ns();
  trace.add_now(tagged(1));
  const std::int64_t after = trace.now_ns();
  const TraceEvent event = trace.take().value().events.at(0);
  EXPECT_LE(before, event.begin_ns);
  EXPECT_LE(event.begin_ns, after);
  EXPECT_EQ(event.begin_ns, event.end_ns);
}

TEST(Trace, ClockIsSkewed) {
  constexpr std::int64_t kHour = 3600000000000;
  const Trace straight(1024);
  const Trace skewed(1024, kHour);
  EXPECT_NEAR(static_cast<double>(skewed.now_ns() - straight.now_ns()), kHour, 1e9);
}

TEST(Trace, ThreadsHaveNumbers) {
  constexpr std::size_t kThreads = 4;
  constexpr int kEvents = 1000;
  Trace trace(kThreads * kEvents * sizeof(TraceEvent));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&trace, i] {
      for (int k = 0; k < kEvents; ++k) trace.add(tagged(static_cast<std::int32_t>(i)));
    });
  }
  for (std::thread& each : threads) each.join();
  const TraceContent content = trace.take().value();
  EXPECT_EQ(content.threads.size(), kThreads);
  ASSERT_EQ(content.events.size(), kThreads * kEvents);
  std::set<std::pair<std::int32_t, std::uint16_t>> pairs;
  for (const TraceEvent& each : content.events) pairs.emplace(each.tag, each.thread);
  EXPECT_EQ(pairs.size(), kThreads);
}

TEST(Trace, TwoTracesCountTheirThreads) {
  Trace first(1024);
  Trace second(1024);
  first.add(tagged(1));
  second.add(tagged(2));
  first.add(tagged(3));
  for (Trace* each : {&first, &second}) {
    const TraceContent content = each->take().value();
    for (const TraceEvent& event : content.events) EXPECT_LT(event.thread, content.threads.size());
  }
}

TEST(Trace, IsTakenOnce) {
  Trace trace(1024);
  trace.add(tagged(1));
  EXPECT_EQ(tags_of(trace.take().value()), (std::vector<std::int32_t>{1}));
  trace.add(tagged(2));
  EXPECT_FALSE(trace.take());
}

TEST(TraceFlow, DiffersBySenderAndRequest) {
  std::set<std::uint64_t> flows;
  for (const std::int32_t source : {0, 1, 2, 4096})
    for (const std::uint64_t request : {1ULL, 2ULL, 1ULL << 30U})
      flows.insert(flow_of(source, request));
  EXPECT_EQ(flows.size(), 12U);
  EXPECT_FALSE(flows.contains(0));
}

}  // namespace
}  // namespace impishim::wire
