// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/reduction/sliced_reduction.hpp"
#include "pair_reductions.hpp"

namespace impishim::collectives::test {
namespace {

const std::vector<std::string> kForms{"",
                                      "impi",
                                      "allreduce=rooted",
                                      "allreduce=exchange",
                                      "allreduce=doubling",
                                      "allreduce=scattered",
                                      "allreduce=sliced",
                                      "allreduce=sliced,long=8"};

void check_allreduce(SimulatedJob& job, const ReductionCase& with) {
  auto operand = operands_of(job, with.count, with.commutative);
  auto result = with.in_place ? operand : rooms_of(job, with.count);
  const auto untouched = operand;
  const auto task = [&](std::int32_t rank, const Team& team) {
    const auto here = static_cast<std::size_t>(rank);
    const Data target = result[here].data();
    const ConstData mine = with.in_place ? target : operand[here].data();
    return allreduce(team, mine, target, PairKind::of(rank).operation(with.commutative));
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (const PairBuffer& each : result) {
    for (std::uint64_t i = 0; i < with.count; ++i)
      ASSERT_EQ(each[i], result_of(0, job.size(), i, with.commutative));
    ASSERT_TRUE(each.gaps_untouched());
  }
  ASSERT_TRUE(with.in_place || operand == untouched);
}

TEST(AllreduceTest, GivesTheResultToEverybodyInEveryForm) {
  for_each_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;  // in the bcast of the rooted form
    for_each_case(job, kForms, [&](const ReductionCase& with) { check_allreduce(job, with); });
  });
}

/// Messages and elements between clients, as collectives/README.md says.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t elements = 0;
};

Traffic of_exchange(const SimulatedJob& job, std::uint64_t count, bool commutative) {
  const std::uint64_t others = clients_of(job) - 1;
  const std::uint64_t runs = runs_of_job(job, commutative).size();
  return {others * runs * segments_of(count), others * runs * count};
}

Traffic of_doubling(std::uint64_t clients, std::uint64_t count) {
  const std::uint64_t nodes = std::bit_floor(clients);
  const std::uint64_t swaps =
      nodes * static_cast<std::uint64_t>(std::countr_zero(nodes)) + 2 * (clients - nodes);
  return {swaps * segments_of(count), swaps * count};
}

Traffic of_parts(std::uint64_t clients, std::uint64_t count) {
  Traffic traffic{0, 2 * (clients - 1) * count};
  for (std::uint64_t i = 0; i < clients; ++i) {
    traffic.messages +=
        2 * (clients - 1) * segments_of(count * (i + 1) / clients - count * i / clients);
  }
  return traffic;
}

Traffic of_slices(const SimulatedJob& job, std::uint64_t count) {
  const auto slices = static_cast<std::uint64_t>(slice_count(job.membership(0)));
  Traffic traffic;
  for (std::uint64_t i = 0; i < slices; ++i) {
    const Traffic slice = of_exchange(job, count * (i + 1) / slices - count * i / slices, true);
    traffic = {traffic.messages + slice.messages, traffic.elements + slice.elements};
  }
  return traffic;
}

void expect_traffic(const SimulatedJob& job, const Traffic& traffic) {
  EXPECT_EQ(job.crossings().size(), traffic.messages);
  EXPECT_EQ(job.crossing_elements(), 2 * traffic.elements) << "pairs are two elements";
}

TEST(AllreduceTest, CrossesAsOftenAsTheFormulasSay) {
  for_each_job([](SimulatedJob& job) {
    if (!job.limits.same_representation) return;
    const std::uint64_t clients = clients_of(job);
    for_each_case(job, {"allreduce=exchange"}, [&](const ReductionCase& with) {
      check_allreduce(job, with);
      expect_traffic(job, of_exchange(job, with.count, with.commutative));
      if (clients > 1 && with.count == 1) {
        EXPECT_EQ(job.delays(), 1);
      }
    });
    for_each_case(
        job, {"allreduce=doubling", "allreduce=scattered"}, [&](const ReductionCase& with) {
          check_allreduce(job, with);
          if (runs_of_job(job, with.commutative).size() != clients) return;  // another form
          const bool doubles =
              job.limits.overrides.form(Collective::kAllreduce, 0) == Form::kDoubling;
          expect_traffic(
              job, doubles ? of_doubling(clients, with.count) : of_parts(clients, with.count));
          if (clients == 1 || with.count < 37) return;
          const std::int32_t rounds = static_cast<std::int32_t>(std::bit_width(clients)) - 1;
          if (doubles) {
            EXPECT_LE(job.delays(), rounds + (std::has_single_bit(clients) ? 0 : 2));
          } else {
            EXPECT_EQ(job.delays(), 2);
          }
        });
    for_each_case(job, {"allreduce=sliced"}, [&](const ReductionCase& with) {
      check_allreduce(job, with);
      if (!with.commutative || slice_count(job.membership(0)) < 2 || clients > 4) return;
      expect_traffic(job, of_slices(job, with.count));
      if (clients > 1 && with.count == 3) {
        EXPECT_EQ(job.delays(), 1);
      }
    });
  });
}

/// Adds doubles: the result depends on the order.
class Addition final : public Reduction {
 public:
  Addition() : Reduction(true, 0) {}
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override {
    for (std::uint64_t i = 0; i < count; ++i) {
      reinterpret_cast<double*>(inout)[i] =
          reinterpret_cast<const double*>(in)[i] + reinterpret_cast<double*>(inout)[i];
    }
  }
};

void check_bits(SimulatedJob& job, std::uint64_t count) {
  const ElementType type = plain_type(wire::BasicType::kDouble);
  const Addition addition;
  std::vector<std::vector<double>> operand(static_cast<std::size_t>(job.size()),
                                           std::vector<double>(count));
  for (std::size_t rank = 0; rank < operand.size(); ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      const double sign = (rank + i) % 2 == 0 ? 1 : -1;
      operand[rank][i] = sign * (1.0 / static_cast<double>(3 + rank) + (rank % 3 == 1 ? 1e16 : 0));
    }
  }
  auto result = operand;
  const auto task = [&](std::int32_t rank, const Team& team) {
    const auto here = static_cast<std::size_t>(rank);
    const Data target{reinterpret_cast<std::byte*>(result[here].data()), count, &type};
    return allreduce(team, {reinterpret_cast<const std::byte*>(operand[here].data()), count, &type},
                     target, addition);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (const auto& each : result) ASSERT_EQ(each, result[0]);
}

TEST(AllreduceTest, GivesEverybodyTheSameBits) {
  for_each_job([](SimulatedJob& job) {
    job.bytes_may_cross = true;  // in the bcast of the rooted form
    for_each_case(job, kForms, [&](const ReductionCase& with) {
      if (with.commutative && !with.in_place) check_bits(job, with.count + 1);
    });
  });
}

}  // namespace
}  // namespace impishim::collectives::test
