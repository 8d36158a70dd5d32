// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "pair_reductions.hpp"

namespace impishim::collectives::test {
namespace {

const std::vector<std::string> kForms{"", "impi", "long=8"};

/// The result of all ranks of one group.
Pair result_of_group(const SimulatedJob& job, bool first, std::uint64_t i, bool commutative) {
  const std::int32_t border = job.first_group_size();
  return first ? result_of(0, border, i, commutative)
               : result_of(border, job.size(), i, commutative);
}

/// Groups whose every member is in one client cross once; others cross between clients inside a
/// group as well.
bool each_inside_a_client(const SimulatedJob& job) {
  const std::int32_t border = job.first_group_size();
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    if (job.membership(0).client_of(rank) !=
        job.membership(0).client_of(rank < border ? 0 : border))
      return false;
  }
  return true;
}

std::uint64_t crossings_between_groups(const SimulatedJob& job) {
  return clients_of(job) == 1 ? 0 : 1;
}

TEST(InterReduceTest, BringsTheOtherGroupsResultToTheRoot) {
  for_each_inter_job([](SimulatedJob& job) {
    for_each_case(job, kForms, [&](const ReductionCase& with) {
      for (std::int32_t root = 0; root < job.size(); ++root) {
        const std::int32_t border = job.first_group_size();
        auto operand = operands_of(job, with.count, with.commutative);
        const auto untouched = operand;
        PairBuffer result(PairKind::of(root), with.count);
        const auto task = [&](std::int32_t rank, const InterTeam& team) {
          const bool own_group = (rank < border) == (root < border);
          const std::int32_t named =
              rank == root
                  ? inter::kIsRoot
                  : (own_group ? inter::kIsBystander : (root < border ? root : root - border));
          const ConstData mine =
              own_group ? ConstData() : operand[static_cast<std::size_t>(rank)].data();
          return inter::reduce(team, mine, rank == root ? result.data() : Data(),
                               PairKind::of(rank).operation(with.commutative), named);
        };
        ASSERT_TRUE(job.run_inter(task)) << job.failure() << ", root " << root;
        for (std::uint64_t i = 0; i < with.count; ++i) {
          ASSERT_EQ(result[i], result_of_group(job, root >= border, i, with.commutative))
              << "root " << root;
        }
        ASSERT_TRUE(result.gaps_untouched());
        ASSERT_EQ(operand, untouched);
        if (each_inside_a_client(job) && !job.limits.impi_only) {
          EXPECT_EQ(job.crossings().size(),
                    crossings_between_groups(job) * segments_of(with.count));
        }
      }
    });
  });
}

TEST(InterAllreduceTest, GivesEachGroupTheOthersResult) {
  for_each_inter_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;  // in the bcast of each group
    for_each_case(job, kForms, [&](const ReductionCase& with) {
      auto operand = operands_of(job, with.count, with.commutative);
      auto result = rooms_of(job, with.count);
      const auto untouched = operand;
      const auto task = [&](std::int32_t rank, const InterTeam& team) {
        const auto here = static_cast<std::size_t>(rank);
        return inter::allreduce(team, operand[here].data(), result[here].data(),
                                PairKind::of(rank).operation(with.commutative));
      };
      ASSERT_TRUE(job.run_inter(task)) << job.failure();
      for (std::int32_t rank = 0; rank < job.size(); ++rank) {
        const PairBuffer& each = result[static_cast<std::size_t>(rank)];
        for (std::uint64_t i = 0; i < with.count; ++i) {
          ASSERT_EQ(each[i],
                    result_of_group(job, rank >= job.first_group_size(), i, with.commutative))
              << "rank " << rank;
        }
        ASSERT_TRUE(each.gaps_untouched());
      }
      ASSERT_EQ(operand, untouched);
      if (each_inside_a_client(job) && !job.limits.impi_only) {
        EXPECT_EQ(job.crossings().size(),
                  2 * crossings_between_groups(job) * segments_of(with.count));
        if (with.count > 0) {
          EXPECT_EQ(job.delays(), crossings_between_groups(job));
        }
      }
    });
  });
}

/// Counts of one group of `ranks`, which add up to `total`.
std::vector<std::uint64_t> counts_for(std::int32_t ranks, std::uint64_t total) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(ranks), 0);
  for (std::uint64_t i = 0; i < total; ++i) ++counts[(i * i) % counts.size()];
  return counts;
}

TEST(InterReduceScatterTest, GivesEachGroupTheOthersResultInParts) {
  for_each_inter_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;  // in the scatterv of each group
    for_each_case(job, kForms, [&](const ReductionCase& with) {
      const std::int32_t border = job.first_group_size();
      auto operand = operands_of(job, with.count, with.commutative);
      const std::vector<std::vector<std::uint64_t>> counts{
          counts_for(border, with.count), counts_for(job.size() - border, with.count)};
      const auto counts_at = [&](std::int32_t rank) -> const auto& {
        return counts[rank < border ? 0 : 1];
      };
      const auto in_group = [&](std::int32_t rank) {
        return static_cast<std::size_t>(rank < border ? rank : rank - border);
      };
      std::vector<PairBuffer> result;
      for (std::int32_t rank = 0; rank < job.size(); ++rank) {
        result.emplace_back(PairKind::of(rank), counts_at(rank)[in_group(rank)]);
      }
      const auto task = [&](std::int32_t rank, const InterTeam& team) {
        const auto here = static_cast<std::size_t>(rank);
        return inter::reduce_scatter(team, operand[here].data(), result[here].data(),
                                     counts_at(rank),
                                     PairKind::of(rank).operation(with.commutative));
      };
      ASSERT_TRUE(job.run_inter(task)) << job.failure();
      for (std::int32_t rank = 0; rank < job.size(); ++rank) {
        const auto& own = counts_at(rank);
        const auto place = static_cast<std::ptrdiff_t>(in_group(rank));
        const auto begin = std::accumulate(own.begin(), own.begin() + place, std::uint64_t{0});
        PairBuffer& each = result[static_cast<std::size_t>(rank)];
        for (std::uint64_t i = 0; i < each.count(); ++i) {
          ASSERT_EQ(each[i], result_of_group(job, rank >= border, begin + i, with.commutative))
              << "rank " << rank;
        }
      }
    });
  });
}

}  // namespace
}  // namespace impishim::collectives::test
