// SPDX-License-Identifier: Apache-2.0
// The rules over all processes: each accepted and rejected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "darray/base/error.hpp"
#include "darray/interop/dap/piece_words.hpp"
#include "darray/interop/dap/validate.hpp"
#include "tests/unit/darray/interop/pieces.hpp"

namespace impishim::darray::dap {
namespace {

using test::block;
using test::cyclic;
using test::labels;
using test::padded;
using test::piece;
using test::text_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Pieces of a one-dimensional array.
std::string check(const std::vector<DimData>& parts, Level level = Level::kStrict) {
  return text_of(check_processes(test::pieces(parts), level));
}

TEST(CheckProcesses, TheSpecificationsPaddingTable) { EXPECT_THAT(check(padded()), IsEmpty()); }

// T3, first variant: DAP-37
TEST(CheckProcesses, Dap37NeighboursPaddingsAreEqual) {
  auto parts = padded();
  parts[2].padding = Padding{1, 3};
  for (const DimData& part : parts)
    EXPECT_THAT(validate(std::vector{part}, std::vector{buffer_extent(part)}, Level::kStrict),
                IsEmpty());
  EXPECT_THAT(check(parts), HasSubstr("rank 2: dimension 0: 'padding': DAP-37 neighbouring "
                                      "communication paddings are equal (right "
                                      "padding 2 of rank 1 != left padding 1 of rank 2)"));
  EXPECT_THAT(check(parts, Level::kLenient), HasSubstr("DAP-37"));
}

// T3, second variant: DAP-38; Adlib's rule, and so the lenient level, allows it.
TEST(CheckProcesses, Dap38PaddingIsNoWiderThanTheNeighbour) {
  const std::vector<DimData> parts{
      block(25, 4, 0, 0, 9, Padding{4, 1}), block(25, 4, 1, 7, 16, Padding{1, 2}),
      block(25, 4, 2, 12, 19, Padding{2, 3}), block(25, 4, 3, 13, 25, Padding{3, 0})};
  EXPECT_THAT(check(parts), HasSubstr("rank 3: dimension 0: 'padding': DAP-38 communication "
                                      "padding <= what the neighbour owns (left "
                                      "padding 3, rank 2 owns 2)"));
  EXPECT_THAT(check(parts, Level::kLenient), IsEmpty());
  const std::vector<DimData> wide{block(4, 2, 0, 0, 4, Padding{0, 2}),
                                  block(4, 2, 1, 0, 4, Padding{2, 0})};
  EXPECT_THAT(check(wide), IsEmpty());
  const std::vector<DimData> wider{block(8, 3, 0, 0, 5, Padding{0, 2}),
                                   block(8, 3, 1, 1, 4, Padding{2, 0}), block(8, 3, 2, 4, 8)};
  EXPECT_THAT(check(wider), HasSubstr("rank 0: dimension 0: 'padding': DAP-38 communication "
                                      "padding <= what the neighbour owns (right "
                                      "padding 2, rank 1 owns 1)"));
  EXPECT_THAT(check(wider, Level::kLenient), IsEmpty());
}

TEST(CheckProcesses, Dap32OwnedIndicesTouch) {
  EXPECT_THAT(check({block(10, 2, 0, 0, 7), block(10, 2, 1, 7, 10)}), IsEmpty());
  EXPECT_THAT(check({block(10, 2, 0, 0, 7), block(10, 2, 1, 6, 10)}), HasSubstr("'start': DAP-32"));
  EXPECT_THAT(check({block(10, 2, 0, 0, 7), block(10, 2, 1, 8, 10)}), HasSubstr("'start': DAP-32"));
  // T2
  EXPECT_THAT(check({block(18, 2, 0, 0, 10, Padding{1, 1}), block(18, 2, 1, 8, 18, Padding{1, 1})}),
              IsEmpty());
}

TEST(CheckProcesses, Dap22SizeIsTheSumOfTheOwnedCounts) {
  EXPECT_THAT(check({labels(6, 2, 0, {1, 2, 3}), labels(6, 2, 1, {4, 5, 6})}), IsEmpty());
  EXPECT_THAT(check({labels(7, 2, 0, {1, 2, 3}), labels(7, 2, 1, {4, 5, 6})}),
              HasSubstr("'size': DAP-22"));
  EXPECT_THAT(check({block(10, 2, 0, 0, 5), block(10, 2, 1, 5, 9)}, Level::kLenient),
              HasSubstr("'size': DAP-22"));
}

TEST(CheckProcesses, Dap24TheGridHasAllProcesses) {
  const auto at = [](int row, int column) {
    return piece({block(4, 2, row, row * 2, row * 2 + 2), cyclic(6, 2, column)});
  };
  EXPECT_THAT(check_processes(std::vector{at(0, 0), at(0, 1), at(1, 0), at(1, 1)}, Level::kStrict),
              IsEmpty());
  EXPECT_THAT(text_of(check_processes(std::vector{at(0, 0), at(0, 1), at(1, 0)}, Level::kStrict)),
              HasSubstr("DAP-24"));
  EXPECT_THAT(check({block(4, 1, 0, 0, 4), block(4, 1, 0, 0, 4)}), HasSubstr("DAP-24"));
}

// T9
TEST(CheckProcesses, Dap24ZeroDimensionalArraysLieOnOneProcessOrAreReplicated) {
  const std::vector<ProcessPiece> one(1);
  const std::vector<ProcessPiece> two(2);
  EXPECT_THAT(check_processes(one, Level::kStrict), IsEmpty());
  EXPECT_THAT(text_of(check_processes(two, Level::kStrict)), HasSubstr("DAP-24"));
  EXPECT_THAT(check_processes(two, Level::kStrict, /*replicated=*/true), IsEmpty());
  const auto half = [](int part) { return piece({block(4, 2, part, part * 2, part * 2 + 2)}); };
  EXPECT_THAT(
      check_processes(std::vector{half(0), half(1), half(0), half(1)}, Level::kStrict, true),
      IsEmpty());
  EXPECT_THAT(
      text_of(check_processes(std::vector{half(0), half(1), half(0)}, Level::kStrict, true)),
      HasSubstr("DAP-24"));
}

// T1: a column-major grid gives rank 1 the piece of (1, 0).
TEST(CheckProcesses, Dap26RanksAreRowMajor) {
  const auto at = [](int row, int column) {
    return piece({block(5, 2, row, row * 3, row == 0 ? 3 : 5), cyclic(7, 3, column, 2)});
  };
  EXPECT_THAT(
      check_processes(std::vector{at(0, 0), at(0, 1), at(0, 2), at(1, 0), at(1, 1), at(1, 2)},
                      Level::kStrict),
      IsEmpty());
  EXPECT_THAT(
      text_of(check_processes(
          std::vector{at(0, 0), at(1, 0), at(0, 1), at(1, 1), at(0, 2), at(1, 2)}, Level::kStrict)),
      HasSubstr("rank 1: dimension 0: 'proc_grid_rank': DAP-26"));
}

TEST(CheckProcesses, Dap74EqualGridRanksHaveEqualDictionaries) {
  const auto at = [](int row, int column, Index cut, Padding edge) {
    return piece(
        {row == 0 ? block(6, 2, 0, 0, cut, edge) : block(6, 2, 1, cut, 6), cyclic(6, 2, column)});
  };
  EXPECT_THAT(check_processes(std::vector{at(0, 0, 3, {1, 0}), at(0, 1, 3, {1, 0}), at(1, 0, 3, {}),
                                          at(1, 1, 3, {})},
                              Level::kStrict),
              IsEmpty());
  // Boundary padding may differ on edge processes.
  EXPECT_THAT(check_processes(std::vector{at(0, 0, 3, {1, 0}), at(0, 1, 3, {2, 0}), at(1, 0, 3, {}),
                                          at(1, 1, 3, {})},
                              Level::kStrict),
              IsEmpty());
  EXPECT_THAT(text_of(check_processes(
                  std::vector{at(0, 0, 3, {}), at(0, 1, 4, {}), at(1, 0, 3, {}), at(1, 1, 4, {})},
                  Level::kStrict)),
              HasSubstr("rank 1: dimension 0: DAP-74"));
}

TEST(CheckProcesses, OneValueForTheWholeAxis) {
  const auto spoilt = [](auto change, std::vector<DimData> parts) {
    change(parts[1]);
    return check(parts, Level::kLenient);
  };
  const std::vector<DimData> blocks{block(10, 2, 0, 0, 5), block(10, 2, 1, 5, 10)};
  const std::vector<DimData> dealt{cyclic(8, 2, 0, 1), cyclic(8, 2, 1)};
  const std::vector<DimData> named{labels(2, 2, 0, {1}), labels(2, 2, 1, {2})};
  EXPECT_THAT(check(dealt), IsEmpty());  // absent and 1 are the same
  EXPECT_THAT(spoilt([](DimData& part) { part.size = 11; }, blocks),
              HasSubstr("rank 1: dimension 0: 'size': DAP-21"));
  EXPECT_THAT(spoilt([](DimData& part) { part.proc_grid_size = 3; }, blocks),
              HasSubstr("'proc_grid_size': DAP-23"));
  EXPECT_THAT(spoilt([](DimData& part) { part.periodic = true; }, blocks),
              HasSubstr("'periodic': DAP-40"));
  EXPECT_THAT(spoilt([](DimData& part) { part.block_size = part.start = 4; }, dealt),
              HasSubstr("'block_size': DAP-50"));
  EXPECT_THAT(spoilt([](DimData& part) { part.one_to_one = true; }, named),
              HasSubstr("'one_to_one': DAP-62"));
  EXPECT_THAT(spoilt([](DimData& part) { part = cyclic(10, 2, 1); }, blocks),
              HasSubstr("'dist_type': DAP-74"));
  EXPECT_THAT(text_of(check_processes(std::vector{piece({blocks[0]}), piece({blocks[1], {}})},
                                      Level::kStrict)),
              HasSubstr("DAP-06"));
}

// T7
TEST(CheckProcesses, Dap62LabelsOnSeveralProcesses) {
  EXPECT_THAT(check({labels(6, 2, 0, {-1, 4, 100}), labels(6, 2, 1, {4, 7, -1})}), IsEmpty());
  const std::string found =
      check({labels(6, 2, 0, {-1, 4, 100}, true), labels(6, 2, 1, {4, 7, -1}, true)});
  EXPECT_THAT(found, HasSubstr("rank 1: dimension 0: 'indices': DAP-62 one_to_one: each label on "
                               "one process (label 4 is on rank 0, too)"));
  EXPECT_THAT(found, HasSubstr("label -1"));
  // Processes that differ along another axis hold the same labels, and are no second place.
  const auto at = [](int row, int column) {
    return piece(
        {labels(4, 2, row, {row, row + 2}, true), block(4, 2, column, column * 2, column * 2 + 2)});
  };
  EXPECT_THAT(check_processes(std::vector{at(0, 0), at(0, 1), at(1, 0), at(1, 1)}, Level::kStrict),
              IsEmpty());
}

TEST(CheckProcesses, PiecesThatAreInvalidByThemselvesAreReportedWithTheirRank) {
  auto parts = padded();
  parts[2].stop = 31;
  EXPECT_EQ(check(parts), "rank 2: dimension 0: 'stop': DAP-30 stop <= size (stop 31, size 30)\n");
}

// T6: five rows and nine columns, both by labels.
TEST(CheckProcesses, UnstructuredOnBothAxes) {
  EXPECT_THAT(check_processes(test::labelled_on_both_axes(), Level::kStrict), IsEmpty());
}

TEST(PieceWords, RoundTripAndRefuseWhatIsCut) {
  DimData everything = block(18, 2, 1, 8, 18, Padding{1, 1}, true);
  const ProcessPiece whole =
      piece({everything, labels(3, 1, 0, {-5, 7, 1}, false), cyclic(9, 3, 2, 2)});
  ProcessPiece alias;
  alias.dimensions = {{}};
  alias.buffer_shape = {7};
  for (const ProcessPiece& original : {whole, alias, ProcessPiece{}}) {
    auto words = to_words(original);
    const ProcessPiece again = piece_from_words(words);
    EXPECT_EQ(again.dimensions, original.dimensions);
    EXPECT_EQ(again.buffer_shape, original.buffer_shape);
    for (std::size_t length = 0; length < words.size(); ++length)
      EXPECT_THROW(piece_from_words(std::span(words).first(length)), Error) << length;
    words.push_back(0);
    EXPECT_THROW(piece_from_words(words), Error);
  }
}

}  // namespace
}  // namespace impishim::darray::dap
