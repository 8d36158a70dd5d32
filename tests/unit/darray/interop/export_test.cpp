// SPDX-License-Identifier: Apache-2.0
// Memory and distributions in and out: the same address, every layout, and what the protocol cannot
// say.
#include "darray/interop/dap/export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/interop/pieces.hpp"

namespace impishim::darray::dap {
namespace {

using impishim_test::error_of;
using test::block;
using test::cyclic;
using test::labels;
using test::piece;
using test::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Export exported(std::vector<DimData> dim_data, Buffer buffer) {
  Export result;
  result.dim_data = std::move(dim_data);
  result.buffer = std::move(buffer);
  return result;
}

/// Values of a view in row-major order.
template <class T>
std::vector<T> values(const StridedView<T>& view) {
  std::vector<T> all;
  view.for_each([&all](const T& value) { all.push_back(value); });
  return all;
}

// DAP-08
TEST(Export, NothingIsCopiedEitherWay) {
  std::vector<double> memory(12);
  std::iota(memory.begin(), memory.end(), 0);
  const StridedView<double> mine(memory.data(), {3, 4});
  const auto layout = make_distribution(std::array<Index, 2>{3, 4}, 1);
  const Export out = export_piece(*layout, 0, mine);
  EXPECT_EQ(out.version, "0.10.0");
  EXPECT_EQ(reinterpret_cast<double*>(out.buffer.data), memory.data());
  const Piece<double> in = piece_of<double>(out);
  EXPECT_EQ(in.owned.data(), memory.data());
  in.owned(1, 2) = -5;
  EXPECT_EQ(mine(1, 2), -5);
  mine(2, 3) = 77;
  EXPECT_EQ(in.buffer(2, 3), 77);
}

// DAP-10
TEST(Export, StridedReversedAndFortranBuffersStayWhereTheyAre) {
  std::vector<int> memory(24);
  std::iota(memory.begin(), memory.end(), 0);
  const StridedView<int> fortran(memory.data(), {4, 6}, {1, 4});
  const StridedView<int> sliced =
      StridedView<int>(memory.data(), {4, 6}).section({{1, 2, 2}, {5, 3, -2}});
  for (const StridedView<int>& view : {fortran, sliced}) {
    const auto layout = make_distribution(view.extents(), 1);
    const Export out = export_piece(*layout, 0, view);
    const Piece<int> in = piece_of<int>(out);
    EXPECT_EQ(in.owned.data(), view.data());
    EXPECT_EQ(in.owned.strides(), view.strides());
    EXPECT_EQ(values(in.owned), values(view));
  }
  EXPECT_THAT(values(sliced), ElementsAre(11, 9, 7, 23, 21, 19));
}

TEST(Export, BuffersAreCheckedAgainstTheElementType) {
  std::vector<double> memory(4);
  const Buffer buffer = buffer_of(StridedView<double>(memory.data(), {4}));
  EXPECT_EQ(buffer.typestr, "<f8");
  EXPECT_THAT(buffer.strides, ElementsAre(8));
  const std::vector<DimData> dim_data{block(4, 1, 0, 0, 4)};
  const auto take = [&](Buffer changed) {
    return [=] { piece_of<double>(exported(dim_data, changed)); };
  };
  take(buffer)();
  EXPECT_THAT(error_of(ErrorKind::kType, [&] { piece_of<float>(exported(dim_data, buffer)); }),
              HasSubstr("'<f8'"));
  EXPECT_THAT(
      error_of(ErrorKind::kType, [&] { piece_of<std::int64_t>(exported(dim_data, buffer)); }),
      HasSubstr("'<i8'"));
  Buffer changed = buffer;
  changed.typestr = ">f8";
  EXPECT_THAT(error_of(ErrorKind::kType, take(changed)), HasSubstr("byte order"));
  changed = buffer;
  changed.read_only = true;
  EXPECT_THAT(error_of(ErrorKind::kArgument, take(changed)), HasSubstr("read-only"));
  EXPECT_EQ(piece_of<const double>(exported(dim_data, changed)).owned.data(), memory.data());
  changed = buffer;
  changed.data += 4;
  EXPECT_THAT(error_of(ErrorKind::kArgument, take(changed)), HasSubstr("aligned"));
  changed = buffer;
  changed.strides = {12};
  EXPECT_THAT(error_of(ErrorKind::kShape, take(changed)), HasSubstr("12 bytes"));
  changed.data = nullptr;
  changed.strides = {8};
  EXPECT_THAT(error_of(ErrorKind::kArgument, take(changed)), HasSubstr("no address"));
  changed = buffer;
  changed.shape = {5};
  EXPECT_THAT(error_of(ErrorKind::kProtocol, take(changed)), HasSubstr("DAP-34"));
}

TEST(Export, TypeNames) {
  EXPECT_EQ(typestr_of<bool>(), "|b1");
  EXPECT_EQ(typestr_of<std::int8_t>(), "|i1");
  EXPECT_EQ(typestr_of<std::uint16_t>(), "<u2");
  EXPECT_EQ(typestr_of<std::complex<double>>(), "<c16");
  struct Particle {
    double x, y, z;
  };
  EXPECT_EQ(typestr_of<Particle>(), "|V24");
  EXPECT_EQ(item_size_of("|V24"), 24);
  for (const char* wrong : {"", "f8", "<f", "<f0", "<x8", "<f8x", "|O8", "<f-8"})
    EXPECT_THROW(item_size_of(wrong), Error) << wrong;
}

// T9
TEST(Export, ZeroDimensions) {
  double value = 3.5;
  const Distribution layout(ProcessGrid(), {});
  const Export out = export_piece(layout, 0, StridedView<double>(&value, std::vector<Index>{}));
  EXPECT_TRUE(out.dim_data.empty());
  EXPECT_TRUE(out.buffer.shape.empty());
  const Piece<double> in = piece_of<double>(out);
  EXPECT_EQ(global_count(in.dim_data), 1);
  EXPECT_EQ(&in.owned(), &value);
}

TEST(Export, EmptyPiecesNeedNoAddress) {
  Buffer nothing;
  nothing.typestr = "<f8";
  nothing.item_size = 8;
  nothing.shape = {0};
  nothing.strides = {8};
  EXPECT_TRUE(piece_of<double>(exported({block(2, 4, 3, 2, 2)}, nothing)).owned.empty());
}

// T2: the published data; the owned parts together are the global array.
TEST(Export, PaddedPiecesOfTheSpecification) {
  std::vector<double> left{.2, .6, .9, .6, .8, .4, .2, .2, .3, .9};
  std::vector<double> right{.3, .9, .2, 1., .4, .5, 0., .6, .8, .6};
  const std::vector<DimData> first{block(18, 2, 0, 0, 10, Padding{1, 1})};
  const std::vector<DimData> second{block(18, 2, 1, 8, 18, Padding{1, 1})};
  auto all = values(
      piece_of<double>(exported(first, buffer_of(StridedView<double>(left.data(), {10})))).owned);
  const auto rest = values(
      piece_of<double>(exported(second, buffer_of(StridedView<double>(right.data(), {10})))).owned);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_THAT(all,
              ElementsAre(.2, .6, .9, .6, .8, .4, .2, .2, .3, .9, .2, 1., .4, .5, 0., .6, .8, .6));
  const auto layout = distribution_of(std::vector{piece(first), piece(second)}, Level::kStrict);
  EXPECT_EQ(layout->axis(0).map.owner(8), 0);
  EXPECT_EQ(layout->axis(0).map.owner(9), 1);
  EXPECT_EQ(layout->ghosts(0, 0), (Ghosts{0, 1}));
  EXPECT_EQ(layout->ghosts(1, 0), (Ghosts{1, 0}));
  EXPECT_EQ(layout->axis(0).boundary, (Ghosts{1, 1}));
  EXPECT_FALSE(layout->axis(0).periodic);
}

/// A piece of every process, from its dictionaries to a distribution and back.
void expect_round_trip(const std::vector<ProcessPiece>& pieces) {
  const auto layout = distribution_of(pieces, Level::kStrict);
  for (std::size_t rank = 0; rank < pieces.size(); ++rank) {
    EXPECT_EQ(dim_data_of(*layout, static_cast<int>(rank)), pieces[rank].dimensions);
    EXPECT_EQ(layout->local_shape(static_cast<int>(rank)), pieces[rank].buffer_shape);
    for (std::size_t axis = 0; axis < pieces[rank].dimensions.size(); ++axis) {
      const int part = layout->part(static_cast<int>(rank), static_cast<int>(axis));
      const DimData& dimension = pieces[rank].dimensions[axis];
      const auto owned = test::owned_indices(dimension);
      EXPECT_EQ(layout->axis(static_cast<int>(axis)).map.owned(part),
                static_cast<Index>(owned.size()));
      for (std::size_t k = 0; k < owned.size(); ++k)
        EXPECT_EQ(layout->axis(static_cast<int>(axis)).map.global(part, static_cast<Index>(k)),
                  owned[k]);
    }
  }
}

// DAP-43: padding and periodic stay; T3, T4, T5, T6, T7.
TEST(Export, DictionariesRoundTripThroughDistributions) {
  expect_round_trip(test::pieces(test::padded()));
  expect_round_trip({piece({block(10, 1, 0, 0, 10, Padding{2, 2}, true)})});
  expect_round_trip({piece({block(18, 2, 0, 0, 10, Padding{1, 1}, true)}),
                     piece({block(18, 2, 1, 8, 18, Padding{1, 1}, true)})});
  expect_round_trip(
      {piece({cyclic(9, 3, 0, 2)}), piece({cyclic(9, 3, 1, 2)}), piece({cyclic(9, 3, 2, 2)})});
  expect_round_trip({piece({cyclic(9, 4, 0, 5)}), piece({cyclic(9, 4, 1, 5)}),
                     piece({cyclic(9, 4, 2, 5)}), piece({cyclic(9, 4, 3, 5)})});
  expect_round_trip({piece({labels(6, 2, 0, {-1, 4, 100})}), piece({labels(6, 2, 1, {4, 7, -1})})});
  expect_round_trip(test::labelled_on_both_axes());
  expect_round_trip({piece({block(0, 2, 0, 0, 0)}), piece({block(0, 2, 1, 0, 0)})});
  expect_round_trip({ProcessPiece{}});
}

// T5: start 9 of rank 3 is taken, 15 is given.
TEST(Export, CyclicStartsLeaveUncut) {
  std::vector<ProcessPiece> pieces;
  for (int part = 0; part < 4; ++part) {
    DimData dimension = cyclic(9, 4, part, 5);
    dimension.start = std::min<Index>(*dimension.start, 9);
    pieces.push_back(piece({dimension}));
  }
  const auto layout = distribution_of(pieces, Level::kStrict);
  EXPECT_EQ(dim_data_of(*layout, 3)[0].start, 15);
  // Of one process by itself, too; unless nobody can count so far.
  ForeignExport single;
  single.version = Value{std::string("0.10.0")};
  single.has_buffer = single.has_dim_data = true;
  single.buffer = buffer_of(StridedView<double>(nullptr, {0}));
  single.dim_data = {to_dictionary(pieces[3].dimensions[0])};
  EXPECT_EQ(accept(single, Level::kStrict).dim_data[0].start, 15);
  (*single.dim_data)[0]["block_size"] = Value{std::numeric_limits<Index>::max()};
  EXPECT_EQ(accept(single, Level::kStrict).dim_data[0].start, 9);
}

TEST(Export, BlocksLongerThanTheAxisHoldAllOfIt) {
  constexpr Index kLong = Index{1} << 61;
  std::vector<ProcessPiece> pieces;
  for (int part = 0; part < 4; ++part) pieces.push_back(piece({cyclic(4, 4, part, kLong)}));
  EXPECT_EQ(distribution_of(pieces, Level::kStrict)->owned_size(0), 4);
  for (int part = 0; part < 4; ++part)
    pieces[static_cast<std::size_t>(part)] = piece({cyclic(4, 4, part, kLong / 2)});
  EXPECT_EQ(dim_data_of(*distribution_of(pieces, Level::kStrict), 3)[0].block_size, kLong / 2);
}

TEST(Export, ArraysWithNothingInThemHaveStrides) {
  constexpr Index kGreat = Index{1} << 40;
  EXPECT_THAT(row_major_strides({2, 3}, 8), ElementsAre(24, 8));
  EXPECT_EQ(row_major_strides({kGreat, 0, kGreat}, 8).size(), 3U);
  EXPECT_THAT(error_of(ErrorKind::kShape,
                       [] {
                         row_major_strides({kGreat, 1, kGreat}, 8);
                       }),
              HasSubstr("axis 0"));
}

// T9, DAP-70: an alias beside a distributed axis, on a 1 x 2 grid.
TEST(Export, AliasesJoinDistributedAxes) {
  std::vector<ProcessPiece> pieces(2);
  for (int part = 0; part < 2; ++part)
    pieces[static_cast<std::size_t>(part)] = {{{}, block(10, 2, part, part * 5, part * 5 + 5)},
                                              {7, 5}};
  const auto layout = distribution_of(pieces, Level::kStrict);
  EXPECT_THAT(layout->shape(), ElementsAre(7, 10));
  EXPECT_EQ(dim_data_of(*layout, 1), (std::vector{block(7, 1, 0, 0, 7), block(10, 2, 1, 5, 10)}));
}

/// Flat row-major global indices of a rank's owned elements.
std::vector<Index> flat_indices(const Distribution& layout, int rank) {
  std::vector<Index> found;
  const auto dim_data = dim_data_of(layout, rank);
  std::vector<Index> shape;
  for (const DimData& dimension : dim_data) shape.push_back(buffer_extent(dimension));
  for (Index number = 0; number < element_count(shape); ++number) {
    Index flat = 0;
    Index rest = number;
    Index weight = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      flat += weight * to_global(dim_data[axis], rest % shape[axis]);
      weight *= *dim_data[axis].size;
      rest /= shape[axis];
    }
    found.push_back(flat);
  }
  return found;
}

TEST(Export, MixedKindsOnARowMajorGrid) {  // T1, DAP-26, DAP-77
  const auto layout = make_distribution(std::array<Index, 2>{5, 7}, 6,
                                        {.kinds = "bc", .grid = {2, 3}, .block_sizes = {{1, 2}}});
  EXPECT_THAT(flat_indices(*layout, 0), ElementsAre(0, 1, 6, 7, 8, 13, 14, 15, 20));
  EXPECT_THAT(flat_indices(*layout, 1), ElementsAre(2, 3, 9, 10, 16, 17));
  EXPECT_THAT(flat_indices(*layout, 2), ElementsAre(4, 5, 11, 12, 18, 19));
  EXPECT_THAT(flat_indices(*layout, 3), ElementsAre(21, 22, 27, 28, 29, 34));
  EXPECT_THAT(flat_indices(*layout, 4), ElementsAre(23, 24, 30, 31));
  EXPECT_THAT(flat_indices(*layout, 5), ElementsAre(25, 26, 32, 33));
  const auto cube =
      make_distribution(std::array<Index, 3>{5, 9, 3}, 8, {.kinds = "cbc", .grid = {2, 2, 2}});
  EXPECT_THAT(flat_indices(*cube, 5), ElementsAre(28, 31, 34, 37, 40, 82, 85, 88, 91, 94));
}

TEST(Export, EightAxes) {  // DAP-77
  const std::vector<Index> shape{2, 3, 1, 4, 2, 2, 3, 2};
  const auto layout =
      make_distribution(shape, 8, {.kinds = "bncnbncn", .grid = {2, 1, 1, 1, 2, 1, 2, 1}});
  std::vector<ProcessPiece> pieces;
  std::vector<Index> all;
  for (int rank = 0; rank < 8; ++rank) {
    pieces.push_back({dim_data_of(*layout, rank), layout->local_shape(rank)});
    const auto mine = flat_indices(*layout, rank);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  EXPECT_THAT(check_processes(pieces, Level::kStrict), IsEmpty());
  std::sort(all.begin(), all.end());
  std::vector<Index> expected(static_cast<std::size_t>(element_count(shape)));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
  EXPECT_TRUE(distribution_of(pieces, Level::kStrict)->same_pieces(*layout));
}

TEST(Export, WhatTheProtocolCannotSayIsRefused) {
  const DimMap map = DimMap::block(4, 2);
  const auto refuse = [](ErrorKind kind, const Distribution& layout) {
    return error_of(kind, [&] { dim_data_of(layout, 0); });
  };
  // DAP-55
  EXPECT_THAT(refuse(ErrorKind::kUnsupported,
                     Distribution(ProcessGrid({2}), {{DimMap::block_cyclic(9, 2, 2, 1), 0}})),
              HasSubstr("DAP-55"));
  // DAP-24, DAP-26
  EXPECT_THAT(
      refuse(ErrorKind::kUnsupported, Distribution(ProcessGrid({2}), {{DimMap::collapsed(4)}})),
      HasSubstr("DAP-24"));
  EXPECT_THAT(refuse(ErrorKind::kLayout, Distribution(ProcessGrid({2}, {1, 0}), {{map, 0}})),
              HasSubstr("DAP-26"));
  EXPECT_THAT(refuse(ErrorKind::kLayout, Distribution(ProcessGrid({2, 2}), {{map, 1}, {map, 0}})),
              HasSubstr("DAP-26"));
  EXPECT_THAT(error_of(ErrorKind::kLayout,
                       [&] {
                         dim_data_of(Distribution(ProcessGrid({2}), {{map, 0}}), 2);
                       }),
              HasSubstr("rank 2"));
  // DAP-36 to DAP-38; T12's halo is wider than the neighbour.
  EXPECT_THAT(
      refuse(ErrorKind::kUnsupported, Distribution(ProcessGrid({2}), {{map, 0, {{1, 1}, {1, 1}}}})),
      HasSubstr("DAP-36"));
  EXPECT_THAT(
      refuse(ErrorKind::kProtocol, Distribution(ProcessGrid({2}), {{map, 0, {{0, 1}, {2, 0}}}})),
      HasSubstr("DAP-37"));
  EXPECT_THAT(refuse(ErrorKind::kProtocol,
                     Distribution(ProcessGrid({2}), {{DimMap::block(3, 2), 0, {{0, 3}, {3, 0}}}})),
              HasSubstr("DAP-38"));
  // Either neighbour may be the one that has too little.
  EXPECT_THAT(
      refuse(ErrorKind::kProtocol,
             Distribution(ProcessGrid({2}), {{DimMap::bounded({0, 3, 4}), 0, {{0, 2}, {2, 0}}}})),
      HasSubstr("DAP-38: axis 0: 2 ghosts, but their owner, part 1, has 1"));
  EXPECT_THAT(
      refuse(ErrorKind::kProtocol,
             Distribution(ProcessGrid({2}), {{DimMap::bounded({0, 1, 4}), 0, {{0, 2}, {2, 0}}}})),
      HasSubstr("DAP-38: axis 0: 2 ghosts, but their owner, part 0, has 1"));
  // DAP-34, DAP-06
  std::vector<int> memory(9);
  const Distribution plain(ProcessGrid({2}), {{map, 0}});
  EXPECT_THAT(error_of(ErrorKind::kShape,
                       [&] { export_piece(plain, 0, StridedView<int>(memory.data(), {3})); }),
              HasSubstr("DAP-34"));
  EXPECT_THAT(error_of(ErrorKind::kShape,
                       [&] {
                         export_piece(plain, 0, StridedView<int>(memory.data(), {2, 1}));
                       }),
              HasSubstr("DAP-06"));
}

TEST(Export, ReplicatedArraysLeaveCopyByCopyWhenAsked) {
  const Distribution layout(ProcessGrid({3, 2}), {{DimMap::block(4, 2), 1}});
  std::vector<ProcessPiece> pieces;
  for (int rank = 0; rank < 6; ++rank)
    pieces.push_back(piece(dim_data_of(layout, rank, Replicated::kExportEachCopy)));
  EXPECT_EQ(pieces[5].dimensions, pieces[1].dimensions);
  const auto again = distribution_of(pieces, Level::kStrict, true);
  EXPECT_EQ(again->replicas(), 3);
  EXPECT_TRUE(again->same_pieces(layout));
  const Distribution behind(ProcessGrid({2, 3}), {{DimMap::block(4, 2), 0}});
  EXPECT_THAT(error_of(ErrorKind::kUnsupported,
                       [&] { dim_data_of(behind, 0, Replicated::kExportEachCopy); }),
              HasSubstr("DAP-26"));
}

TEST(Export, DistributionsOfInvalidPiecesAreRefused) {
  EXPECT_THAT(
      error_of(ErrorKind::kProtocol,
               [] { distribution_of(std::vector{piece({block(4, 2, 0, 0, 2)})}, Level::kStrict); }),
      HasSubstr("DAP-24"));
  const auto edge = [](int column, Index width) {
    return piece({block(6, 1, 0, 0, 6, Padding{width, 0}), cyclic(6, 2, column)});
  };
  EXPECT_THAT(error_of(ErrorKind::kUnsupported,
                       [&] {
                         distribution_of(std::vector{edge(0, 1), edge(1, 2)}, Level::kStrict);
                       }),
              HasSubstr("boundary padding"));
}

/// A valid foreign export.
ForeignExport foreign(double* memory) {
  ForeignExport result;
  result.version = Value{std::string("0.10.0")};
  result.has_buffer = result.has_dim_data = true;
  result.buffer = buffer_of(StridedView<double>(memory, {10}));
  result.dim_data = {to_dictionary(block(18, 2, 0, 0, 10, Padding{1, 1}))};
  return result;
}

TEST(Export, Dap01To05ForeignExports) {
  std::vector<double> memory(10);
  const auto check = [&](auto change, Level level = Level::kStrict) {
    ForeignExport changed = foreign(memory.data());
    change(changed);
    return text_of(validate(changed, level));
  };
  EXPECT_THAT(check([](ForeignExport&) {}), IsEmpty());
  EXPECT_EQ(reinterpret_cast<double*>(accept(foreign(memory.data()), Level::kStrict).buffer.data),
            memory.data());
  EXPECT_THAT(check([](ForeignExport& all) { all.version.reset(); }),
              HasSubstr("'__version__': DAP-01"));
  EXPECT_THAT(check([](ForeignExport& all) { all.has_buffer = false, all.buffer.reset(); }),
              HasSubstr("'buffer': DAP-01"));
  EXPECT_THAT(check([](ForeignExport& all) { all.has_dim_data = false, all.dim_data.reset(); }),
              HasSubstr("'dim_data': DAP-01"));
  EXPECT_THAT(check([](ForeignExport& all) { all.other_keys = {"owner"}; }, Level::kLenient),
              HasSubstr("'owner': DAP-01"));
  EXPECT_THAT(check([](ForeignExport& all) { all.version = Value{Index{1}}; }),
              HasSubstr("'__version__': DAP-02"));
  EXPECT_THAT(check([](ForeignExport& all) { all.version = Value{std::string("v0.10.0")}; }),
              HasSubstr("DAP-02"));
  EXPECT_THAT(check([](ForeignExport& all) { all.version = Value{std::string("1.10.0")}; }),
              HasSubstr("DAP-03"));
  EXPECT_THAT(check([](ForeignExport& all) { all.buffer.reset(); }), HasSubstr("'buffer': DAP-04"));
  EXPECT_THAT(check([](ForeignExport& all) { all.dim_data.reset(); }),
              HasSubstr("'dim_data': DAP-05"));
  EXPECT_THAT(check([](ForeignExport& all) { all.dim_data_is_tuple = false; }),
              HasSubstr("'dim_data': DAP-05"));
  EXPECT_THAT(check([](ForeignExport& all) { all.dim_data_is_tuple = false; }, Level::kLenient),
              IsEmpty());
  EXPECT_THAT(error_of(ErrorKind::kProtocol, [&] { accept({}, Level::kLenient); }),
              HasSubstr("DAP-01"));
}

}  // namespace
}  // namespace impishim::darray::dap
