// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/nesting.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

TraceEvent slice(std::int32_t tag, std::int64_t begin, std::int64_t end,
                 TraceKind kind = TraceKind::kCall) {
  TraceEvent event;
  event.kind = kind;
  event.tag = tag;
  event.begin_ns = begin;
  event.end_ns = end;
  return event;
}

TraceEvent instant(std::int32_t tag, std::int64_t at) {
  return slice(tag, at, at, TraceKind::kSent);
}

/// The steps as "+1@10": event 1 begins at 10; "-1@20": it ends; "!2@15": an instant.
std::string steps_of(const std::vector<TraceEvent>& events) {
  std::vector<const TraceEvent*> pointers;
  for (const TraceEvent& each : events) pointers.push_back(&each);
  std::string text;
  walk_nested(pointers, [&text](const TraceStep& step) {
    const char* sign = step.kind == TraceStep::Kind::kBegin ? "+"
                       : step.kind == TraceStep::Kind::kEnd ? "-"
                                                            : "!";
    text += fmt::format("{}{}{}@{}", text.empty() ? "" : " ", sign, step.event->tag, step.at_ns);
  });
  return text;
}

TEST(WalkNested, NoEvents) { EXPECT_EQ(steps_of({}), ""); }

TEST(WalkNested, OneAfterTheOther) {
  EXPECT_EQ(steps_of({slice(1, 10, 20), slice(2, 20, 30)}), "+1@10 -1@20 +2@20 -2@30");
}

TEST(WalkNested, InnerEventsAreAddedFirst) {
  EXPECT_EQ(steps_of({instant(3, 15), slice(2, 12, 18, TraceKind::kWait), slice(1, 10, 20)}),
            "+1@10 +2@12 !3@15 -2@18 -1@20");
}

TEST(WalkNested, EqualTimes) {
  // A call around a wait, which began and ended with it.
  EXPECT_EQ(steps_of({slice(2, 10, 20, TraceKind::kWait), slice(1, 10, 20)}),
            "+1@10 +2@10 -2@20 -1@20");
}

TEST(WalkNested, AnInstantAtAnEndBelongsToTheCall) {
  EXPECT_EQ(steps_of({slice(1, 10, 20), instant(2, 20)}), "+1@10 !2@20 -1@20");
  EXPECT_EQ(steps_of({slice(1, 10, 20), instant(2, 10)}), "+1@10 !2@10 -1@20");
  EXPECT_EQ(steps_of({slice(1, 10, 20), instant(2, 20), slice(3, 20, 25)}),
            "+1@10 -1@20 +3@20 !2@20 -3@25");
}

TEST(WalkNested, AnEmptyCallBeginsBeforeItEnds) {
  EXPECT_EQ(steps_of({slice(1, 10, 10), slice(2, 10, 10)}), "+1@10 -1@10 +2@10 -2@10");
}

TEST(WalkNested, WhatLastsTooLongEndsWithTheOuterOne) {
  EXPECT_EQ(steps_of({slice(1, 10, 20), slice(2, 15, 25)}), "+1@10 +2@15 -2@20 -1@20");
}

TEST(WalkNested, LooseInstants) {
  EXPECT_EQ(steps_of({instant(2, 9), instant(1, 5)}), "!1@5 !2@9");
}

}  // namespace
}  // namespace impishim::wire
