// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/task.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace impishim::collectives {
namespace {

class Event final : public Pending {
 public:
  bool done() override { return over; }
  Result<void> outcome() override {
    ++asked;
    return error ? Result<void>(*error) : Result<void>();
  }
  [[nodiscard]] bool in_vendor() const override { return false; }

  bool over = false;
  int asked = 0;
  std::optional<Error> error;
};

/// Notes its own end.
struct Guard {
  bool& ended;
  ~Guard() { ended = true; }
};

Task two_events(Event& first, Event& second, std::string& trace) {
  trace += "a";
  co_await first;
  trace += "b";
  co_await second;
  trace += "c";
}

Task nested(Event& first, Event& second, Event& third, std::string& trace) {
  trace += "(";
  co_await two_events(first, second, trace);
  trace += ")";
  co_await third;
  trace += ".";
}

Task holding(Event& event, bool& ended) {
  const Guard guard{ended};
  co_await event;
}

Task outer_holding(Event& event, bool& ended) { co_await holding(event, ended); }

Task nothing_to_do() { co_return; }

TEST(TaskTest, StartsWithTheFirstStepAndGoesOnWhereItWaited) {
  Event first;
  Event second;
  std::string trace;
  Task task = two_events(first, second, trace);
  EXPECT_EQ(trace, "");
  EXPECT_EQ(task.awaited(), nullptr);
  EXPECT_FALSE(task.step());
  EXPECT_FALSE(task.step());
  EXPECT_EQ(trace, "a");
  EXPECT_EQ(task.awaited(), &first);
  first.over = true;
  EXPECT_FALSE(task.step());
  EXPECT_EQ(trace, "ab");
  EXPECT_EQ(task.awaited(), &second);
  second.over = true;
  EXPECT_TRUE(task.step());
  EXPECT_EQ(trace, "abc");
  EXPECT_TRUE(task.done());
  EXPECT_TRUE(task.step()) << "a further step of an ended task changes nothing";
  EXPECT_EQ(first.asked, 1);
  EXPECT_EQ(second.asked, 1);
}

TEST(TaskTest, DoesNotStopAtWhatIsDoneAlready) {
  Event first;
  Event second;
  first.over = second.over = true;
  std::string trace;
  Task task = two_events(first, second, trace);
  EXPECT_TRUE(task.step());
  EXPECT_EQ(trace, "abc");
}

TEST(TaskTest, RunsAnAwaitedTaskAsAPartOfItself) {
  Event first;
  Event second;
  Event third;
  std::string trace;
  Task task = nested(first, second, third, trace);
  EXPECT_FALSE(task.step());
  EXPECT_EQ(trace, "(a");
  EXPECT_EQ(task.awaited(), &first);
  first.over = second.over = true;
  EXPECT_FALSE(task.step());
  EXPECT_EQ(trace, "(abc)");
  EXPECT_EQ(task.awaited(), &third);
  third.over = true;
  EXPECT_TRUE(task.step());
  EXPECT_EQ(trace, "(abc).");
}

/// Awaits two operations, one after the other, at the same address.
Task two_at_one_address(std::optional<Event>& place) {
  co_await place.emplace();
  co_await place.emplace();
}

TEST(TaskTest, WaitsGrowWithProgressEvenAtOneAddress) {
  std::optional<Event> place;
  Task task = two_at_one_address(place);
  EXPECT_EQ(task.waits(), 0U);
  EXPECT_FALSE(task.step());
  const Pending* const first = task.awaited();
  EXPECT_EQ(task.waits(), 1U);
  EXPECT_FALSE(task.step());
  EXPECT_EQ(task.waits(), 1U) << "nothing has happened";
  place->over = true;
  EXPECT_FALSE(task.step());
  EXPECT_EQ(task.awaited(), first);
  EXPECT_EQ(task.waits(), 2U);
  place->over = true;
  EXPECT_TRUE(task.step());
}

TEST(TaskTest, GoesOnAfterErrorsAndTellsTheFirst) {
  Event first;
  Event second;
  Event third;
  first.over = second.over = third.over = true;
  first.error = Error{ErrorKind::kTruncation, "first"};
  third.error = Error{ErrorKind::kConversion, "third"};
  std::string trace;
  Task task = nested(first, second, third, trace);
  EXPECT_TRUE(task.step());
  EXPECT_EQ(trace, "(abc).");
  ASSERT_FALSE(task.outcome().ok());
  EXPECT_EQ(task.outcome().error().kind, ErrorKind::kTruncation);
  EXPECT_EQ(task.outcome().error().text, "first");
}

TEST(TaskTest, IsWellWithoutErrors) {
  Task task = nothing_to_do();
  EXPECT_FALSE(task.done());
  EXPECT_TRUE(task.step());
  EXPECT_TRUE(task.outcome().ok());
}

TEST(TaskTest, LetsGoOfEverythingWhenItIsDroppedInTheMiddle) {
  Event event;
  bool ended = false;
  {
    Task task = outer_holding(event, ended);
    EXPECT_FALSE(task.step());
    EXPECT_FALSE(ended);
  }
  EXPECT_TRUE(ended);
}

TEST(TaskTest, MovesWhileItWaits) {
  Event event;
  bool ended = false;
  Task task = outer_holding(event, ended);
  EXPECT_FALSE(task.step());
  Task moved = std::move(task);
  event.over = true;
  EXPECT_TRUE(moved.step());
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace impishim::collectives
