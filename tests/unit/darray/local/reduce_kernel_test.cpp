// SPDX-License-Identifier: Apache-2.0
// The local part of reductions and scans against loops over single elements, on random strided
// pieces.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

#include "darray/local/operator_kernels.hpp"

namespace {

using namespace impishim::darray;

/// A piece with room for a mask, and the offsets of the elements of each result, worked out one by
/// one.
struct Case {
  ReducePiece piece;
  Index room = 1;
  Index other_room = 1;
  std::vector<std::vector<std::pair<Index, Index>>>
      elements;  // of each result: offset, other offset

  explicit Case(std::mt19937& random, bool long_dimensions) {
    const auto below = [&](Index end) {
      return static_cast<Index>(random() % static_cast<std::uint64_t>(end));
    };
    const Index most = long_dimensions ? 400 : 6;
    // From the innermost dimension out: now kept, now reduced, with gaps.
    const Index dimensions = long_dimensions ? 2 : below(5);
    for (Index d = 0; d < dimensions; ++d) {
      const Index extent = long_dimensions ? most / (1 + below(3)) : below(most);
      const ReduceDimension dimension{extent, room * (1 + below(2)), other_room};
      auto& list = below(2) == 0 ? piece.kept : piece.reduced;
      list.insert(list.begin(), dimension);
      room = dimension.stride * std::max<Index>(1, extent);
      other_room *= std::max<Index>(1, extent);
    }
    std::vector<std::pair<Index, Index>> results = offsets(piece.kept);
    for (const auto& [at, other] : results) {
      elements.emplace_back();
      for (const auto& [more, other_more] : offsets(piece.reduced))
        elements.back().emplace_back(at + more, other + other_more);
    }
  }

  static std::vector<std::pair<Index, Index>> offsets(
      const std::vector<ReduceDimension>& dimensions) {
    std::vector<std::pair<Index, Index>> list{{0, 0}};
    for (const ReduceDimension& dimension : dimensions) {
      std::vector<std::pair<Index, Index>> longer;
      for (const auto& [at, other] : list) {
        for (Index k = 0; k < dimension.extent; ++k) {
          longer.emplace_back(at + k * dimension.stride, other + k * dimension.other);
        }
      }
      list = std::move(longer);
    }
    return list;
  }
};

TEST(ReduceKernel, SumsAnyPieceAndMask) {
  std::mt19937 random(1);
  const OperatorKernels sum = operator_kernels(Reducer::kSum, Scalar::kInt32);
  for (int number = 0; number < 400; ++number) {
    const Case now(random, number % 10 == 0);
    std::vector<std::int32_t> data(static_cast<std::size_t>(now.room));
    for (auto& value : data) value = static_cast<std::int32_t>(random() % 2000000) - 1000000;
    const auto mask = std::make_unique<bool[]>(static_cast<std::size_t>(now.other_room));
    for (Index k = 0; k < now.other_room; ++k)
      mask[static_cast<std::size_t>(k)] = random() % 3 != 0;
    for (const bool* chosen :
         {static_cast<const bool*>(nullptr), static_cast<const bool*>(mask.get())}) {
      std::vector<Index> found(now.elements.size(), -1);
      sum.reduce(now.piece, data.data(), chosen, found.data());
      for (std::size_t result = 0; result < found.size(); ++result) {
        Index expected = 0;
        for (const auto& [at, other] : now.elements[result]) {
          if (chosen == nullptr || chosen[other]) expected += data[static_cast<std::size_t>(at)];
        }
        ASSERT_EQ(found[result], expected) << "piece " << number << ", result " << result;
      }
    }
  }
}

// A user's operator is only associative: elements must meet in row-major order.
TEST(ReduceKernel, KeepsTheOrderForOperatorsOfUsers) {
  std::mt19937 random(2);
  // Pairs (first, last): combining neighbours keeps the outer ones; anything else gives -1.
  struct Span {
    std::int64_t first, last;
  };
  const auto join = [](const Span& a, const Span& b) {
    return Span{a.last + 1 == b.first ? a.first : -1, b.last};
  };
  const OperatorKernels operation =
      detail::make_kernels(detail::UserPolicy<Span, decltype(join)>{join, {}});
  EXPECT_FALSE(operation.has_identity());
  for (int number = 0; number < 200; ++number) {
    const Case now(random, number % 4 == 0);
    if (now.elements.empty() || now.elements[0].empty()) continue;
    std::vector<Span> data(static_cast<std::size_t>(now.room));
    for (const auto& result : now.elements) {
      std::int64_t k = 0;
      for (const auto& [at, other] : result) {
        data[static_cast<std::size_t>(at)] = {k, k};
        ++k;
      }
    }
    std::vector<Span> found(now.elements.size());
    operation.reduce(now.piece, data.data(), nullptr, found.data());
    for (const Span& span : found) {
      ASSERT_EQ(span.first, 0);
      ASSERT_EQ(span.last, static_cast<std::int64_t>(now.elements[0].size()) - 1);
    }
  }
}

TEST(ReduceKernel, SumsPairwise) {
  // One after the other, 1e7 times 0.1f is 1.087937e6; the exact sum of these floats
  // is 1.0000000149e6.
  const std::vector<float> data(10'000'000, 0.1F);
  const OperatorKernels sum = operator_kernels(Reducer::kSum, Scalar::kFloat);
  float result = 0;
  sum.reduce({{}, {{10'000'000, 1, 1}}}, data.data(), nullptr, &result);
  EXPECT_NEAR(result, 1e6F, 0.2F);
  std::vector<float> columns(10);
  sum.reduce({{{10, 1, 1}}, {{1'000'000, 10, 10}}}, data.data(), nullptr, columns.data());
  for (const float column : columns) EXPECT_NEAR(column, 1e5F, 0.05F);
}

// Rows of accumulators lie on the stack, many levels deep.
TEST(ReduceKernel, ReducesColumnsOfLargeElements) {
  struct Large {
    std::int64_t value;
    std::byte rest[4088];
  };
  const auto add = [](const Large& a, const Large& b) { return Large{a.value + b.value, {}}; };
  const OperatorKernels operation =
      detail::make_kernels(detail::UserPolicy<Large, decltype(add)>{add, {}});
  const Index columns = 2;
  const Index rows = 4096;
  std::vector<Large> data(static_cast<std::size_t>(rows * columns));
  for (Index k = 0; k < rows * columns; ++k) data[static_cast<std::size_t>(k)].value = k % columns;
  std::vector<Large> found(static_cast<std::size_t>(columns));
  operation.reduce({{{columns, 1, 1}}, {{rows, columns, columns}}}, data.data(), nullptr,
                   found.data());
  for (Index k = 0; k < columns; ++k) EXPECT_EQ(found[static_cast<std::size_t>(k)].value, rows * k);
}

TEST(ReduceKernel, WrapsAround) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> left(3, most);
  const std::vector<std::int64_t> right(3, 1);
  std::int64_t found = 0;
  detail::dot_pieces<std::int64_t, std::int64_t, std::int64_t, false>(
      {{}, {{3, 1, 1}}}, left.data(), right.data(), &found);
  EXPECT_EQ(found, most - 2);
  const std::uint16_t large = 65535;
  std::uint16_t product = 0;
  detail::dot_pieces<std::uint16_t, std::uint16_t, std::uint16_t, false>({{}, {{1, 1, 1}}}, &large,
                                                                         &large, &product);
  EXPECT_EQ(product, 1);
}

TEST(ReduceKernel, MergesMoments) {
  const OperatorKernels moments = moments_kernels(Scalar::kDouble);
  std::vector<double> data(1000);
  std::iota(data.begin(), data.end(), 1e9);
  Moments found;
  moments.reduce({{}, {{1000, 1, 1}}}, data.data(), nullptr, &found);
  EXPECT_EQ(found.count, 1000);
  EXPECT_EQ(found.mean, 1e9 + 499.5);
  EXPECT_NEAR(found.squares, 1000.0 * (1000.0 * 1000.0 - 1) / 12, 1e-4);
  // Nothing merged with something is that, either way round.
  Moments nothing;
  Moments some = found;
  moments.combine(reinterpret_cast<std::byte*>(&some), reinterpret_cast<const std::byte*>(&nothing),
                  1);
  moments.combine(reinterpret_cast<std::byte*>(&nothing),
                  reinterpret_cast<const std::byte*>(&found), 1);
  EXPECT_EQ(some.squares, found.squares);
  EXPECT_EQ(nothing.mean, found.mean);
}

TEST(ReduceKernel, RefusesWhatHasNoOrder) {
  EXPECT_THROW(operator_kernels(Reducer::kMin, Scalar::kComplexFloat), Error);
  EXPECT_THROW(operator_kernels(Reducer::kSum, Scalar::kOpaque), Error);
  EXPECT_THROW(moments_kernels(Scalar::kOpaque), Error);
}

TEST(ReduceKernel, DoubtsTheIdentityOfExtremesAlone) {
  const OperatorKernels least = operator_kernels(Reducer::kMin, Scalar::kInt8);
  const std::int8_t values[3] = {1, 127, 3};
  EXPECT_TRUE(least.doubtful(values, 3));
  EXPECT_FALSE(least.doubtful(values, 1));
  EXPECT_FALSE(operator_kernels(Reducer::kSum, Scalar::kInt8).doubtful);
  const double nan = std::nan("");
  EXPECT_TRUE(operator_kernels(Reducer::kNanMin, Scalar::kDouble).doubtful(&nan, 1));
  EXPECT_FALSE(operator_kernels(Reducer::kMin, Scalar::kDouble).doubtful(&nan, 1));
}

TEST(ScanKernel, ScansLinesWithSeeds) {
  // 3 lines of 4 in a buffer with gaps, along either dimension.
  std::vector<int> data(100, 1000);
  for (int line = 0; line < 3; ++line) {
    for (int x = 0; x < 4; ++x) data[static_cast<std::size_t>(20 * line + 2 * x)] = 10 * line + x;
  }
  const OperatorKernels sum = operator_kernels(Reducer::kSum, Scalar::kInt32);
  const std::vector<Index> seeds{100, 200, 300};
  for (const bool exclusive : {false, true}) {
    std::vector<Index> rows(12);
    std::vector<Index> columns(12);
    sum.scan({{{3, 20, 4}}, {4, 2, 1}}, data.data(), seeds.data(), exclusive, rows.data());
    // The same lines, now the inner dimension of a transposed buffer.
    std::vector<int> turned(12);
    for (std::size_t k = 0; k < 12; ++k) turned[k] = data[20 * (k % 3) + 2 * (k / 3)];
    sum.scan({{{3, 1, 1}}, {4, 3, 3}}, turned.data(), seeds.data(), exclusive, columns.data());
    for (std::size_t line = 0; line < 3; ++line) {
      Index before = seeds[line];
      for (std::size_t x = 0; x < 4; ++x) {
        const Index after = before + static_cast<Index>(10 * line + x);
        EXPECT_EQ(rows[4 * line + x], exclusive ? before : after);
        EXPECT_EQ(columns[3 * x + line], exclusive ? before : after);
        before = after;
      }
    }
  }
}

}  // namespace
