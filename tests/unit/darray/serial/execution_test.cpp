// SPDX-License-Identifier: Apache-2.0
// Execution, by one process.
#include "darray/schedule/detail/execution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "darray/base/error.hpp"
#include "darray/communicator/communicator.hpp"

namespace impishim::darray {
namespace {

using testing::ElementsAre;

/// A schedule that completes at its second test, or when it is waited for.
class SlowSchedule {
 public:
  void execute(const char* name, const char* /*destination*/) {
    ran.push_back(name);
    ++executions;
  }
  void start(const char* name, const char* /*destination*/) {
    ran.push_back(name);
    tests_left = 2;
  }
  bool test() {
    if (tests_left > 0) --tests_left;
    return tests_left == 0;
  }
  void wait() { tests_left = 0; }

  std::vector<std::string> ran;
  int executions = 0;
  int tests_left = 0;
};

class ExecutionTest : public testing::Test {
 protected:
  ExecutionTest() : execution(Communicator(MPI_COMM_WORLD)) {}
  void add_step(const char* name) {
    execution.add_local([this, name] { steps.emplace_back(name); });
  }
  void add_failing(const char* text) {
    execution.add_local([this, text] {
      steps.emplace_back(text);
      throw std::runtime_error(text);
    });
  }
  void add_schedule(const char* name) {
    execution.add_schedule(schedule, [this, name](bool blocking) {
      Execution::begin(schedule, name, name, blocking);
    });
  }
  Execution execution;
  SlowSchedule schedule;
  std::vector<std::string> steps;
};

TEST_F(ExecutionTest, RunsItsStepsInOrderEachTime) {
  add_step("a");
  add_step("b");
  execution.run([this] { steps.emplace_back("first"); });
  execution.run();
  EXPECT_THAT(steps, ElementsAre("first", "a", "b", "a", "b"));
}

TEST_F(ExecutionTest, ARunExecutesSchedules) {
  add_schedule("part");
  add_step("after");
  execution.run();
  EXPECT_EQ(schedule.executions, 1);
  EXPECT_THAT(steps, ElementsAre("after"));
}

TEST_F(ExecutionTest, AStartedExecutionAdvancesWithItsSchedules) {
  add_schedule("part");
  add_step("after");
  execution.start();
  EXPECT_EQ(schedule.executions, 0);
  EXPECT_TRUE(execution.under_way());
  EXPECT_THAT(steps, ElementsAre());
  execution.wait();
  EXPECT_THAT(steps, ElementsAre("after"));
  EXPECT_FALSE(execution.under_way());
}

TEST_F(ExecutionTest, OneExecutionRunsAtATime) {
  add_schedule("part");
  execution.start();
  EXPECT_THROW(execution.start(), Error);
  EXPECT_THROW(execution.run(), Error);
  execution.wait();
  execution.run();
}

TEST_F(ExecutionTest, TheStepsAfterAFailureRunAndTheFirstFailureIsThrown) {
  add_failing("early");
  add_failing("late");
  add_step("after");
  EXPECT_THROW(
      {
        try {
          execution.run();
        } catch (const std::runtime_error& error) {
          EXPECT_STREQ(error.what(), "early");
          throw;
        }
      },
      std::runtime_error);
  EXPECT_THAT(steps, ElementsAre("early", "late", "after"));
  EXPECT_THROW(
      {
        execution.start();
        execution.wait();
      },
      std::runtime_error);
}

TEST_F(ExecutionTest, AFailureOfTheFirstWorkLosesNoStep) {
  add_step("after");
  EXPECT_THROW(execution.run([] { throw std::runtime_error("first"); }), std::runtime_error);
  EXPECT_THAT(steps, ElementsAre("after"));
}

TEST_F(ExecutionTest, AnMpiErrorOfAPartIsKeptUntilTheOtherStepsHaveRun) {
  execution.add_part([](bool) { fail(ErrorKind::kMpi, "of a part"); }, [](bool) { return true; });
  add_step("after");
  EXPECT_THROW(execution.run(), Error);
  EXPECT_THAT(steps, ElementsAre("after"));
}

TEST_F(ExecutionTest, AnMpiErrorOfAnOperationEndsTheExecutionAtOnce) {
  execution.add([](bool, MPI_Request&) { fail(ErrorKind::kMpi, "of an operation"); });
  add_step("after");
  EXPECT_THROW(execution.run(), Error);
  EXPECT_THAT(steps, ElementsAre());
}

}  // namespace
}  // namespace impishim::darray
