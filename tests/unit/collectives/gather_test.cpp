// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "long_blocks.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

using Counts = std::vector<std::size_t>;

Counts equal_counts(const SimulatedJob& job, std::size_t count) {
  return Counts(static_cast<std::size_t>(job.size()), count);
}

/// Some of them nothing, some long enough for a message of their own.
Counts mixed_counts(const SimulatedJob& job) {
  Counts counts;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(job.size()); ++rank)
    counts.push_back(rank * 7 % 5 * (rank % 3 + 1));
  return counts;
}

struct Setting {
  std::int32_t root;
  bool equal;  ///< gather, not gatherv
  bool in_place;
};

void check_gather(SimulatedJob& job, const Counts& counts, const Setting& setting) {
  const auto [root, equal, in_place] = setting;
  SCOPED_TRACE(testing::Message() << "root " << root << (equal ? "" : ", v")
                                  << (in_place ? ", in place" : ""));
  std::vector<LongBlocks> sent;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    sent.emplace_back(1, counts[static_cast<std::size_t>(rank)], lie_of(rank));
    sent.back().fill(0, value_of(rank));
  }
  LongBlocks all(counts, lie_of(root / 2));
  if (in_place) all.fill(static_cast<std::size_t>(root), value_of(root));
  const auto task = [&](std::int32_t rank, const Team& team) {
    const bool at_root = rank == root;
    const Data block = at_root && in_place ? all[static_cast<std::size_t>(root)]
                                           : sent[static_cast<std::size_t>(rank)][0];
    const auto target = at_root ? all.all() : std::span<const Data>();
    return equal ? gather(team, block, target, root) : gatherv(team, block, target, root);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    ASSERT_TRUE(all.holds(static_cast<std::size_t>(rank), value_of(rank)));
  }
  ASSERT_TRUE(all.gaps_untouched());
}

void check_every_root(SimulatedJob& job, const Counts& counts, bool equal) {
  job.bytes_may_cross = true;
  for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) {
    check_gather(job, counts, {root, equal, root % 2 == 1});
  }
}

std::uint64_t other_clients(const SimulatedJob& job) {
  return static_cast<std::uint64_t>(job.membership(0).client_count() - 1);
}

TEST(GatherTest, ShortBlocksComeTogetherInOneDelay) {
  for_each_job([](SimulatedJob& job) {
    check_every_root(job, equal_counts(job, 3), true);
    EXPECT_EQ(job.crossings().size(), other_clients(job));
    EXPECT_EQ(job.crossing_bytes(), ranks_elsewhere(job, job.size() - 1) * 24);
    EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0);
  });
}

TEST(GatherTest, LongBlocksComeStraight) {
  for_each_job([](SimulatedJob& job) {
    job.limits.overrides.segment = 12;  // less than three longs in external32
    check_every_root(job, equal_counts(job, 3), true);
    EXPECT_EQ(job.crossings().size(), ranks_elsewhere(job, job.size() - 1));
    EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0);
  });
}

TEST(GatherTest, ManyShortBlocksComeInSegments) {
  SimulatedJob job({0, 0, 0, 1, 1, 1, 1, 1}, SendEnds::kAtMatch);
  job.limits.overrides.segment = 50;
  check_gather(job, equal_counts(job, 4), {0, true, false});
  EXPECT_EQ(job.crossings().size(), (5 * 4 * 8 + 49) / 50);
}

TEST(GatherTest, OfNothingSendsNothing) {
  for_each_job([](SimulatedJob& job) {
    check_every_root(job, equal_counts(job, 0), true);
    EXPECT_TRUE(job.messages().empty());
  });
}

TEST(GatherTest, ImpiFormHasOneMessageFromEachMaster) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    for (const std::size_t count : {0, 3, 300}) {
      check_every_root(job, equal_counts(job, count), true);
      const auto crossings = job.crossings();
      EXPECT_EQ(crossings.size(), other_clients(job));
      EXPECT_TRUE(std::ranges::all_of(crossings, [](const Message& m) { return m.tag == 130; }));
      if (count < 300) continue;
      EXPECT_TRUE(std::ranges::all_of(crossings, [&](const Message& m) {
        return m.to == job.size() - 1;
      })) << "no data goes twice";
    }
  });
}

TEST(GatherTest, ImpiShortFormIsABinomialTree) {
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  job.limits.impi_only = true;
  job.limits.same_representation = false;
  job.bytes_may_cross = true;
  check_gather(job, equal_counts(job, 1), {5, true, false});
  // Virtual 0..5 are clients 4, 5, 0, 1, 2, 3, spoken for by ranks 5, 6, 0, 1, 2, 3; blocks have 4
  // bytes in external32.
  EXPECT_THAT(job.crossings(),
              testing::UnorderedElementsAre(Message{6, 5, 130, 4}, Message{1, 0, 130, 4},
                                            Message{0, 5, 130, 8}, Message{3, 2, 130, 4},
                                            Message{2, 5, 130, 8}));
}

TEST(GatherTest, BytesThatMastersPassOnAreInAFormThatEverybodyReads) {
  SimulatedJob job({0, 1, 1}, SendEnds::kAtOnce);
  job.limits.same_representation = false;
  job.bytes_may_cross = true;
  for (const bool impi : {false, true}) {
    job.limits.impi_only = impi;
    check_gather(job, equal_counts(job, 1), {0, true, false});
    ASSERT_EQ(job.untyped().size(), 1U);
    const auto& bytes = job.untyped()[0];
    ASSERT_EQ(bytes.size(), impi ? 8U : 16U) << "two longs";
    EXPECT_EQ(static_cast<long>(bytes.back()), value_of(2) % 256) << "the last byte is the least";
    EXPECT_EQ(bytes.front(), std::byte{0});
  }
}

TEST(GathervTest, BlocksOfAnySizeFromEverybody) {
  for_each_job([](SimulatedJob& job) {
    for (const std::uint64_t segment : {65536, 24}) {
      job.limits.overrides.segment = segment;
      check_every_root(job, mixed_counts(job), false);
      EXPECT_EQ(job.delays(), std::min<std::uint64_t>(other_clients(job), 1));
    }
    check_every_root(job, equal_counts(job, 0), false);
    EXPECT_TRUE(job.messages().empty());
  });
}

TEST(GathervTest, LongBlocksTravelAloneAndShortOnesTogether) {
  SimulatedJob job({0, 0, 1, 1, 1, 1, 2}, SendEnds::kAtOnce);
  job.limits.overrides.segment = 40;
  // Of ranks 2 to 5, the first and the last are long; rank 6 has nothing.
  check_gather(job, {3, 3, 10, 2, 1, 12, 0}, {0, false, false});
  EXPECT_THAT(job.crossings(), testing::UnorderedElementsAre(Message{2, 0, kStraightTag, 10},
                                                             Message{5, 0, kStraightTag, 12},
                                                             Message{2, 0, kTogetherTag, 24}));
}

TEST(GathervTest, ImpiFormHasOneMessageFromEachMaster) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    check_every_root(job, mixed_counts(job), false);
    const auto crossings = job.crossings();
    EXPECT_EQ(crossings.size(), other_clients(job));
    EXPECT_TRUE(std::ranges::all_of(crossings, [](const Message& m) { return m.tag == 140; }));
  });
}

/// To process `root` of the whole job from the group that it is not in.
void check_inter_gather(SimulatedJob& job, std::int32_t root, bool empty) {
  SCOPED_TRACE(testing::Message() << "root " << root << (empty ? ", of nothing" : ""));
  const std::int32_t first = job.first_group_size();
  const bool root_in_first = root < first;
  const std::int32_t begin = root_in_first ? first : 0;
  const std::int32_t end = root_in_first ? job.size() : first;
  const Counts counts = empty ? equal_counts(job, 0) : mixed_counts(job);
  std::vector<LongBlocks> sent;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    sent.emplace_back(1, counts[static_cast<std::size_t>(rank)], lie_of(rank));
    sent.back().fill(0, value_of(rank));
  }
  LongBlocks all(Counts(counts.begin() + begin, counts.begin() + end), lie_of(root));
  const auto task = [&](std::int32_t rank, const InterTeam& team) {
    const bool is_sender = rank >= begin && rank < end;
    const std::int32_t other_side = rank == root ? inter::kIsRoot : inter::kIsBystander;
    return inter::gatherv(team, is_sender ? sent[static_cast<std::size_t>(rank)][0] : Data{},
                          rank == root ? all.all() : std::span<const Data>(),
                          is_sender ? root - (root_in_first ? 0 : first) : other_side);
  };
  ASSERT_TRUE(job.run_inter(task)) << job.failure();
  for (std::int32_t rank = begin; rank < end; ++rank) {
    ASSERT_TRUE(all.holds(static_cast<std::size_t>(rank - begin), value_of(rank)));
  }
  ASSERT_TRUE(all.gaps_untouched());
  EXPECT_LE(job.delays(), 1);
  EXPECT_TRUE(!empty || job.messages().empty());
}

TEST(InterGathervTest, BringsTheOtherGroupsBlocks) {
  for_each_inter_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;
    for (const std::uint64_t segment : {65536, 24}) {
      job.limits.overrides.segment = segment;
      for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) {
        check_inter_gather(job, root, false);
        check_inter_gather(job, root, true);
      }
    }
  });
}

}  // namespace
}  // namespace impishim::collectives::test
