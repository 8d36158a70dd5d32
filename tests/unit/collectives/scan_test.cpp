// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "collectives/reduction/client_ranges.hpp"
#include "pair_reductions.hpp"

namespace impishim::collectives::test {
namespace {

void check_scan(SimulatedJob& job, const ReductionCase& with, bool inclusive) {
  SCOPED_TRACE(inclusive ? "scan" : "exscan");
  auto operand = operands_of(job, with.count, with.commutative);
  auto result = with.in_place ? operand : rooms_of(job, with.count);
  const auto untouched = operand;
  const auto before = result;
  const auto task = [&](std::int32_t rank, const Team& team) {
    const auto here = static_cast<std::size_t>(rank);
    Data target = result[here].data();
    const ConstData mine = with.in_place ? target : operand[here].data();
    if (!inclusive && rank == 0 && !with.in_place) target.base = nullptr;
    const Reduction& operation = PairKind::of(rank).operation(with.commutative);
    return inclusive ? scan(team, mine, target, operation) : exscan(team, mine, target, operation);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (std::int32_t rank = inclusive ? 0 : 1; rank < job.size(); ++rank) {
    const PairBuffer& each = result[static_cast<std::size_t>(rank)];
    for (std::uint64_t i = 0; i < with.count; ++i) {
      ASSERT_EQ(each[i], result_of(0, rank + (inclusive ? 1 : 0), i, with.commutative))
          << "rank " << rank;
    }
    ASSERT_TRUE(each.gaps_untouched());
  }
  if (!inclusive) {
    ASSERT_EQ(result[0], before[0]) << "rank 0's stays as it is";
  }
  ASSERT_TRUE(with.in_place || operand == untouched);
}

void check_both(SimulatedJob& job, const ReductionCase& with,
                const std::function<void()>& and_then) {
  for (const bool inclusive : {true, false}) {
    check_scan(job, with, inclusive);
    if (!testing::Test::HasFailure()) and_then();
  }
}

TEST(ScanTest, ImpiFormIsAChainOfRanks) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"impi"}, [&](const ReductionCase& with) {
      check_both(job, with, [&] {
        if (clients_of(job) == 1) return;
        ASSERT_EQ(job.messages().size(), static_cast<std::size_t>(job.size()) - 1);
        for (const Message& message : job.messages()) {
          EXPECT_EQ(message,
                    (Message{message.from, message.from + 1, 200, 2 * with.count, message.local}));
        }
      });
    });
  });
}

/// Every run's total crosses to every client that has a later run.
std::uint64_t totals_that_cross(const std::vector<ClientRange>& runs, std::int32_t clients) {
  std::uint64_t number = 0;
  for (std::int32_t client = 0; client < clients; ++client) {
    const auto last =
        std::ranges::find(runs.rbegin(), runs.rend(), client, &collectives::ClientRange::client)
            .base();
    number += static_cast<std::uint64_t>(
        std::count_if(runs.begin(), last,
                      [&](const collectives::ClientRange& run) { return run.client != client; }));
  }
  return number;
}

TEST(ScanTest, TotalsOfRunsCrossToWhereTheyAreNeeded) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"", "scan=exchange"}, [&](const ReductionCase& with) {
      check_both(job, with, [&] {
        const auto clients = static_cast<std::int32_t>(clients_of(job));
        const auto runs = ranges_of_ranks(job.membership(0));
        const std::uint64_t totals = totals_that_cross(runs, clients);
        EXPECT_EQ(job.crossings().size(), totals * segments_of(with.count));
        EXPECT_EQ(job.crossing_elements(), 2 * totals * with.count);
        EXPECT_EQ(job.delays(), totals * with.count > 0 ? 1 : 0);
      });
    });
  });
}

TEST(ScanTest, SegmentsTravelFromRankToRankInAPipeline) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"scan=pipeline"}, [&](const ReductionCase& with) {
      check_both(job, with, [&] {
        const std::uint64_t clients = clients_of(job);
        const std::uint64_t segments = segments_of(with.count);
        if (clients == 1 || segments < static_cast<std::uint64_t>(job.size())) return;
        if (ranges_of_ranks(job.membership(0)).size() != clients) return;
        const auto steps = static_cast<std::uint64_t>(job.size()) - 1;
        EXPECT_EQ(job.messages().size(), steps * segments);
        EXPECT_EQ(job.crossings().size(), (clients - 1) * segments);
        EXPECT_EQ(job.crossing_elements(), 2 * (clients - 1) * with.count);
      });
    });
  });
}

TEST(ScanTest, DoublingTakesTheLogarithmOfDelays) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"scan=doubling"}, [&](const ReductionCase& with) {
      check_both(job, with, [&] {
        const std::uint64_t clients = clients_of(job);
        if (ranges_of_ranks(job.membership(0)).size() != clients) return;
        std::uint64_t totals = 0;
        int rounds = 0;
        for (std::uint64_t distance = 1; distance < clients; distance *= 2, ++rounds)
          totals += clients - distance;
        EXPECT_EQ(job.crossings().size(), totals * segments_of(with.count));
        EXPECT_LE(job.delays(), rounds);
      });
    });
  });
}

}  // namespace
}  // namespace impishim::collectives::test
