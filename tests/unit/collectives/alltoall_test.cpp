// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "long_blocks.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

using CountOf = std::function<std::size_t(std::int32_t from, std::int32_t to)>;

/// The same in both directions, so that it can be used in place; often nothing.
std::size_t mixed_count(std::int32_t from, std::int32_t to) {
  return static_cast<std::size_t>((from + to) * 7 % 4);
}
/// Another one in each direction.
std::size_t skewed_count(std::int32_t from, std::int32_t to) {
  return static_cast<std::size_t>((from + 3 * to) % 5);
}

/// A rank's blocks for or from `partners`, which begin with rank `first`.
struct Buffers {
  Buffers(std::int32_t rank, std::int32_t first, std::int32_t partners, const CountOf& count,
          bool in_place)
      : in_place(in_place),
        to(counts(first, partners, [&](std::int32_t i) { return count(rank, i); }),
           lie_of(rank + 1)),
        from(counts(first, partners, [&](std::int32_t i) { return count(i, rank); }),
             lie_of(rank)) {
    for (std::int32_t i = 0; i < partners; ++i) {
      (in_place ? from : to).fill(static_cast<std::size_t>(i), value_of(rank, first + i));
    }
  }
  static std::vector<std::size_t> counts(std::int32_t first, std::int32_t partners,
                                         const std::function<std::size_t(std::int32_t)>& count) {
    std::vector<std::size_t> all;
    for (std::int32_t i = first; i < first + partners; ++i) all.push_back(count(i));
    return all;
  }
  [[nodiscard]] std::span<const ConstData> outgoing() const {
    return in_place ? from.all_const() : to.all_const();
  }
  bool in_place;
  LongBlocks to;
  LongBlocks from;
};

using Operation = Task (*)(const Team&, std::span<const ConstData>, std::span<const Data>);

void check(SimulatedJob& job, Operation operation, const CountOf& count, bool in_place) {
  SCOPED_TRACE(in_place ? "in place" : "from another buffer");
  std::vector<Buffers> buffers;
  for (std::int32_t rank = 0; rank < job.size(); ++rank)
    buffers.emplace_back(rank, 0, job.size(), count, in_place);
  const auto task = [&](std::int32_t rank, const Team& team) {
    const Buffers& own = buffers[static_cast<std::size_t>(rank)];
    return operation(team, own.outgoing(), own.from.all());
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    const LongBlocks& received = buffers[static_cast<std::size_t>(rank)].from;
    for (std::int32_t from = 0; from < job.size(); ++from) {
      ASSERT_TRUE(received.holds(static_cast<std::size_t>(from), value_of(from, rank)))
          << "at " << rank;
    }
    ASSERT_TRUE(received.gaps_untouched());
  }
}

void check_ways(SimulatedJob& job, Operation operation, const CountOf& count) {
  job.bytes_may_cross = true;
  check(job, operation, count, true);
  if (!testing::Test::HasFailure()) check(job, operation, count, false);
}

CountOf always(std::size_t count) {
  return [count](std::int32_t, std::int32_t) { return count; };
}

std::size_t clients(const SimulatedJob& job) {
  return static_cast<std::size_t>(job.membership(0).client_count());
}

TEST(AlltoallTest, MastersSwapShortBlocksInOneDelay) {
  for_each_job([](SimulatedJob& job) {
    check_ways(job, alltoall, always(2));
    EXPECT_EQ(job.crossings().size(), clients(job) * (clients(job) - 1));
    EXPECT_EQ(job.crossing_bytes(), pairs_apart(job) * 16);
    EXPECT_EQ(job.delays(), clients(job) > 1 ? 1 : 0);
  });
}

/// Messages inside a client of five, of six ranks, for blocks of `count` times eight bytes.
std::ptrdiff_t messages_inside(std::size_t count, bool same_representation) {
  SimulatedJob job({0, 0, 0, 0, 0, 1}, SendEnds::kAtMatch);
  job.limits.same_representation = same_representation;
  check_ways(job, alltoall, always(count));
  EXPECT_EQ(job.crossings().size(), 2U);
  return std::ranges::count_if(job.messages(), &Message::local);
}

TEST(AlltoallTest, ShortBlocksInsideGoByTheMasterUnlessTheyWouldBeConverted) {
  EXPECT_EQ(messages_inside(2, true), 0);
  EXPECT_EQ(messages_inside(81, true), 0);  // 25 blocks of 648 bytes
  EXPECT_EQ(messages_inside(82, true), 20);
  EXPECT_EQ(messages_inside(2, false), 20);
}

TEST(AlltoallTest, LongBlocksGoStraightInOneDelay) {
  for_each_job([](SimulatedJob& job) {
    job.limits.xsize = 1;
    check_ways(job, alltoall, always(2));
    EXPECT_EQ(job.crossings().size(), pairs_apart(job));
    EXPECT_EQ(job.crossing_elements(), pairs_apart(job) * 2);
    EXPECT_EQ(job.delays(), clients(job) > 1 ? 1 : 0);
  });
}

TEST(AlltoallTest, ImpiFormIsPairwise) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    for (const std::size_t count : {2, 0}) {
      check_ways(job, alltoall, always(count));
      const auto crossings = job.crossings();
      EXPECT_EQ(crossings.size(), pairs_apart(job));
      EXPECT_TRUE(std::ranges::all_of(
          crossings, [&](const Message& m) { return m.tag == 170 && m.elements == count; }));
    }
  });
}

TEST(AlltoallTest, OfNothingSendsNothing) {
  for_each_job([](SimulatedJob& job) {
    check_ways(job, alltoall, always(0));
    EXPECT_TRUE(job.messages().empty());
  });
}

TEST(AlltoallvTest, BlocksOfAnySizeGoStraight) {
  for_each_job([](SimulatedJob& job) {
    check_ways(job, alltoallv, mixed_count);
    check(job, alltoallv, skewed_count, false);
    EXPECT_TRUE(
        std::ranges::none_of(job.messages(), [](const Message& m) { return m.elements == 0; }));
    EXPECT_LE(job.delays(), 1);
  });
}

TEST(AlltoallvTest, ImpiFormIsPairwise) {
  for_each_job([](SimulatedJob& job) {
    job.limits.impi_only = true;
    check_ways(job, alltoallv, mixed_count);
    const auto crossings = job.crossings();
    EXPECT_EQ(crossings.size(), pairs_apart(job)) << "also of nothing";
    EXPECT_TRUE(std::ranges::all_of(crossings, [&](const Message& m) { return m.tag == 180; }));
  });
}

TEST(InterAlltoallvTest, SwapsBlocksBetweenTheGroups) {
  for_each_inter_job([](SimulatedJob& job) {
    const std::int32_t first = job.first_group_size();
    std::vector<Buffers> buffers;
    for (std::int32_t rank = 0; rank < job.size(); ++rank) {
      if (rank < first) {
        buffers.emplace_back(rank, first, job.size() - first, skewed_count, false);
      } else {
        buffers.emplace_back(rank, 0, first, skewed_count, false);
      }
    }
    const auto task = [&](std::int32_t rank, const InterTeam& team) {
      const Buffers& own = buffers[static_cast<std::size_t>(rank)];
      return inter::alltoallv(team, own.outgoing(), own.from.all());
    };
    ASSERT_TRUE(job.run_inter(task)) << job.failure();
    for (std::int32_t rank = 0; rank < job.size(); ++rank) {
      const LongBlocks& received = buffers[static_cast<std::size_t>(rank)].from;
      const std::int32_t begin = rank < first ? first : 0;
      for (std::int32_t from = begin; from < (rank < first ? job.size() : first); ++from) {
        ASSERT_TRUE(received.holds(static_cast<std::size_t>(from - begin), value_of(from, rank)))
            << "at " << rank;
      }
    }
    EXPECT_LE(job.delays(), 1);
  });
}

TEST(InterBarrierTest, WaitsForBothGroups) {
  for_each_inter_job([](SimulatedJob& job) {
    ASSERT_TRUE(job.run_inter([](std::int32_t, const InterTeam& team) {
      return inter::barrier(team);
    })) << job.failure();
    EXPECT_TRUE(job.membership(0).client_count() == 1 || job.delays() >= 1);
  });
}

TEST(ExchangeTest, MovesEveryEdgeInTheOrderOfItsLabel) {
  for_each_job([](SimulatedJob& job) {
    // Two edges with one label to the next rank but one, and one to oneself; edges of nothing are
    // not seen.
    const auto size = job.size();
    std::vector<LongBlocks> sent;
    std::vector<LongBlocks> received;
    std::vector<std::vector<SendEdge>> to(static_cast<std::size_t>(size));
    std::vector<std::vector<ReceiveEdge>> from(static_cast<std::size_t>(size));
    for (std::int32_t rank = 0; rank < size; ++rank) {
      const std::vector<std::size_t> counts{2, 2, 1, 0};
      sent.emplace_back(counts, lie_of(rank));
      received.emplace_back(counts, lie_of(rank + 2));
      for (std::size_t i = 0; i < 4; ++i)
        sent.back().fill(i, value_of(rank, static_cast<std::int32_t>(i)));
    }
    for (std::int32_t rank = 0; rank < size; ++rank) {
      const auto own = static_cast<std::size_t>(rank);
      const LongBlocks& out = sent[own];
      const LongBlocks& in = received[own];
      const std::int32_t next = (rank + 2) % size;
      const std::int32_t last = (rank + 2 * size - 2) % size;
      to[own] = {
          {next, 65534, out[0]}, {rank, 0, out[2]}, {next, 65534, out[1]}, {next, 1, out[3]}};
      from[own] = {{last, 1, in[3]}, {last, 65534, in[0]}, {last, 65534, in[1]}, {rank, 0, in[2]}};
    }
    const auto task = [&](std::int32_t rank, const Team& team) {
      return exchange(team, to[static_cast<std::size_t>(rank)],
                      from[static_cast<std::size_t>(rank)]);
    };
    ASSERT_TRUE(job.run(task)) << job.failure();
    for (std::int32_t rank = 0; rank < size; ++rank) {
      const LongBlocks& here = received[static_cast<std::size_t>(rank)];
      const std::int32_t last = (rank + 2 * size - 2) % size;
      EXPECT_TRUE(here.holds(0, value_of(last, 0)));
      EXPECT_TRUE(here.holds(1, value_of(last, 1)));
      EXPECT_TRUE(here.holds(2, value_of(rank, 2)));
    }
    EXPECT_EQ(job.messages().size(), 3 * static_cast<std::size_t>(size));
  });
}

}  // namespace
}  // namespace impishim::collectives::test
