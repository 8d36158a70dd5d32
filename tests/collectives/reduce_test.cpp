#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

/// Elements are pairs: two longs, the second read as the first's partner.
struct Pair {
  long a = 0;
  long b = 0;
  bool operator==(const Pair&) const = default;
};

ElementType pair_type() {
  static const wire::TypeLayout kLayout({{0, wire::BasicType::kSignedLong, 2, 1, 0}}, sizeof(Pair));
  return {&kLayout, nullptr, 0, sizeof(Pair), 0};
}

/// Sums both halves.
class Sum final : public Reduction {
 public:
  Sum() : Reduction(true, 0) {}
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override {
    for (std::uint64_t i = 0; i < count; ++i) {
      const Pair left = reinterpret_cast<const Pair*>(in)[i];
      Pair& right = reinterpret_cast<Pair*>(inout)[i];
      right = {left.a + right.a, left.b + right.b};
    }
  }
};

/// Joins the ranges of ranks [a, b) and [b, c); anything else is out of order for good.
class Join final : public Reduction {
 public:
  Join() : Reduction(false, 0) {}
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override {
    for (std::uint64_t i = 0; i < count; ++i) {
      const Pair left = reinterpret_cast<const Pair*>(in)[i];
      Pair& right = reinterpret_cast<Pair*>(inout)[i];
      right = left.b == right.a ? Pair{left.a, right.b} : Pair{-1, -2};
    }
  }
};

constexpr std::size_t kCount = 3;

std::vector<std::vector<Pair>> operands(const SimulatedJob& job, bool ranges) {
  std::vector<std::vector<Pair>> all;
  for (long rank = 0; rank < job.size(); ++rank) {
    std::vector<Pair> mine;
    for (long i = 0; i < static_cast<long>(kCount); ++i) mine.push_back(ranges ? Pair{rank, rank + 1} : Pair{rank * i, 1});
    all.push_back(mine);
  }
  return all;
}

std::vector<Pair> expected(const SimulatedJob& job, bool ranges) {
  const long size = job.size();
  std::vector<Pair> all;
  for (long i = 0; i < static_cast<long>(kCount); ++i)
    all.push_back(ranges ? Pair{0, size} : Pair{i * size * (size - 1) / 2, size});
  return all;
}

std::byte* bytes(std::vector<Pair>& pairs) { return reinterpret_cast<std::byte*>(pairs.data()); }

void check_reduce(SimulatedJob& job, const Reduction& operation, std::int32_t root, bool in_place) {
  const ElementType type = pair_type();
  auto operand = operands(job, !operation.commutative());
  const auto untouched = operand;
  std::vector<Pair> result(kCount);
  const auto task = [&](std::int32_t rank, const Team& team) {
    const Data mine{bytes(operand[static_cast<std::size_t>(rank)]), kCount, &type};
    const Data target = rank != root ? Data{} : (in_place ? mine : Data{bytes(result), kCount, &type});
    return reduce(team, mine, target, operation, root);
  };
  ASSERT_TRUE(job.run(task)) << job.failure() << ", root " << root;
  ASSERT_EQ(in_place ? operand[static_cast<std::size_t>(root)] : result, expected(job, !operation.commutative()))
      << "root " << root;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) {
    if (rank == root && in_place) continue;
    ASSERT_EQ(operand[static_cast<std::size_t>(rank)], untouched[static_cast<std::size_t>(rank)]);
  }
  ASSERT_TRUE(std::ranges::all_of(job.messages(), [](const Message& m) { return m.tag == 190 && m.elements == 2 * kCount; }));
}

TEST(ReduceTest, SumsOnEveryRootWithOneMessageForEachOtherClient) {
  const Sum sum;
  for_each_job([&](SimulatedJob& job) {
    for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) {
      check_reduce(job, sum, root, root % 2 == 1);
      EXPECT_EQ(job.messages().size(), static_cast<std::size_t>(job.shape(0).client_count()) - 1);
    }
  });
}

TEST(ReduceTest, KeepsTheOrderOfRanksIfTheOperationDoesNotCommute) {
  const Join join;
  for_each_job([&](SimulatedJob& job) {
    for (std::int32_t root = 0; root < job.size() && !testing::Test::HasFailure(); ++root) {
      check_reduce(job, join, root, root % 2 == 1);
      std::size_t remote = 0;
      for (std::int32_t rank = 0; rank < job.size(); ++rank) remote += job.shape(root).is_local(rank) ? 0 : 1;
      EXPECT_EQ(job.messages().size(), remote) << "one message from every process of another client";
    }
  });
}

TEST(ReduceTest, TreeIsBinomialAndCountedFromTheRootsClient) {
  const ElementType type = pair_type();
  const Sum sum;
  SimulatedJob job({0, 1, 2, 3, 4, 4, 5}, SendEnds::kAtOnce);
  auto operand = operands(job, false);
  std::vector<Pair> result(kCount);
  const auto task = [&](std::int32_t rank, const Team& team) {
    return reduce(team, ConstData{bytes(operand[static_cast<std::size_t>(rank)]), 1, &type}, Data{bytes(result), 1, &type}, sum,
                  5);
  };
  ASSERT_TRUE(job.run(task)) << job.failure();
  EXPECT_THAT(job.messages(), testing::UnorderedElementsAre(Message{6, 5, 190, 2}, Message{1, 0, 190, 2}, Message{0, 5, 190, 2},
                                                            Message{3, 2, 190, 2}, Message{2, 5, 190, 2}));
}

TEST(AllreduceTest, GivesTheResultToEverybody) {
  const ElementType type = pair_type();
  const Sum sum;
  const Join join;
  for_each_job([&](SimulatedJob& job) {
    for (const Reduction* operation : {static_cast<const Reduction*>(&sum), static_cast<const Reduction*>(&join)}) {
      for (const bool in_place : {false, true}) {
        auto operand = operands(job, !operation->commutative());
        auto result = in_place ? operand : std::vector(operand.size(), std::vector<Pair>(kCount));
        const auto task = [&](std::int32_t rank, const Team& team) {
          const auto here = static_cast<std::size_t>(rank);
          const Data target{bytes(result[here]), kCount, &type};
          const Data mine{bytes(operand[here]), kCount, &type};
          return allreduce(team, in_place ? target : mine, target, *operation);
        };
        ASSERT_TRUE(job.run(task)) << job.failure();
        for (const auto& each : result) ASSERT_EQ(each, expected(job, !operation->commutative()));
      }
    }
  });
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
