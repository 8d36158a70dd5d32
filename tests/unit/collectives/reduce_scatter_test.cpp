// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "pair_reductions.hpp"

namespace impishim::collectives::test {
namespace {

/// Counts of ranks that add up to `total`, or nearly, with zeros between.
std::vector<std::uint64_t> counts_for(std::int32_t ranks, std::uint64_t total) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks), 0);
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    counts[rank] = total * (rank % 3) / counts.size();
  return counts;
}

void check_reduce_scatter(SimulatedJob& job, const ReductionCase& with,
                          const std::vector<std::uint64_t>& counts) {
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  auto operand = operands_of(job, total, with.commutative);
  const auto untouched = operand;
  std::vector<PairBuffer> result;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    result.emplace_back(PairKind::of(rank), counts[static_cast<std::size_t>(rank)]);
  }
  const auto task = [&](std::int32_t rank, const Team& team) {
    const auto here = static_cast<std::size_t>(rank);
    Data target = result[here].data();
    if (with.in_place) target = operand[here].data().elements(0, counts[here]);
    return reduce_scatter(team, operand[here].data(), target, counts,
                          PairKind::of(rank).operation(with.commutative));
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const PairBuffer& each = with.in_place ? operand[rank] : result[rank];
    for (std::uint64_t i = 0; i < counts[rank]; ++i) {
      ASSERT_EQ(each[i], result_of(0, job.size(), begin + i, with.commutative)) << "rank " << rank;
    }
    ASSERT_TRUE(each.gaps_untouched());
    begin += counts[rank];
  }
  ASSERT_TRUE(with.in_place || operand == untouched);
}

TEST(ReduceScatterTest, GivesEverybodyItsPartInEveryForm) {
  for_each_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;  // in the scatterv of the rooted form
    for_each_case(job, {"", "impi", "reduce_scatter=rooted", "reduce_scatter=exchange"},
                  [&](const ReductionCase& with) {
                    check_reduce_scatter(job, with, counts_for(job.size(), with.count));
                    check_reduce_scatter(job, with,
                                         std::vector<std::uint64_t>(
                                             static_cast<std::size_t>(job.size()), with.count % 7));
                  });
  });
}

/// Every range of elements that a client's consecutive ranks get comes once from every run of ranks
/// of another client.
TEST(ReduceScatterTest, NothingCrossesThatItsReceiverDoesNotNeed) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {""}, [&](const ReductionCase& with) {
      const auto counts = counts_for(job.size(), with.count);
      check_reduce_scatter(job, with, counts);
      std::uint64_t messages = 0;
      std::uint64_t elements = 0;
      for (const collectives::ClientRange& run : ranges_of_ranks(job.membership(0))) {
        const auto need = std::accumulate(counts.begin() + run.first, counts.begin() + run.last + 1,
                                          std::uint64_t{0});
        for (const collectives::ClientRange& from : runs_of_job(job, with.commutative)) {
          if (from.client == run.client) continue;
          messages += segments_of(need);
          elements += 2 * need;
        }
      }
      EXPECT_EQ(job.crossings().size(), messages);
      EXPECT_EQ(job.crossing_elements(), elements);
      if (with.count < 4) {
        EXPECT_EQ(job.delays(), messages > 0 ? 1 : 0);
      }
    });
  });
}

}  // namespace
}  // namespace impishim::collectives::test
