// SPDX-License-Identifier: Apache-2.0
#include "collectives/local/single_system_team.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/local/lone_member.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

using testing::Each;
using testing::ElementsAre;

class Sum final : public Reduction {
 public:
  Sum() : Reduction(true, 0) {}
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override {
    for (std::uint64_t i = 0; i < count; ++i)
      reinterpret_cast<std::int32_t*>(inout)[i] += reinterpret_cast<const std::int32_t*>(in)[i];
  }
};

Data data_of(std::vector<std::int32_t>& values, const ElementType& type) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size(), &type};
}

/// Runs an allreduce among members that a team of their own describes.
Task reduce_in_team(MemberTransport& messages, std::int32_t rank, std::int32_t size, Data data,
                    Data result, const Reduction& operation) {
  const SingleSystemTeam members(messages, rank, size);
  co_await allreduce(members.team(), data, result, operation);
}

TEST(SingleSystemTeam, RunsAnyAlgorithmAmongItsMembers) {
  constexpr std::int32_t kSize = 5;
  SimulatedJob job({0, 1, 2, 3, 4}, SendEnds::kAtMatch);
  const ElementType type = plain_type(wire::BasicType::kInt32);
  const Sum operation;
  std::vector<std::vector<std::int32_t>> values;
  std::vector<std::vector<std::int32_t>> results(kSize, {0, 0});
  for (std::int32_t rank = 0; rank < kSize; ++rank) values.push_back({rank, 1});
  EXPECT_TRUE(job.run([&](std::int32_t rank, const Team& team) {
    const auto at = static_cast<std::size_t>(rank);
    return reduce_in_team(team.leaders, rank, kSize, data_of(values[at], type),
                          data_of(results[at], type), operation);
  })) << job.failure();
  EXPECT_THAT(results, Each(ElementsAre(10, kSize)));
}

/// The phases of a client with one member.
class LoneMemberTest : public testing::Test {
 protected:
  void expect_done(Pending& phase) {
    EXPECT_TRUE(phase.done());
    EXPECT_TRUE(phase.outcome().ok());
    EXPECT_FALSE(phase.in_vendor());
  }
  LoneMember alone;
  Sum operation;
  ElementType type = plain_type(wire::BasicType::kInt32);
  std::vector<std::int32_t> from = {3, 4};
  std::vector<std::int32_t> to = {0, 0};
};

TEST_F(LoneMemberTest, ReductionsCopyTheContribution) {
  expect_done(alone.allreduce(data_of(from, type), data_of(to, type), operation));
  EXPECT_EQ(to, from);
  to = {0, 0};
  expect_done(alone.reduce(data_of(from, type), data_of(to, type), operation, 0));
  EXPECT_EQ(to, from);
  to = {0, 0};
  expect_done(alone.scan(data_of(from, type), data_of(to, type), operation));
  EXPECT_EQ(to, from);
}

TEST_F(LoneMemberTest, AnExclusiveScanChangesNothing) {
  expect_done(alone.exscan(data_of(from, type), data_of(to, type), operation));
  EXPECT_THAT(to, ElementsAre(0, 0));
}

TEST_F(LoneMemberTest, BlocksAreCopied) {
  const std::vector<std::uint64_t> sizes = {8};
  const auto source = std::as_bytes(std::span(from));
  const auto target = std::as_writable_bytes(std::span(to));
  expect_done(alone.gatherv(source, target, sizes, 0));
  EXPECT_EQ(to, from);
  to = {0, 0};
  expect_done(alone.scatterv(source, sizes, target, 0));
  EXPECT_EQ(to, from);
  to = {0, 0};
  expect_done(alone.allgatherv(source, target, sizes));
  EXPECT_EQ(to, from);
}

}  // namespace
}  // namespace impishim::collectives::test
