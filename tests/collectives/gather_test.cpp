#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

/// What a rank contributes: a block of longs, with gaps on odd ranks.
struct Contribution {
  std::vector<long> memory;
  ConstData data;
};

struct Types {
  ElementType plain = plain_type(wire::BasicType::kSignedLong);
  ElementType gapped = gapped_type(wire::BasicType::kSignedLong);
};

long value(std::int32_t rank, std::size_t i) { return 1000 * (rank + 1) + static_cast<long>(i); }

std::vector<Contribution> contributions(const SimulatedJob& job, std::size_t count, const Types& types) {
  std::vector<Contribution> all(static_cast<std::size_t>(job.size()));
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    Contribution& each = all[static_cast<std::size_t>(rank)];
    const bool gaps = rank % 2 == 1;
    each.memory.assign(count * (gaps ? 3 : 1), -1);
    for (std::size_t i = 0; i < count; ++i) each.memory[gaps ? 3 * i + 1 : i] = value(rank, i);
    each.data = {reinterpret_cast<const std::byte*>(each.memory.data()), count, gaps ? &types.gapped : &types.plain};
  }
  return all;
}

void expect_gathered(const std::vector<long>& memory, bool gaps, std::int32_t size, std::size_t count) {
  for (std::int32_t rank = 0; rank < size; ++rank) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t place = static_cast<std::size_t>(rank) * count + i;
      ASSERT_EQ(memory[gaps ? 3 * place + 1 : place], value(rank, i)) << "block " << rank;
    }
  }
}

void check_gather(SimulatedJob& job, std::int32_t root, std::size_t count, bool gaps_at_root, bool in_place) {
  const Types types;
  const auto sent = contributions(job, count, types);
  const auto size = static_cast<std::size_t>(job.size());
  std::vector<long> memory(size * count * (gaps_at_root ? 3 : 1) + 1, -1);
  const Data all{reinterpret_cast<std::byte*>(memory.data()), count, gaps_at_root ? &types.gapped : &types.plain};
  if (in_place) copy(sent[static_cast<std::size_t>(root)].data, all.block(root));
  const auto task = [&](std::int32_t rank, const Team& team) {
    if (rank == root) return gather(team, in_place ? all.block(root) : sent[static_cast<std::size_t>(rank)].data, all, root);
    return gather(team, sent[static_cast<std::size_t>(rank)].data, Data{}, root);
  };
  ASSERT_TRUE(job.run(task)) << job.failure() << ", root " << root;
  expect_gathered(memory, gaps_at_root, job.size(), count);
  ASSERT_EQ(memory.back(), -1);
  ASSERT_EQ(job.messages().size(), static_cast<std::size_t>(job.shape(0).client_count()) - 1);
  ASSERT_TRUE(std::ranges::all_of(job.messages(), [](const Message& m) { return m.tag == 130; }));
}

TEST(GatherTest, DeliversEveryBlockToEveryRoot) {
  for_each_job([](SimulatedJob& job) {
    for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) {
      check_gather(job, root, 3, root % 3 == 0, root % 4 == 1);
    }
  });
}

TEST(GatherTest, LongDataGoesStraightToTheRootAndOnce) {
  for_each_job([](SimulatedJob& job) {
    const std::int32_t root = job.size() / 2;
    check_gather(job, root, 300, false, false);
    check_gather(job, root, 300, true, true);
    std::uint64_t elements = 0;
    std::uint64_t remote = 0;
    for (const Message& message : job.messages()) elements += message.elements;
    for (std::int32_t rank = 0; rank < job.size(); ++rank) remote += job.shape(root).is_local(rank) ? 0 : 1;
    EXPECT_EQ(elements, remote * 300);
    EXPECT_TRUE(std::ranges::all_of(job.messages(), [root](const Message& m) { return m.to == root; }));
  });
}

TEST(GatherTest, OfNothingStillEnds) {
  for_each_job([](SimulatedJob& job) { check_gather(job, job.size() - 1, 0, false, false); });
}

TEST(GatherTest, ShortFormIsABinomialTree) {
  const Types types;
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  const auto sent = contributions(job, 1, types);
  std::vector<long> memory(7);
  const Data all{reinterpret_cast<std::byte*>(memory.data()), 1, &types.plain};
  const auto task = [&](std::int32_t rank, const Team& team) {
    return gather(team, sent[static_cast<std::size_t>(rank)].data, all, 5);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  // Virtual 0..5 are clients 4, 5, 0, 1, 2, 3, spoken for by ranks 5, 6, 0, 1, 2, 3.
  EXPECT_THAT(job.messages(), testing::UnorderedElementsAre(Message{6, 5, 130, 1}, Message{1, 0, 130, 1}, Message{0, 5, 130, 2},
                                                            Message{3, 2, 130, 1}, Message{2, 5, 130, 2}));
}

TEST(AllgatherTest, GivesEveryBlockToEverybody) {
  for_each_job([](SimulatedJob& job) {
    for (const bool in_place : {false, true}) {
      const Types types;
      const auto sent = contributions(job, 3, types);
      std::vector<std::vector<long>> memory;
      for (std::int32_t rank = 0; rank < job.size(); ++rank) {
        memory.emplace_back(static_cast<std::size_t>(job.size()) * 3 * (rank % 3 == 0 ? 3 : 1), -1);
      }
      const auto task = [&](std::int32_t rank, const Team& team) {
        const auto here = static_cast<std::size_t>(rank);
        const Data all{reinterpret_cast<std::byte*>(memory[here].data()), 3, rank % 3 == 0 ? &types.gapped : &types.plain};
        if (in_place) copy(sent[here].data, all.block(rank));
        return allgather(team, in_place ? all.block(rank) : sent[here].data, all);
      };
      ASSERT_TRUE(job.run(task)) << job.failure();
      for (std::int32_t rank = 0; rank < job.size(); ++rank) {
        expect_gathered(memory[static_cast<std::size_t>(rank)], rank % 3 == 0, job.size(), 3);
      }
      EXPECT_EQ(job.messages().size(), 2 * (static_cast<std::size_t>(job.shape(0).client_count()) - 1));
    }
  });
}

}  // namespace
}  // namespace impishim::collectives::test
