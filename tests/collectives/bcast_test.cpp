#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

constexpr std::uint64_t kCount = 5;

/// Broadcasts longs from `root`: odd ranks have them with gaps.
void check_root(SimulatedJob& job, std::int32_t root) {
  const ElementType plain = plain_type(wire::BasicType::kSignedLong);
  const ElementType gapped = gapped_type(wire::BasicType::kSignedLong);
  std::vector<std::vector<long>> buffers;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) buffers.emplace_back(kCount * (rank % 2 == 0 ? 1 : 3), -1);
  const auto at = [](std::int32_t rank, std::size_t i) { return rank % 2 == 0 ? i : 3 * i + 1; };
  for (std::size_t i = 0; i < kCount; ++i)
    buffers[static_cast<std::size_t>(root)][at(root, i)] = 100 * root + static_cast<long>(i);
  const auto task = [&](std::int32_t rank, const Team& team) {
    auto* base = reinterpret_cast<std::byte*>(buffers[static_cast<std::size_t>(rank)].data());
    return bcast(team, {base, kCount, rank % 2 == 0 ? &plain : &gapped}, root);
  };
  ASSERT_TRUE(job.run(task)) << job.failure() << ", root " << root;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(buffers[static_cast<std::size_t>(rank)][at(rank, i)], 100 * root + static_cast<long>(i)) << "root " << root;
    }
    if (rank % 2 == 1) {
      ASSERT_EQ(buffers[static_cast<std::size_t>(rank)][0], -1) << "gaps stay as they are";
    }
  }
  ASSERT_EQ(job.messages().size(), static_cast<std::size_t>(job.shape(0).client_count()) - 1)
      << "data goes to each client once";
  ASSERT_TRUE(std::ranges::all_of(job.messages(), [](const Message& m) { return m.tag == 120 && m.elements == kCount; }));
}

TEST(BcastTest, ReachesEverybodyFromEveryRoot) {
  for_each_job([](SimulatedJob& job) {
    for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) check_root(job, root);
  });
}

TEST(BcastTest, TreeIsCountedFromTheRootsClient) {
  const ElementType type = plain_type(wire::BasicType::kInt32);
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  std::vector<std::int32_t> data(7);
  const auto task = [&](std::int32_t rank, const Team& team) {
    return bcast(team, {reinterpret_cast<std::byte*>(&data[static_cast<std::size_t>(rank)]), 1, &type}, 5);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  // Virtual 0..5 are clients 4, 5, 0, 1, 2, 3, spoken for by ranks 5, 6, 0, 1, 2, 3.
  EXPECT_THAT(job.messages(), testing::UnorderedElementsAre(Message{5, 6, 120, 1}, Message{5, 0, 120, 1}, Message{5, 2, 120, 1},
                                                            Message{6, 1, 120, 1}, Message{6, 3, 120, 1}));
  std::vector<std::int32_t> from_root;
  for (const Message& message : job.messages()) {
    if (message.from == 5) from_root.push_back(message.to);
  }
  EXPECT_THAT(from_root, testing::ElementsAre(6, 0, 2));
}

}  // namespace
}  // namespace impishim::collectives::test
