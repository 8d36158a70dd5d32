// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "long_blocks.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

std::uint64_t other_clients(const SimulatedJob& job) {
  return static_cast<std::uint64_t>(job.membership(0).client_count() - 1);
}

/// Broadcasts `count` longs from `root`; every rank has them in its own way.
void check_bcast(SimulatedJob& job, std::int32_t root, std::size_t count) {
  SCOPED_TRACE(testing::Message() << "root " << root << ", " << count << " elements");
  std::vector<LongBlocks> buffers;
  for (std::int32_t rank = 0; rank < job.size(); ++rank)
    buffers.emplace_back(1, count, lie_of(rank + root));
  buffers[static_cast<std::size_t>(root)].fill(0, value_of(root));
  const auto task = [&](std::int32_t rank, const Team& team) {
    return bcast(team, buffers[static_cast<std::size_t>(rank)][0], root);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (const LongBlocks& buffer : buffers) {
    ASSERT_TRUE(buffer.holds(0, value_of(root)));
    ASSERT_TRUE(buffer.gaps_untouched());
  }
}

void check_every_root(SimulatedJob& job, std::size_t count) {
  for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root)
    check_bcast(job, root, count);
}

TEST(BcastTest, ReachesEverybodyFromEveryRootWithOneMessageForEachOtherClient) {
  for_each_job([](SimulatedJob& job) {
    for (const bool impi : {false, true}) {
      job.limits.impi_only = impi;
      check_every_root(job, 5);
      EXPECT_EQ(job.crossings().size(), other_clients(job));
      EXPECT_TRUE(std::ranges::all_of(
          job.messages(), [](const Message& m) { return m.tag == 120 && m.elements == 5; }));
    }
  });
}

TEST(BcastTest, OwnFormTakesOneDelay) {
  for_each_job([](SimulatedJob& job) {
    check_bcast(job, job.size() / 2, 5);
    EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0);
  });
}

TEST(BcastTest, LongDataCrossesInSegmentsOnce) {
  for_each_job([](SimulatedJob& job) {
    constexpr std::size_t kCount = 99;
    job.bytes_may_cross = true;
    job.limits.overrides.segment = 56;
    for (const std::uint64_t long_from : {100U, 100000U}) {
      job.limits.overrides.long_from = long_from;
      for (const std::int32_t root : {0, job.size() / 2, job.size() - 1})
        check_bcast(job, root, kCount);
      // 8 bytes each, in the wide form as well.
      EXPECT_EQ(job.crossings().size(), other_clients(job) * ((kCount * 8 + 55) / 56));
      EXPECT_EQ(job.crossing_bytes(), other_clients(job) * kCount * 8);
    }
    EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0) << "a linear form";
  });
}

// Where lengths may differ, those that do not cost no message and no delay.
TEST(BcastTest, ToBeWaryCostsNothing) {
  for_each_job([](SimulatedJob& job) {
    constexpr std::size_t kLong = 99;
    job.limits.lengths_may_differ = true;
    job.bytes_may_cross = true;
    job.limits.overrides.segment = 56;
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{5}, std::size_t{7}, std::size_t{8}, kLong}) {
      for (const std::int32_t root : {0, job.size() / 2, job.size() - 1})
        check_bcast(job, root, count);
      EXPECT_EQ(job.crossings().size(),
                other_clients(job) * std::max<std::size_t>(1, (count * 8 + 55) / 56));
      EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0);
    }
  });
}

TEST(BcastTest, SegmentsMayEndInsideElements) {
  SimulatedJob job({0, 1, 0, 1, 1}, SendEnds::kAtMatch);
  job.bytes_may_cross = true;
  job.limits.overrides.segment = 13;
  for (const bool alike : {true, false}) {
    job.limits.same_representation = alike;
    check_every_root(job, 17);
  }
}

TEST(BcastTest, OfNothing) {
  for_each_job([](SimulatedJob& job) { check_bcast(job, job.size() - 1, 0); });
}

TEST(BcastTest, ImpiTreeIsCountedFromTheRootsClient) {
  const ElementType type = plain_type(wire::BasicType::kInt32);
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  job.limits.impi_only = true;
  std::vector<std::int32_t> data(7);
  const auto task = [&](std::int32_t rank, const Team& team) {
    return bcast(
        team, {reinterpret_cast<std::byte*>(&data[static_cast<std::size_t>(rank)]), 1, &type}, 5);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  // Virtual 0..5 are clients 4, 5, 0, 1, 2, 3, spoken for by ranks 5, 6, 0, 1, 2, 3.
  EXPECT_THAT(job.messages(),
              testing::UnorderedElementsAre(Message{5, 6, 120, 1}, Message{5, 0, 120, 1},
                                            Message{5, 2, 120, 1}, Message{6, 1, 120, 1},
                                            Message{6, 3, 120, 1}));
  std::vector<std::int32_t> from_root;
  for (const Message& message : job.messages()) {
    if (message.from == 5) from_root.push_back(message.to);
  }
  EXPECT_THAT(from_root, testing::ElementsAre(6, 0, 2));
}

/// From process `root` of the whole job to the group that it is not in.
void check_inter_bcast(SimulatedJob& job, std::int32_t root, std::size_t count) {
  SCOPED_TRACE(testing::Message() << "root " << root << ", " << count << " elements");
  const std::int32_t first = job.first_group_size();
  const bool root_in_first = root < first;
  std::vector<LongBlocks> buffers;
  for (std::int32_t rank = 0; rank < job.size(); ++rank)
    buffers.emplace_back(1, count, lie_of(rank + root));
  buffers[static_cast<std::size_t>(root)].fill(0, value_of(root));
  const auto task = [&](std::int32_t rank, const InterTeam& team) {
    const bool is_receiver = (rank < first) != root_in_first;
    const std::int32_t other_side = rank == root ? inter::kIsRoot : inter::kIsBystander;
    return inter::bcast(team, buffers[static_cast<std::size_t>(rank)][0],
                        is_receiver ? root - (root_in_first ? 0 : first) : other_side);
  };
  ASSERT_TRUE(job.run_inter(task)) << job.failure();
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    if ((rank < first) == root_in_first) continue;
    ASSERT_TRUE(buffers[static_cast<std::size_t>(rank)].holds(0, value_of(root))) << "at " << rank;
    ASSERT_TRUE(buffers[static_cast<std::size_t>(rank)].gaps_untouched());
  }
  std::vector<bool> reached(static_cast<std::size_t>(job.membership(0).client_count()));
  for (std::int32_t rank = root_in_first ? first : 0; rank < (root_in_first ? job.size() : first);
       ++rank) {
    if (!job.membership(root).is_local(rank))
      reached[static_cast<std::size_t>(job.membership(0).client_of(rank))] = true;
  }
  const auto clients = static_cast<std::size_t>(std::ranges::count(reached, true));
  const std::size_t segments = count * 8 > job.limits.overrides.segment ? (count * 8 + 55) / 56 : 1;
  EXPECT_EQ(job.crossings().size(), clients * segments);
  EXPECT_EQ(job.delays(), clients > 0 ? 1 : 0);
}

TEST(InterBcastTest, ReachesTheOtherGroupOnceForEachOfItsClients) {
  for_each_inter_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;
    job.limits.overrides.segment = 56;
    for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) {
      check_inter_bcast(job, root, 5);
      check_inter_bcast(job, root, 40);
      check_inter_bcast(job, root, 0);
    }
  });
}

}  // namespace
}  // namespace impishim::collectives::test
