// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/reduction/sliced_reduction.hpp"
#include "pair_reductions.hpp"

namespace impishim::collectives::test {
namespace {

void check_reduce(SimulatedJob& job, const ReductionCase& with, std::int32_t root) {
  SCOPED_TRACE(testing::Message() << "root " << root);
  auto operand = operands_of(job, with.count, with.commutative);
  const auto untouched = operand;
  const auto at_root = static_cast<std::size_t>(root);
  PairBuffer result(PairKind::of(root), with.count);
  if (with.in_place) result = operand[at_root];
  const auto task = [&](std::int32_t rank, const Team& team) {
    const bool in_place = with.in_place && rank == root;
    const ConstData mine =
        in_place ? result.data() : operand[static_cast<std::size_t>(rank)].data();
    return reduce(team, mine, rank == root ? result.data() : Data(),
                  PairKind::of(rank).operation(with.commutative), root);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  for (std::uint64_t i = 0; i < with.count; ++i)
    ASSERT_EQ(result[i], result_of(0, job.size(), i, with.commutative));
  ASSERT_TRUE(result.gaps_untouched());
  ASSERT_EQ(operand, untouched);
}

std::uint64_t members_elsewhere(const SimulatedJob& job, std::int32_t root) {
  std::uint64_t number = 0;
  for (std::int32_t rank = 0; rank < job.size(); ++rank)
    number += job.membership(root).is_local(rank) ? 0 : 1;
  return number;
}

TEST(ReduceTest, ImpiFormsSendOneMessageFromEachClientOrFromEachProcessIfTheOrderMatters) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"impi"}, [&](const ReductionCase& with) {
      for (std::int32_t root = 0; root < job.size(); root += with.count == 3 ? 1 : 5) {
        check_reduce(job, with, root);
        EXPECT_EQ(job.crossings().size(),
                  with.commutative ? clients_of(job) - 1 : members_elsewhere(job, root));
        EXPECT_TRUE(std::ranges::all_of(job.messages(), [&](const Message& m) {
          return m.tag == 190 && m.elements == 2 * with.count;
        }));
      }
    });
  });
}

/// Messages as collectives/README.md says: data of every client, or run of ranks, crosses once.
std::uint64_t messages_to(const SimulatedJob& job, std::int32_t root, const ReductionCase& with) {
  std::uint64_t runs = 0;
  for (const collectives::ClientRange& run : runs_of_job(job, with.commutative))
    runs += run.client == job.membership(0).client_of(root) ? 0 : 1;
  return runs * segments_of(with.count);
}

TEST(ReduceTest, OwnFormsSendSegmentsOfEachClientsResult) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"", "reduce=linear", "reduce=tree"}, [&](const ReductionCase& with) {
      for (std::int32_t root = 0; root < job.size(); root += with.count == 3 ? 1 : 5) {
        check_reduce(job, with, root);
        EXPECT_EQ(job.crossings().size(), messages_to(job, root, with));
        const bool tree = job.limits.overrides.form(Collective::kReduce, 0) == Form::kTree;
        if (!tree && with.count > 0 && clients_of(job) > 1) {
          EXPECT_EQ(job.delays(), 1);
        }
      }
    });
  });
}

TEST(ReduceTest, SlicesTravelBetweenCounterparts) {
  for_each_job([](SimulatedJob& job) {
    for_each_case(job, {"reduce=sliced", "long=8"}, [&](const ReductionCase& with) {
      for (std::int32_t root = 0; root < job.size(); root += with.count == 3 ? 1 : 5) {
        check_reduce(job, with, root);
        const auto slices = static_cast<std::uint64_t>(slice_count(job.membership(0)));
        if (slices < 2 || !with.commutative) continue;
        std::uint64_t messages = 0;
        for (std::uint64_t i = 0; i < slices; ++i) {
          messages += segments_of(with.count * (i + 1) / slices - with.count * i / slices);
        }
        EXPECT_EQ(job.crossings().size(), messages * (clients_of(job) - 1));
        EXPECT_EQ(job.crossing_elements(), 2 * with.count * (clients_of(job) - 1));
      }
    });
  });
}

TEST(ReduceTest, ImpiTreeIsBinomialAndCountedFromTheRootsClient) {
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  job.limits.impi_only = true;
  check_reduce(job, {true, false, 1}, 5);
  EXPECT_THAT(job.crossings(),
              testing::UnorderedElementsAre(Message{6, 5, 190, 2}, Message{1, 0, 190, 2},
                                            Message{0, 5, 190, 2}, Message{3, 2, 190, 2},
                                            Message{2, 5, 190, 2}));
}

/// A type whose elements lie backwards and start before their origin needs room on both sides.
TEST(TypedRoomTest, CoversNegativeExtentsAndBounds) {
  const std::vector<wire::Block> blocks{{-8, wire::BasicType::kInt64, 1, 1, 0}};
  const wire::TypeLayout layout(blocks, -16);
  const ElementType type{&layout, nullptr, -8, 8, 0};
  const TypedRoom room(type, 3);
  std::vector<std::int64_t> values{1, 2, 3};
  unpack(std::as_bytes(std::span(values)), room.data());
  const PackedBlock packed(room.data());
  EXPECT_EQ(std::memcmp(packed.bytes().data(), values.data(), sizeof(std::int64_t) * 3), 0);
}

}  // namespace
}  // namespace impishim::collectives::test
