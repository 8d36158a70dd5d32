// SPDX-License-Identifier: Apache-2.0
// The rules that one process can check: each accepted and rejected.
#include "darray/interop/dap/validate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "darray/base/error.hpp"
#include "tests/unit/darray/interop/pieces.hpp"

namespace impishim::darray::dap {
namespace {

using test::block;
using test::cyclic;
using test::labels;
using test::text_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Level kBoth[] = {Level::kLenient, Level::kStrict};

/// Violations of one dictionary over a buffer of this extent.
std::string check(const DimData& dimension, Index extent, Level level = Level::kStrict) {
  return text_of(validate(std::vector{dimension}, std::vector{extent}, level));
}
std::string check(const Dictionary& dictionary, Index extent, Level level = Level::kStrict) {
  return text_of(validate(std::vector{dictionary}, std::vector{extent}, level));
}

void expect_valid(const DimData& dimension, Index extent) {
  for (const Level level : kBoth) EXPECT_THAT(check(dimension, extent, level), IsEmpty());
}
/// Both levels reject it, with a message that has this text.
void expect_invalid(const DimData& dimension, Index extent, const std::string& text) {
  for (const Level level : kBoth) EXPECT_THAT(check(dimension, extent, level), HasSubstr(text));
}
/// Only the strict level rejects it.
void expect_strictly_invalid(const DimData& dimension, Index extent, const std::string& text) {
  EXPECT_THAT(check(dimension, extent, Level::kStrict), HasSubstr(text));
  EXPECT_THAT(check(dimension, extent, Level::kLenient), IsEmpty());
}

Dictionary block_dictionary() { return to_dictionary(block(10, 2, 0, 0, 5)); }
Dictionary with(Dictionary dictionary, const std::string& key, Value value) {
  dictionary[key] = std::move(value);
  return dictionary;
}
Dictionary without(Dictionary dictionary, const std::string& key) {
  dictionary.erase(key);
  return dictionary;
}

TEST(Validate, Dap06OneDictionaryForEachDimension) {
  EXPECT_THAT(
      text_of(validate(std::vector{block(3, 1, 0, 0, 3)}, std::vector<Index>{3}, Level::kStrict)),
      IsEmpty());
  EXPECT_THAT(text_of(validate(std::vector{block(3, 1, 0, 0, 3)}, std::vector<Index>{3, 3},
                               Level::kLenient)),
              HasSubstr("DAP-06"));
}

// DAP-07, T9
TEST(Validate, Dap07NoDictionariesAreAZeroDimensionalArray) {
  EXPECT_THAT(validate(std::span<const DimData>(), {}, Level::kStrict), IsEmpty());
  EXPECT_THAT(text_of(validate(std::span<const DimData>(), std::vector<Index>{1}, Level::kLenient)),
              HasSubstr("DAP-06"));
}

TEST(Validate, Dap20DistType) {
  for (const char* type : {"b", "c", "u"})
    EXPECT_THAT(check(with(block_dictionary(), "dist_type", {std::string(type)}), 5),
                ::testing::Not(HasSubstr("DAP-20")));
  for (const char* type : {"q", "n", "", "bb", "B"})
    for (const Level level : kBoth) {
      const std::string found =
          check(with(block_dictionary(), "dist_type", {std::string(type)}), 5, level);
      EXPECT_THAT(found, HasSubstr("dimension 0: 'dist_type': DAP-20"));
      EXPECT_THAT(found, HasSubstr("'" + std::string(type) + "'"));
    }
  EXPECT_THAT(check(with(block_dictionary(), "dist_type", {Index{3}}), 5), HasSubstr("DAP-20"));
  EXPECT_THAT(check(without(block_dictionary(), "dist_type"), 5), HasSubstr("DAP-20"));
  EXPECT_THAT(check(Dictionary{{"colour", {true}}}, 5), HasSubstr("DAP-20"));
}

TEST(Validate, Dap21Size) {
  expect_valid(block(0, 1, 0, 0, 0), 0);
  expect_invalid(block(-1, 1, 0, 0, 0), 0, "'size': DAP-21");
  expect_invalid(labels(-1, 1, 0, {}), 0, "'size': DAP-21");
  expect_invalid(cyclic(kMaximumExtent + 1, 1, 0), 0, "'size': DAP-21");
  for (const DimData& dimension :
       {block(5, 1, 0, 0, 5), cyclic(5, 1, 0), labels(5, 1, 0, {1, 2, 3, 4, 5})})
    EXPECT_THAT(check(without(to_dictionary(dimension), "size"), 5), HasSubstr("'size': DAP-21"));
}

TEST(Validate, Dap22TheLastBlockStopsAtSize) {
  expect_valid(block(9, 2, 1, 5, 9), 4);
  expect_strictly_invalid(block(10, 2, 1, 5, 9), 4, "'stop': DAP-22");
}

TEST(Validate, Dap23And25Grid) {
  expect_valid(block(5, 1, 0, 0, 5), 5);
  expect_valid(block(5, 2, 1, 3, 5), 2);
  expect_invalid(block(5, 0, 0, 0, 5), 5, "'proc_grid_size': DAP-23");
  expect_invalid(block(5, -2, 0, 0, 5), 5, "'proc_grid_size': DAP-23");
  expect_invalid(block(5, 2, 2, 3, 5), 2, "'proc_grid_rank': DAP-25");
  expect_invalid(block(5, 2, -1, 3, 5), 2, "'proc_grid_rank': DAP-25");
  DimData crowded = block(5, 2, 0, 0, 3);
  crowded.proc_grid_size = Index{1} << 31;
  expect_invalid(crowded, 3, "'proc_grid_size': DAP-23");
  EXPECT_THAT(check(without(block_dictionary(), "proc_grid_size"), 5),
              HasSubstr("'proc_grid_size': DAP-23"));
  EXPECT_THAT(check(without(block_dictionary(), "proc_grid_rank"), 5),
              HasSubstr("'proc_grid_rank': DAP-25"));
}

TEST(Validate, Dap27IntegersAreIntegers) {
  EXPECT_THAT(check(block_dictionary(), 5), IsEmpty());
  for (const std::string key : {"size", "proc_grid_size", "proc_grid_rank", "start", "stop"}) {
    for (const Value& value :
         {Value{2.0}, Value{std::string("2")}, Value{}, Value{Value::Sequence{}}})
      for (const Level level : kBoth)
        EXPECT_THAT(check(with(block_dictionary(), key, value), 5, level),
                    HasSubstr("'" + key + "': DAP-27"));
  }
  // true for 1: the only process of two would be rank 1.
  const Dictionary boolean = with(to_dictionary(block(10, 2, 1, 5, 10)), "proc_grid_rank", {true});
  EXPECT_THAT(check(boolean, 5, Level::kStrict), HasSubstr("'proc_grid_rank': DAP-27"));
  EXPECT_THAT(check(boolean, 5, Level::kLenient), IsEmpty());
  EXPECT_THAT(check(with(block_dictionary(), "block_size", {2.0}), 5), IsEmpty());  // no key of 'b'
}

TEST(Validate, Dap28UnknownKeysAreTolerated) {
  const Dictionary dictionary = with(block_dictionary(), "colour", {std::string("green")});
  for (const Level level : kBoth) EXPECT_THAT(check(dictionary, 5, level), IsEmpty());
  EXPECT_EQ(read(std::vector{dictionary}, Level::kLenient).dimensions[0].extra.count("colour"), 1U);
  EXPECT_EQ(to_dictionary(read(std::vector{dictionary}, Level::kLenient).dimensions[0]),
            dictionary);
  EXPECT_EQ(to_dictionary(read(std::vector{dictionary}, Level::kStrict).dimensions[0]),
            block_dictionary());
}

TEST(Validate, Dap30StartAndStop) {
  expect_valid(block(10, 3, 1, 4, 4), 0);  // an empty piece
  expect_valid(block(10, 3, 1, 10, 10), 0);
  expect_invalid(block(10, 3, 1, -1, 4), 5, "'start': DAP-30");
  expect_invalid(block(10, 3, 1, 5, 4), 0, "'stop': DAP-30 start <= stop (start 5, stop 4)");
  expect_invalid(block(10, 3, 1, 5, 11), 6, "'stop': DAP-30 stop <= size");
  EXPECT_THAT(check(without(block_dictionary(), "start"), 5), HasSubstr("'start': DAP-30"));
  EXPECT_THAT(check(without(block_dictionary(), "stop"), 5), HasSubstr("'stop': DAP-30"));
}

TEST(Validate, Dap31TheFirstBlockStartsAtZero) {
  expect_valid(block(10, 2, 0, 0, 5), 5);
  expect_invalid(block(10, 2, 0, 1, 5), 4, "'start': DAP-31");
}

TEST(Validate, Dap33BlocksMayDiffer) {
  expect_valid(block(10, 3, 0, 0, 7), 7);
  expect_valid(block(10, 3, 1, 7, 8), 1);
}

TEST(Validate, Dap34TheBufferHasThePiecesExtent) {
  expect_valid(block(18, 2, 0, 0, 10, Padding{1, 1}), 10);
  expect_invalid(block(18, 2, 0, 0, 10, Padding{1, 1}), 9, "'stop': DAP-34");
}

TEST(Validate, Dap35Padding) {
  expect_valid(block(10, 2, 0, 0, 5, Padding{0, 0}), 5);
  expect_valid(block(10, 2, 0, 0, 5, Padding{2, 3}), 5);
  expect_invalid(block(10, 2, 0, 0, 5, Padding{-1, 0}), 5, "'padding': DAP-35");
  expect_invalid(block(10, 2, 0, 0, 5, Padding{0, -1}), 5, "'padding': DAP-35");
  expect_invalid(block(10, 2, 0, 0, 5, Padding{3, 3}), 5, "'padding': DAP-35");
  expect_invalid(block(10, 2, 0, 0, 5, Padding{std::numeric_limits<Index>::max(), 1}), 5,
                 "'padding': DAP-35");
  const Value one{Index{1}};
  EXPECT_THAT(check(with(block_dictionary(), "padding", {Value::Sequence{one, one}}), 5),
              IsEmpty());
  for (const Value& value :
       {one, Value{Value::Sequence{one}}, Value{Value::Sequence{one, one, one}},
        Value{Value::Sequence{one, Value{1.0}}}, Value{std::string("11")}, Value{}})
    for (const Level level : kBoth)
      EXPECT_THAT(check(with(block_dictionary(), "padding", value), 5, level),
                  HasSubstr("'padding': DAP-35"));
}

TEST(Validate, Dap40Periodic) {
  for (const bool periodic : {false, true})
    EXPECT_THAT(check(with(block_dictionary(), "periodic", {periodic}), 5), IsEmpty());
  for (const Value& value : {Value{Index{1}}, Value{std::string("yes")}, Value{}})
    for (const Level level : kBoth)
      EXPECT_THAT(check(with(block_dictionary(), "periodic", value), 5, level),
                  HasSubstr("'periodic': DAP-40"));
}

// DAP-41, T4
TEST(Validate, Dap41PeriodicAndPaddedOnOneProcess) {
  expect_valid(block(10, 1, 0, 0, 10, Padding{2, 2}, true), 10);
}

TEST(Validate, Dap50Cyclic) {
  expect_valid(cyclic(10, 2, 1), 5);
  expect_valid(cyclic(10, 2, 1, 3), 4);
  expect_invalid(cyclic(10, 2, 0, 0), 5, "'block_size': DAP-50");
  expect_invalid(cyclic(10, 2, 0, -3), 5, "'block_size': DAP-50");
  DimData negative = cyclic(10, 2, 0);
  negative.start = -1;
  expect_invalid(negative, 5, "'start': DAP-50");
  EXPECT_THAT(check(without(to_dictionary(cyclic(10, 2, 1)), "start"), 5),
              HasSubstr("'start': DAP-50"));
  expect_valid(cyclic(5, 1, 0, std::numeric_limits<Index>::max()), 5);
  DimData huge = cyclic(Index{1} << 62, 4, 0, Index{1} << 62);
  expect_invalid(huge, 5, "'block_size': DAP-50");
}

// T5: the published helper expects 5, 2, 2.
TEST(Validate, Dap52TheBufferHoldsTheBlocksDealtToTheGridRank) {
  expect_valid(cyclic(9, 3, 0, 2), 4);
  expect_valid(cyclic(9, 3, 1, 2), 3);
  expect_invalid(cyclic(9, 3, 0, 2), 5, "DAP-52");
  expect_invalid(cyclic(9, 3, 1, 2), 2, "DAP-52");
  expect_valid(cyclic(9, 4, 1, 5), 4);
  expect_valid(cyclic(3, 4, 3), 0);
}

// T5: size 9, block 5, 4 processes; rank 3's start is 15, or 9 as in the protocol's own tests.
TEST(Validate, Dap54StartOfCyclicMayBeCutToSize) {
  DimData dimension = cyclic(9, 4, 3, 5);
  EXPECT_EQ(dimension.start, 15);
  expect_valid(dimension, 0);
  dimension.start = 9;
  expect_valid(dimension, 0);
  for (const Index start : {0, 8, 10, 14, 16}) {
    dimension.start = start;
    expect_invalid(dimension, 0, "'start': DAP-54");
  }
  DimData second = cyclic(9, 3, 1, 2);
  second.start = 9;
  expect_invalid(second, 3, "'start': DAP-54");
}

TEST(Validate, Dap60Indices) {
  const Dictionary dictionary = to_dictionary(labels(3, 1, 0, {7, -1, 4}));
  EXPECT_THAT(check(dictionary, 3), IsEmpty());
  const Value one{Index{1}};
  for (const Value& value : {Value{Value::Sequence{one, one, one}}, Value{Index{3}}, Value{},
                             Value{Other{"a buffer of reals"}}})
    for (const Level level : kBoth)
      EXPECT_THAT(check(with(dictionary, "indices", value), 3, level),
                  HasSubstr("'indices': DAP-60"));
  EXPECT_THAT(check(without(dictionary, "indices"), 3), HasSubstr("'indices': DAP-60"));
}

// T7: the reference validator lets the double label pass.
TEST(Validate, Dap61LabelsAreLocallyUniqueElseFree) {
  expect_valid(labels(6, 2, 0, {-1, 4, 100}), 3);
  expect_strictly_invalid(labels(3, 1, 0, {3, 3, 1}), 3,
                          "'indices': DAP-61 labels are unique within a process (3 occurs twice)");
}

TEST(Validate, Dap62OneToOne) {
  const Dictionary dictionary = to_dictionary(labels(3, 1, 0, {7, -1, 4}));
  for (const bool truth : {false, true})
    EXPECT_THAT(check(with(dictionary, "one_to_one", {truth}), 3), IsEmpty());
  for (const Level level : kBoth)
    EXPECT_THAT(check(with(dictionary, "one_to_one", {Index{1}}), 3, level),
                HasSubstr("'one_to_one': DAP-62"));
}

TEST(Validate, Dap63And64OneLabelForEachElement) {
  expect_valid(labels(6, 2, 1, {4, 7, -1}), 3);
  expect_invalid(labels(6, 2, 1, {4, 7, -1}), 2, "'indices': DAP-63");
  expect_invalid(labels(2, 2, 1, {4, 7, -1}), 3, "'indices': DAP-64");
  expect_strictly_invalid(labels(6, 1, 0, {4, 7, -1}), 3, "'indices': DAP-64");
}

// DAP-70, T9
TEST(Validate, Dap70TheEmptyDictionary) {
  expect_valid(DimData{}, 7);
  expect_valid(DimData{}, 0);
  const std::vector<DimData> both{{}, block(10, 2, 0, 0, 5)};
  EXPECT_THAT(validate(both, std::vector<Index>{7, 5}, Level::kStrict), IsEmpty());
}

TEST(Validate, Dap71EmptyPieces) {
  expect_valid(block(0, 3, 2, 0, 0), 0);
  expect_valid(cyclic(0, 3, 2), 0);
  expect_valid(labels(0, 3, 2, {}), 0);
  expect_valid(labels(5, 3, 2, {}), 0);
  expect_valid(block(2, 4, 3, 2, 2), 0);
  expect_valid(block(9, 3, 1, 4, 4), 0);
  DimData at_end = cyclic(3, 4, 3);
  EXPECT_EQ(at_end.start, at_end.size);
  expect_valid(at_end, 0);
}

TEST(Validate, Dap77EightAxesOfAllKinds) {
  std::vector<DimData> dimensions;
  std::vector<Index> shape;
  for (int axis = 0; axis < 9; ++axis) {
    const DimData dimension = axis % 3 == 0   ? block(5, 1, 0, 0, 5)
                              : axis % 3 == 1 ? cyclic(9, 3, 1, 2)
                                              : labels(2, 1, 0, {8, 3});
    dimensions.push_back(dimension);
    shape.push_back(buffer_extent(dimension));
  }
  EXPECT_THAT(validate(dimensions, shape, Level::kStrict), IsEmpty());
  dimensions[8].size = -1;
  EXPECT_THAT(text_of(validate(dimensions, shape, Level::kStrict)),
              HasSubstr("dimension 8: 'size': DAP-21"));
}

TEST(Validate, Dap02And03Version) {
  for (const std::string_view version : {"0.10.0", "0.9.0", "0.0.1", "0.123.4"})
    for (const Level level : kBoth)
      EXPECT_THAT(validate_version(version, level), IsEmpty()) << version;
  for (const std::string_view version :
       {"", "0", "0.10", "0.10.", "0.10.0.", "v0.10.0", "v1.0.0alpha", "0.-1.0", "0.01.0",
        " 0.10.0", "0.10.0 ", "0.10.x", "0.10.0.0", "0.10.0-", "99999999999.0.0"})
    for (const Level level : kBoth)
      EXPECT_THAT(text_of(validate_version(version, level)), HasSubstr("DAP-02")) << version;
  for (const std::string_view version :
       {"0.10.0rc1", "0.10.0-rc.1", "0.10.0+local", "0.10.0.dev3", "0.10.0a1"}) {
    EXPECT_THAT(validate_version(version, Level::kLenient), IsEmpty()) << version;
    EXPECT_THAT(text_of(validate_version(version, Level::kStrict)), HasSubstr("DAP-02")) << version;
  }
  const std::string refused = text_of(validate_version("1.0.0", Level::kLenient));
  EXPECT_THAT(refused, HasSubstr("DAP-03"));
  EXPECT_THAT(refused, HasSubstr("'1.0.0'"));
  EXPECT_THAT(refused, HasSubstr("'0.10.0'"));
}

TEST(Validate, EverythingWrongIsReportedAtOnceAndOnce) {
  Dictionary first = with(block_dictionary(), "size", {2.5});
  const Dictionary second = without(block_dictionary(), "stop");
  const Violations found =
      validate(std::vector{first, second}, std::vector<Index>{5, 5}, Level::kStrict);
  ASSERT_EQ(found.size(), 2U) << text_of(found);
  EXPECT_EQ(found[0].message(),
            "dimension 0: 'size': DAP-27 an integer of at most 64 bits, not a boolean (the real "
            "number 2.5)");
  EXPECT_EQ(found[1].message(),
            "dimension 1: 'stop': DAP-30 'b' requires stop (the key is missing)");
  try {
    require_none(found, "the export");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kProtocol);
    EXPECT_THAT(error.what(),
                ::testing::AllOf(HasSubstr(found[0].message()), HasSubstr(found[1].message())));
  }
}

}  // namespace
}  // namespace impishim::darray::dap
