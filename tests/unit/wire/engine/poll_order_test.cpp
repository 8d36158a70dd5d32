// SPDX-License-Identifier: Apache-2.0
// In what order a process looks at those it is connected to.
#include <gtest/gtest.h>

#include "tests/unit/wire/engine/simulated_job.hpp"

namespace impishim::wire {
namespace {

/// Rank 0 and its neighbour, rank 1, on one host, and rank 2 on another; rank 0 alone is looked at
/// by the tests.
class PollOrder : public testing::Test {
 protected:
  void send(int from) {
    test::Send message(job, from, 0, from, test::pattern(8, static_cast<unsigned>(from)));
    job.engine(from).poll(true);
    ASSERT_TRUE(message.operation.complete());
  }
  [[nodiscard]] bool has_come(int from) {
    return job.engine(0).probe(0, from, kAnyTag).has_value();
  }
  void take(int from) {
    test::Receive receive(job, 0, from, kAnyTag, 8);
    ASSERT_TRUE(receive.complete());
  }

  test::SimulatedJob job{[] {
    test::JobShape shape;
    shape.procs_of_hosts = {{2}, {1}};
    return shape;
  }()};
};

TEST_F(PollOrder, AnotherHostWaitsOneLookForANeighbour) {
  send(1);
  send(2);
  job.engine(0).poll(true);
  EXPECT_TRUE(has_come(1));
  EXPECT_FALSE(has_come(2));
  job.engine(0).poll(true);
  EXPECT_TRUE(has_come(2));
}

TEST_F(PollOrder, AnotherHostWaitsForABusyNeighbourOnceOnly) {
  send(1);
  send(2);
  job.engine(0).poll(true);
  take(1);
  send(1);
  job.engine(0).poll(true);
  EXPECT_TRUE(has_come(1));
  EXPECT_TRUE(has_come(2));
}

TEST_F(PollOrder, ASilentNeighbourKeepsNobodyWaiting) {
  send(2);
  job.engine(0).poll(true);
  EXPECT_TRUE(has_come(2));
}

}  // namespace
}  // namespace impishim::wire
