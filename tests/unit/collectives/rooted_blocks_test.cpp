// SPDX-License-Identifier: Apache-2.0
// Gather and scatter: the same blocks, to one process or from it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
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

std::uint64_t other_clients(const SimulatedJob& job) {
  return static_cast<std::uint64_t>(job.membership(0).client_count() - 1);
}

/// A direction of blocks between a root and all others.
struct Direction {
  std::string name;
  bool to_root;
  std::int32_t tag;    ///< of IMPI's form
  std::int32_t v_tag;  ///< of its form for blocks of any size
};

/// Which operation, and where the root's own block is.
struct Setting {
  std::int32_t root;
  bool equal;  ///< the blocks have one size
  bool in_place;
};

/// The blocks of a root, and the one that each rank has or gets.
struct Blocks {
  Blocks(const SimulatedJob& job, const Counts& counts, const Counts& root_counts, Lie lie)
      : all(root_counts, lie) {
    for (std::int32_t rank = 0; rank < job.size(); ++rank)
      own.emplace_back(1, counts[static_cast<std::size_t>(rank)], lie_of(rank));
  }
  [[nodiscard]] LongBlocks& of(std::int32_t rank) { return own[static_cast<std::size_t>(rank)]; }
  LongBlocks all;
  std::vector<LongBlocks> own;
};

class RootedBlocksTest : public testing::TestWithParam<Direction> {
 protected:
  /// Returns a message as it goes in this direction: `from` is the farther one from the root.
  [[nodiscard]] static Message message(std::int32_t from, std::int32_t to, std::int32_t tag,
                                       std::uint64_t elements) {
    return GetParam().to_root ? Message{from, to, tag, elements} : Message{to, from, tag, elements};
  }
  static Task run(const Team& team, const Setting& setting, Blocks& blocks, const Data& block) {
    const bool at_root = team.membership.rank == setting.root;
    if (GetParam().to_root) {
      const auto target = at_root ? blocks.all.all() : std::span<const Data>();
      return setting.equal ? gather(team, block, target, setting.root)
                           : gatherv(team, block, target, setting.root);
    }
    const auto source = at_root ? blocks.all.all_const() : std::span<const ConstData>();
    return setting.equal ? scatter(team, source, block, setting.root)
                         : scatterv(team, source, block, setting.root);
  }
  static void fill(Blocks& blocks, const Setting& setting, std::int32_t rank) {
    const bool at_root_in_place = rank == setting.root && setting.in_place;
    if (!GetParam().to_root || at_root_in_place)
      blocks.all.fill(static_cast<std::size_t>(rank), value_of(rank));
    if (GetParam().to_root) blocks.of(rank).fill(0, value_of(rank));
  }
  static testing::AssertionResult arrived(Blocks& blocks, const Setting& setting,
                                          std::int32_t rank) {
    const bool in_all = GetParam().to_root || (rank == setting.root && setting.in_place);
    return in_all ? blocks.all.holds(static_cast<std::size_t>(rank), value_of(rank))
                  : blocks.of(rank).holds(0, value_of(rank));
  }
  static void check(SimulatedJob& job, const Counts& counts, const Setting& setting) {
    SCOPED_TRACE(testing::Message() << "root " << setting.root << (setting.equal ? "" : ", v")
                                    << (setting.in_place ? ", in place" : ""));
    Blocks blocks(job, counts, counts, lie_of(setting.root / 2));
    for (std::int32_t rank = 0; rank < job.size(); ++rank) fill(blocks, setting, rank);
    const auto task = [&](std::int32_t rank, const Team& team) {
      const bool in_place = rank == setting.root && setting.in_place;
      return run(team, setting, blocks,
                 in_place ? blocks.all[static_cast<std::size_t>(rank)] : blocks.of(rank)[0]);
    };
    ASSERT_TRUE(job.run(task)) << job.failure();
    for (std::int32_t rank = 0; rank < job.size(); ++rank) {
      ASSERT_TRUE(arrived(blocks, setting, rank));
      ASSERT_TRUE(blocks.of(rank).gaps_untouched());
    }
    ASSERT_TRUE(blocks.all.gaps_untouched());
  }
  static void check_every_root(SimulatedJob& job, const Counts& counts, bool equal) {
    job.bytes_may_cross = true;
    for (std::int32_t root = 0; root < job.size() && !HasFailure(); ++root)
      check(job, counts, {root, equal, root % 2 == 1});
  }
};

TEST_P(RootedBlocksTest, ShortBlocksTravelTogetherInOneDelay) {
  for_each_job([](SimulatedJob& job) {
    check_every_root(job, equal_counts(job, 3), true);
    EXPECT_EQ(job.crossings().size(), other_clients(job));
    EXPECT_EQ(job.crossing_bytes(), ranks_elsewhere(job, job.size() - 1) * 24);
    EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0);
  });
}

TEST_P(RootedBlocksTest, LongBlocksTravelStraight) {
  for_each_job([](SimulatedJob& job) {
    job.limits.overrides.segment = 12;  // less than three longs in external32
    check_every_root(job, equal_counts(job, 3), true);
    EXPECT_EQ(job.crossings().size(), ranks_elsewhere(job, job.size() - 1));
    EXPECT_EQ(job.delays(), other_clients(job) > 0 ? 1 : 0);
  });
}

TEST_P(RootedBlocksTest, ManyShortBlocksTravelInSegments) {
  SimulatedJob job({0, 0, 0, 1, 1, 1, 1, 1}, SendEnds::kAtMatch);
  job.limits.overrides.segment = 50;
  check(job, equal_counts(job, 4), {0, true, false});
  EXPECT_EQ(job.crossings().size(), (5 * 4 * 8 + 49) / 50);
}

TEST_P(RootedBlocksTest, OfNothingSendsNothing) {
  for_each_job([](SimulatedJob& job) {
    check_every_root(job, equal_counts(job, 0), true);
    EXPECT_TRUE(job.messages().empty());
  });
}

TEST_P(RootedBlocksTest, ImpiFormHasOneMessageForEachMaster) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    for (const std::size_t count : {0, 3, 300}) {
      check_every_root(job, equal_counts(job, count), true);
      const auto crossings = job.crossings();
      EXPECT_EQ(crossings.size(), other_clients(job));
      EXPECT_TRUE(
          std::ranges::all_of(crossings, [](const Message& m) { return m.tag == GetParam().tag; }));
      if (count < 300) continue;
      EXPECT_TRUE(std::ranges::all_of(crossings, [&](const Message& m) {
        return (GetParam().to_root ? m.to : m.from) == job.size() - 1;
      })) << "no data goes twice";
    }
  });
}

TEST_P(RootedBlocksTest, ImpiShortFormIsABinomialTree) {
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  job.limits.impi_only = true;
  job.limits.same_representation = false;
  job.bytes_may_cross = true;
  check(job, equal_counts(job, 1), {5, true, false});
  // Virtual 0..5 are clients 4, 5, 0, 1, 2, 3, spoken for by ranks 5, 6, 0, 1, 2, 3; blocks have 4
  // bytes in external32.
  EXPECT_THAT(job.crossings(), testing::UnorderedElementsAre(message(6, 5, GetParam().tag, 4),
                                                             message(1, 0, GetParam().tag, 4),
                                                             message(0, 5, GetParam().tag, 8),
                                                             message(3, 2, GetParam().tag, 4),
                                                             message(2, 5, GetParam().tag, 8)));
}

TEST_P(RootedBlocksTest, BytesThatMastersPassOnAreInAFormThatAllRead) {
  SimulatedJob job({0, 1, 1}, SendEnds::kAtOnce);
  job.limits.same_representation = false;
  job.bytes_may_cross = true;
  for (const bool impi : {false, true}) {
    job.limits.impi_only = impi;
    check(job, equal_counts(job, 1), {0, true, false});
    ASSERT_EQ(job.untyped().size(), 1U);
    const auto& bytes = job.untyped()[0];
    ASSERT_EQ(bytes.size(), impi ? 8U : 16U) << "two longs";
    EXPECT_EQ(static_cast<long>(bytes.back()), value_of(2) % 256) << "the last byte is the least";
    EXPECT_EQ(bytes.front(), std::byte{0});
  }
}

TEST_P(RootedBlocksTest, BlocksOfAnySizeOfEveryRank) {
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

TEST_P(RootedBlocksTest, LongBlocksTravelAloneAndShortOnesTogether) {
  SimulatedJob job({0, 0, 1, 1, 1, 1, 2}, SendEnds::kAtOnce);
  job.limits.overrides.segment = 40;
  // Of ranks 2 to 5, the first and the last are long; rank 6 has nothing.
  check(job, {3, 3, 10, 2, 1, 12, 0}, {0, false, false});
  EXPECT_THAT(job.crossings(), testing::UnorderedElementsAre(message(2, 0, kStraightTag, 10),
                                                             message(5, 0, kStraightTag, 12),
                                                             message(2, 0, kTogetherTag, 24)));
}

TEST_P(RootedBlocksTest, ImpiVFormHasOneMessageForEachMaster) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    check_every_root(job, mixed_counts(job), false);
    const auto crossings = job.crossings();
    EXPECT_EQ(crossings.size(), other_clients(job));
    EXPECT_TRUE(
        std::ranges::all_of(crossings, [](const Message& m) { return m.tag == GetParam().v_tag; }));
  });
}

/// Between process `root` of the whole job and the group that it is not in.
class InterRootedBlocksTest : public RootedBlocksTest {
 protected:
  struct Groups {
    std::int32_t root;
    std::int32_t begin;  ///< ranks of the other group
    std::int32_t end;
    std::int32_t root_in_group;
    [[nodiscard]] bool has(std::int32_t rank) const { return rank >= begin && rank < end; }
  };
  static Groups groups_of(const SimulatedJob& job, std::int32_t root) {
    const std::int32_t first = job.first_group_size();
    return root < first ? Groups{root, first, job.size(), root}
                        : Groups{root, 0, first, root - first};
  }
  static Task run_inter(std::int32_t rank, const InterTeam& team, const Groups& groups,
                        Blocks& blocks) {
    const std::int32_t other_side = rank == groups.root ? inter::kIsRoot : inter::kIsBystander;
    const std::int32_t root = groups.has(rank) ? groups.root_in_group : other_side;
    const Data block = groups.has(rank) ? blocks.of(rank)[0] : Data{};
    if (GetParam().to_root) {
      return inter::gatherv(team, block,
                            rank == groups.root ? blocks.all.all() : std::span<const Data>(), root);
    }
    return inter::scatterv(
        team, rank == groups.root ? blocks.all.all_const() : std::span<const ConstData>(), block,
        root);
  }
  static void check_inter(SimulatedJob& job, std::int32_t root, bool empty) {
    SCOPED_TRACE(testing::Message() << "root " << root << (empty ? ", of nothing" : ""));
    const Groups groups = groups_of(job, root);
    const Counts counts = empty ? equal_counts(job, 0) : mixed_counts(job);
    Blocks blocks(job, counts, Counts(counts.begin() + groups.begin, counts.begin() + groups.end),
                  lie_of(root));
    for (std::int32_t rank = groups.begin; rank < groups.end; ++rank) {
      if (GetParam().to_root) blocks.of(rank).fill(0, value_of(rank));
      if (!GetParam().to_root)
        blocks.all.fill(static_cast<std::size_t>(rank - groups.begin), value_of(rank));
    }
    const auto task = [&](std::int32_t rank, const InterTeam& team) {
      return run_inter(rank, team, groups, blocks);
    };
    ASSERT_TRUE(job.run_inter(task)) << job.failure();
    for (std::int32_t rank = groups.begin; rank < groups.end; ++rank) {
      ASSERT_TRUE(
          GetParam().to_root
              ? blocks.all.holds(static_cast<std::size_t>(rank - groups.begin), value_of(rank))
              : blocks.of(rank).holds(0, value_of(rank)));
      ASSERT_TRUE(blocks.of(rank).gaps_untouched());
    }
    ASSERT_TRUE(blocks.all.gaps_untouched());
    EXPECT_LE(job.delays(), 1);
    EXPECT_TRUE(!empty || job.messages().empty());
  }
};

TEST_P(InterRootedBlocksTest, BlocksOfTheOtherGroup) {
  for_each_inter_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;
    for (const std::uint64_t segment : {65536, 24}) {
      job.limits.overrides.segment = segment;
      for (std::int32_t root = 0; root < job.size() && !HasFailure(); ++root) {
        check_inter(job, root, false);
        check_inter(job, root, true);
      }
    }
  });
}

const auto kDirections =
    testing::Values(Direction{"Gather", true, 130, 140}, Direction{"Scatter", false, 150, 160});
std::string name_of(const testing::TestParamInfo<Direction>& direction) {
  return direction.param.name;
}
INSTANTIATE_TEST_SUITE_P(Directions, RootedBlocksTest, kDirections, name_of);
INSTANTIATE_TEST_SUITE_P(Directions, InterRootedBlocksTest, kDirections, name_of);

}  // namespace
}  // namespace impishim::collectives::test
