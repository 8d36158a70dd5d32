// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "collectives/movement/allgather_exchange.hpp"
#include "long_blocks.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

using Counts = std::vector<std::size_t>;

Counts equal_counts(const SimulatedJob& job, std::size_t count) {
  return Counts(static_cast<std::size_t>(job.size()), count);
}

Counts mixed_counts(const SimulatedJob& job) {
  Counts counts;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(job.size()); ++rank)
    counts.push_back(rank * 7 % 5 * (rank % 3 + 1));
  return counts;
}

void check_allgather(SimulatedJob& job, const Counts& counts, bool equal, bool in_place) {
  SCOPED_TRACE(testing::Message() << (equal ? "" : "v") << (in_place ? " in place" : ""));
  job.bytes_may_cross = true;
  std::vector<LongBlocks> sent;
  std::vector<LongBlocks> all;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    const auto own = static_cast<std::size_t>(rank);
    sent.emplace_back(1, counts[own], lie_of(rank + 1));
    sent.back().fill(0, value_of(rank));
    all.emplace_back(counts, lie_of(rank));
    if (in_place) all.back().fill(own, value_of(rank));
  }
  const auto task = [&](std::int32_t rank, const Team& team) {
    const auto own = static_cast<std::size_t>(rank);
    const Data block = in_place ? all[own][own] : sent[own][0];
    return equal ? allgather(team, block, all[own].all()) : allgatherv(team, block, all[own].all());
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    const LongBlocks& here = all[static_cast<std::size_t>(rank)];
    for (std::int32_t from = 0; from < job.size(); ++from) {
      ASSERT_TRUE(here.holds(static_cast<std::size_t>(from), value_of(from))) << "at " << rank;
    }
    ASSERT_TRUE(here.gaps_untouched());
  }
}

void check_ways(SimulatedJob& job, const Counts& counts, bool equal) {
  check_allgather(job, counts, equal, true);
  if (!testing::Test::HasFailure()) check_allgather(job, counts, equal, false);
}

std::size_t clients(const SimulatedJob& job) {
  return static_cast<std::size_t>(job.membership(0).client_count());
}

/// Every block once to every other client: elements.
std::uint64_t needed(const SimulatedJob& job, const Counts& counts) {
  std::uint64_t sum = 0;
  for (const std::size_t count : counts) sum += count * (clients(job) - 1);
  return sum;
}

TEST(AllgatherTest, MastersSwapShortBlocksInOneDelay) {
  for_each_job([](SimulatedJob& job) {
    check_ways(job, equal_counts(job, 3), true);
    EXPECT_EQ(job.crossings().size(), clients(job) * (clients(job) - 1));
    EXPECT_EQ(job.crossing_bytes(), 8 * needed(job, equal_counts(job, 3)));
    EXPECT_EQ(job.delays(), clients(job) > 1 ? 1 : 0);
  });
}

TEST(AllgatherTest, LongBlocksGoStraightAndOnceToEachClient) {
  for_each_job([](SimulatedJob& job) {
    job.limits.overrides.long_from = 1;
    check_ways(job, equal_counts(job, 3), true);
    const auto crossings = job.crossings();
    EXPECT_EQ(crossings.size(), static_cast<std::size_t>(job.size()) * (clients(job) - 1));
    EXPECT_TRUE(std::ranges::all_of(crossings, [](const Message& m) { return m.elements == 3; }));
    EXPECT_EQ(job.delays(), clients(job) > 1 ? 1 : 0);
  });
}

TEST(AllgatherTest, LongBlocksAreDealtOverAllMembers) {
  SimulatedJob job({0, 0, 0, 0, 1, 1}, SendEnds::kAtOnce);
  job.limits.overrides.long_from = 1;
  check_allgather(job, equal_counts(job, 3), true, false);
  constexpr std::int32_t kTag = kStraightTag;
  EXPECT_THAT(job.crossings(),
              testing::UnorderedElementsAre(Message{0, 4, kTag, 3}, Message{1, 4, kTag, 3},
                                            Message{2, 5, kTag, 3}, Message{3, 5, kTag, 3},
                                            Message{4, 0, kTag, 3}, Message{5, 2, kTag, 3}));
}

TEST(AllgatherTest, DealingIsFairAndKeepsTheOrder) {
  for (std::size_t blocks = 1; blocks < 20; ++blocks) {
    for (std::size_t receivers = 1; receivers < 20; ++receivers) {
      std::vector<std::size_t> shares(receivers, 0);
      std::size_t last = 0;
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t receiver = receiver_of(block, blocks, receivers);
        ASSERT_LT(receiver, receivers);
        ASSERT_GE(receiver, last);
        last = receiver;
        ++shares[receiver];
      }
      ASSERT_LE(std::ranges::max(shares), (blocks + receivers - 1) / receivers);
    }
  }
}

TEST(AllgatherTest, OfNothingSendsNothing) {
  for_each_job([](SimulatedJob& job) {
    check_ways(job, equal_counts(job, 0), true);
    check_ways(job, equal_counts(job, 0), false);
    EXPECT_TRUE(job.messages().empty());
  });
}

TEST(AllgatherTest, ImpiFormIsGatherThenBcast) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    for (const bool equal : {true, false}) {
      check_ways(job, equal ? equal_counts(job, 3) : mixed_counts(job), equal);
      const auto crossings = job.crossings();
      EXPECT_EQ(crossings.size(), 2 * (clients(job) - 1));
      const auto tagged = [&](std::int32_t tag) {
        return static_cast<std::size_t>(std::ranges::count(crossings, tag, &Message::tag));
      };
      EXPECT_EQ(tagged(equal ? 130 : 140), clients(job) - 1);
      EXPECT_EQ(tagged(120), clients(job) - 1);
    }
  });
}

TEST(AllgathervTest, BlocksOfAnySizeOnceToEachClientInOneDelay) {
  for_each_job([](SimulatedJob& job) {
    for (const std::uint64_t long_from : {1U, 1U << 20U}) {
      job.limits.overrides.long_from = long_from;
      check_ways(job, mixed_counts(job), false);
      const std::uint64_t crossed =
          long_from == 1 ? job.crossing_elements() : job.crossing_bytes() / 8;
      EXPECT_EQ(crossed, needed(job, mixed_counts(job)));
      EXPECT_EQ(job.delays(), clients(job) > 1 ? 1 : 0);
    }
  });
}

/// Every rank gets the other group's blocks.
void check_inter_allgather(SimulatedJob& job, bool empty) {
  job.bytes_may_cross = true;
  const std::int32_t first = job.first_group_size();
  const Counts counts = empty ? equal_counts(job, 0) : mixed_counts(job);
  const Counts of_first(counts.begin(), counts.begin() + first);
  const Counts of_second(counts.begin() + first, counts.end());
  std::vector<LongBlocks> sent;
  std::vector<LongBlocks> all;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    sent.emplace_back(1, counts[static_cast<std::size_t>(rank)], lie_of(rank + 1));
    sent.back().fill(0, value_of(rank));
    all.emplace_back(rank < first ? of_second : of_first, lie_of(rank));
  }
  const auto task = [&](std::int32_t rank, const InterTeam& team) {
    const auto own = static_cast<std::size_t>(rank);
    return inter::allgatherv(team, sent[own][0], all[own].all());
  };
  ASSERT_TRUE(job.run_inter(task)) << job.failure();
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    const LongBlocks& here = all[static_cast<std::size_t>(rank)];
    const std::int32_t begin = rank < first ? first : 0;
    const std::int32_t end = rank < first ? job.size() : first;
    for (std::int32_t from = begin; from < end; ++from) {
      ASSERT_TRUE(here.holds(static_cast<std::size_t>(from - begin), value_of(from)))
          << "at " << rank;
    }
    ASSERT_TRUE(here.gaps_untouched());
  }
  EXPECT_LE(job.delays(), 1);
  EXPECT_TRUE(!empty || job.messages().empty());
}

TEST(InterAllgathervTest, GivesEverybodyTheOtherGroupsBlocks) {
  for_each_inter_job([](SimulatedJob& job) {
    for (const std::uint64_t segment : {65536, 24}) {
      job.limits.overrides.segment = segment;
      check_inter_allgather(job, false);
      check_inter_allgather(job, true);
    }
  });
}

}  // namespace
}  // namespace impishim::collectives::test
