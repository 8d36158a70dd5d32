// SPDX-License-Identifier: Apache-2.0
// Other libraries' descriptions: DLPack, __partitioned__, ScaLAPACK's descriptor,
// MPI_Type_create_darray()'s arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "darray/interop/dap/block_cyclic.hpp"
#include "darray/interop/dap/dlpack.hpp"
#include "darray/interop/dap/partitioned.hpp"
#include "tests/unit/darray/errors.hpp"

namespace impishim::darray {
namespace {

using impishim_test::kind_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The ABI: what other libraries compile against.
static_assert(sizeof(dlpack::Tensor) == 48 && offsetof(dlpack::Tensor, shape) == 24 &&
              offsetof(dlpack::Tensor, byte_offset) == 40);
static_assert(sizeof(dlpack::ManagedTensor) == 64 &&
              offsetof(dlpack::ManagedTensor, deleter) == 56);
static_assert(sizeof(dlpack::VersionedTensor) == 80 &&
              offsetof(dlpack::VersionedTensor, dl_tensor) == 32);

TEST(Dlpack, SameMemoryBothWays) {
  std::vector<float> memory(24);
  const StridedView<float> view =
      StridedView<float>(memory.data(), {4, 6}).section({{3, 2, -2}, {1, 3, 2}});
  const dap::Buffer buffer = dap::buffer_of(view);
  const auto plain = dlpack::to_dlpack(buffer);
  const auto versioned = dlpack::to_dlpack_versioned(buffer);
  EXPECT_EQ(plain->dl_tensor.data, view.data());
  EXPECT_EQ(plain->dl_tensor.strides[0], -12);
  EXPECT_EQ(plain->dl_tensor.dtype.bits, 32);
  EXPECT_EQ(versioned->version.major, 1U);
  EXPECT_EQ(versioned->flags, 0U);
  EXPECT_EQ(dlpack::from_dlpack(*plain), buffer);
  EXPECT_EQ(dlpack::from_dlpack(*versioned), buffer);
}

TEST(Dlpack, AllElementKinds) {
  const auto check = [](auto value) {
    const dap::Buffer buffer = dap::buffer_of(StridedView(&value, std::vector<Index>{}));
    EXPECT_EQ(dlpack::from_dlpack(*dlpack::to_dlpack(buffer)), buffer) << buffer.typestr;
  };
  check(true);
  check(std::int8_t{});
  check(std::uint64_t{});
  check(1.0F);
  check(std::complex<double>{});
  struct Opaque {
    char bytes[3];
  } opaque{};
  EXPECT_EQ(kind_of([&] {
              dlpack::to_dlpack(dap::buffer_of(StridedView(&opaque, std::vector<Index>{})));
            }),
            ErrorKind::kType);
}

TEST(Dlpack, TheOwnerLivesUntilTheDeleterIsCalled) {
  auto owner = std::make_shared<std::vector<double>>(4);
  const dap::Buffer buffer = dap::buffer_of(StridedView<double>(owner->data(), {4}));
  auto plain = dlpack::to_dlpack(buffer, owner);
  auto versioned = dlpack::to_dlpack_versioned(buffer, owner);
  EXPECT_EQ(owner.use_count(), 3);
  dlpack::ManagedTensor* handed_over = plain.release();
  handed_over->deleter(handed_over);
  versioned.reset();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(Dlpack, ReadOnlyNeedsTheVersionedForm) {
  const double value = 2;
  const dap::Buffer buffer =
      dap::buffer_of(StridedView<const double>(&value, std::vector<Index>{}));
  EXPECT_EQ(kind_of([&] { dlpack::to_dlpack(buffer); }), ErrorKind::kUnsupported);
  const auto tensor = dlpack::to_dlpack_versioned(buffer);
  EXPECT_EQ(tensor->flags, dlpack::kReadOnly);
  EXPECT_TRUE(dlpack::from_dlpack(*tensor).read_only);
}

TEST(Dlpack, ForeignTensors) {
  std::vector<std::int32_t> memory(7);
  std::vector<std::int64_t> shape{2, 3};
  dlpack::ManagedTensor foreign{
      {memory.data(), {dlpack::kCpu, 0}, 2, {0, 32, 1}, shape.data(), nullptr, 4},
      nullptr,
      nullptr};
  const dap::Buffer buffer = dlpack::from_dlpack(foreign);
  EXPECT_EQ(buffer.data, reinterpret_cast<std::byte*>(memory.data() + 1));
  EXPECT_THAT(buffer.strides, ElementsAre(12, 4));  // none given: row-major
  EXPECT_EQ(buffer.typestr, "<i4");
  const auto refused = [&](auto change) {
    dlpack::ManagedTensor changed = foreign;
    change(changed.dl_tensor);
    return kind_of([&] { dlpack::from_dlpack(changed); });
  };
  EXPECT_EQ(refused([](dlpack::Tensor& tensor) { tensor.device.device_type = 2; }),
            ErrorKind::kUnsupported);
  EXPECT_EQ(refused([](dlpack::Tensor& tensor) { tensor.dtype.lanes = 4; }),
            ErrorKind::kUnsupported);
  EXPECT_EQ(refused([](dlpack::Tensor& tensor) { tensor.dtype.bits = 4; }),
            ErrorKind::kUnsupported);
  EXPECT_EQ(refused([](dlpack::Tensor& tensor) { tensor.dtype.code = 4; }),
            ErrorKind::kUnsupported);
  EXPECT_EQ(refused([](dlpack::Tensor& tensor) { tensor.ndim = -1; }), ErrorKind::kArgument);
  shape[1] = -3;
  EXPECT_EQ(kind_of([&] { dlpack::from_dlpack(foreign); }), ErrorKind::kArgument);
  dlpack::VersionedTensor later{{2, 0}, nullptr, nullptr, 0, foreign.dl_tensor};
  EXPECT_EQ(kind_of([&] { dlpack::from_dlpack(later); }), ErrorKind::kUnsupported);
}

TEST(Partitioned, OnePartitionForEachBlock) {
  const auto layout = make_distribution(std::array<Index, 2>{5, 7}, 6,
                                        {.kinds = "bc", .grid = {2, 3}, .block_sizes = {{1, 2}}});
  std::vector<int> memory(9);
  const dap::Buffer local =
      dap::buffer_of(StridedView<int>(memory.data(), {3, 3}));  // of rank 0: columns 0, 1, 6
  const auto result = dap::partitioned(*layout, 0, local);
  EXPECT_THAT(result.shape, ElementsAre(5, 7));
  EXPECT_THAT(result.partition_tiling, ElementsAre(2, 4));
  ASSERT_EQ(result.partitions.size(), 8U);
  EXPECT_THAT(result.locals, ElementsAre(0, 3));
  std::vector<int> ranks;
  for (const auto& partition : result.partitions) ranks.push_back(partition.rank);
  EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 0, 3, 4, 5, 3));
  EXPECT_THAT(result.partitions[3].start, ElementsAre(0, 6));
  EXPECT_THAT(result.partitions[3].shape, ElementsAre(3, 1));
  EXPECT_EQ(reinterpret_cast<int*>(result.partitions[3].data->data), memory.data() + 2);
  EXPECT_THAT(result.partitions[7].position, ElementsAre(1, 3));
  EXPECT_FALSE(result.partitions[7].data.has_value());
  EXPECT_THAT(dap::to_json(result), ::testing::AllOf(HasSubstr(R"("locals":[[0,0],[0,3]])"),
                                                     HasSubstr(R"("partition_tiling":[2,4])")));
}

TEST(Partitioned, GhostsAreLeftOutAndEmptyPiecesAreThere) {
  const Distribution layout(ProcessGrid({3}), {{DimMap::block(4, 3), 0, {{0, 1}, {1, 0}, {0, 0}}}});
  std::vector<int> memory(3);
  const auto result =
      dap::partitioned(layout, 1, dap::buffer_of(StridedView<int>(memory.data(), {3})));
  EXPECT_THAT(result.partition_tiling, ElementsAre(3));
  EXPECT_EQ(reinterpret_cast<int*>(result.partitions[1].data->data), memory.data() + 1);
  EXPECT_THAT(result.partitions[1].shape, ElementsAre(2));
  EXPECT_THAT(result.partitions[2].shape, ElementsAre(0));
  EXPECT_EQ(kind_of([&] {
              dap::partitioned(layout, 1, dap::buffer_of(StridedView<int>(memory.data(), {2})));
            }),
            ErrorKind::kShape);
}

TEST(Partitioned, LimitsAndCopies) {
  int value = 0;
  const Distribution scalar(ProcessGrid({2}), {});
  const auto copy =
      dap::partitioned(scalar, 1, dap::buffer_of(StridedView<int>(&value, std::vector<Index>{})));
  ASSERT_EQ(copy.partitions.size(), 1U);
  EXPECT_EQ(copy.partitions[0].rank, 1);
  EXPECT_EQ(reinterpret_cast<int*>(copy.partitions[0].data->data), &value);
  const auto labels = make_distribution({DimMap::unstructured({{3, 1}}, true)});
  std::vector<int> memory(2);
  EXPECT_EQ(kind_of([&] {
              dap::partitioned(*labels, 0, dap::buffer_of(StridedView<int>(memory.data(), {2})));
            }),
            ErrorKind::kUnsupported);
  const auto many = make_distribution({DimMap::block_cyclic(Index{1} << 40, 2)});
  EXPECT_EQ(kind_of([&] { dap::partitioned(*many, 2, {}); }), ErrorKind::kUnsupported);
}

/// ScaLAPACK's NUMROC, from its definition: blocks of `block` dealt round-robin from process
/// `source` on.
Index numroc(Index extent, Index block, int process, int source, int processes) {
  Index count = 0;
  for (Index index = 0; index < extent; ++index)
    if ((index / block + source) % processes == process) ++count;
  return count;
}

TEST(Blacs, DescriptorsRoundTripAndCountAsScalapackDoes) {
  for (int rows = 1; rows <= 3; ++rows)
    for (int columns = 1; columns <= 2; ++columns)
      for (int source = 0; source < rows; ++source)
        for (const auto order : {BlacsOrder::kRowMajor, BlacsOrder::kColumnMajor}) {
          BlacsLayout layout{{1, 7, 23, 9, 4, 2, source, columns - 1, 50}, rows, columns, order};
          const auto distribution = from_blacs(layout);
          for (int rank = 0; rank < rows * columns; ++rank) {
            const int row = order == BlacsOrder::kRowMajor ? rank / columns : rank % rows;
            const int column = order == BlacsOrder::kRowMajor ? rank % columns : rank / rows;
            EXPECT_THAT(distribution->owned_shape(rank),
                        ElementsAre(numroc(23, 4, row, source, rows),
                                    numroc(9, 2, column, columns - 1, columns)));
          }
          if (rows == 1 || columns == 1) continue;  // an axis on one process has no blocks
          EXPECT_EQ(to_blacs(*distribution, 0, 7, 50), layout);
        }
}

TEST(Blacs, BlockAxesAndWholeOnes) {
  const auto rows = make_distribution(std::array<Index, 2>{10, 6}, 4);  // ceil: 3, 3, 3, 1
  const BlacsLayout layout = to_blacs(*rows, 3, 0);
  EXPECT_THAT(layout.descriptor, ElementsAre(1, 0, 10, 6, 3, 6, 0, 0, 1));
  EXPECT_EQ(layout.rows, 4);
  EXPECT_TRUE(from_blacs(layout)->same_pieces(*rows));
  const auto vector = make_distribution({DimMap::block_cyclic(9, 3, 2)});
  EXPECT_THAT(to_blacs(*vector, 0, 0).descriptor, ElementsAre(1, 0, 9, 1, 2, 1, 0, 0, 4));
}

TEST(Blacs, WhatScalapackCannotSayIsRefused) {
  const auto refuse = [](std::vector<DimMap> maps, int leading = 0) {
    return kind_of([&] { to_blacs(*make_distribution(std::move(maps)), 0, 0, leading); });
  };
  EXPECT_EQ(refuse({DimMap::bounded({0, 1, 5, 6})}), ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({DimMap::bounded({0, 2, 10})}), ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({DimMap::balanced(10, 4)}), ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({DimMap::unstructured({{1}, {0}}, true)}), ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({DimMap::block(4, 2), DimMap::collapsed(1), DimMap::collapsed(1)}),
            ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({}), ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({DimMap::block(Index{1} << 40, 2)}), ErrorKind::kUnsupported);
  EXPECT_EQ(refuse({DimMap::block(10, 2)}, 3), ErrorKind::kLayout);
  const BlacsLayout valid{{1, 0, 8, 8, 2, 2, 0, 0, 8}, 2, 2, BlacsOrder::kRowMajor};
  for (const auto& [place, value] : std::vector<std::pair<std::size_t, int>>{
           {0, 502}, {2, -1}, {4, 0}, {5, 0}, {6, 2}, {7, -1}}) {
    BlacsLayout changed = valid;
    changed.descriptor[place] = value;
    EXPECT_EQ(kind_of([&] { from_blacs(changed); }), ErrorKind::kArgument) << place;
  }
}

TEST(MpiDarray, ArgumentsRoundTrip) {
  const auto layout =
      make_distribution(std::array<Index, 3>{10, 7, 5}, 8,
                        {.kinds = "bcn", .grid = {4, 2, 1}, .block_sizes = {{1, 3}}});
  const MpiDarrayArguments arguments = to_mpi_darray(*layout, 5, MpiOrder::kFortran);
  EXPECT_EQ(arguments.size, 8);
  EXPECT_EQ(arguments.rank, 5);
  EXPECT_THAT(arguments.gsizes, ElementsAre(10, 7, 5));
  EXPECT_THAT(arguments.distribs,
              ElementsAre(MpiDistribute::kBlock, MpiDistribute::kCyclic, MpiDistribute::kNone));
  EXPECT_THAT(arguments.dargs, ElementsAre(std::optional(3), std::optional(3), std::nullopt));
  EXPECT_THAT(arguments.psizes, ElementsAre(4, 2, 1));
  EXPECT_TRUE(from_mpi_darray(arguments)->same_pieces(*layout));
}

TEST(MpiDarray, DefaultsAndLongBlocks) {
  MpiDarrayArguments arguments{3,   0,           {10}, {MpiDistribute::kBlock}, {std::nullopt},
                               {3}, MpiOrder::kC};
  EXPECT_EQ(from_mpi_darray(arguments)->owned_shape(2), std::vector<Index>{2});  // ceil: 4, 4, 2
  arguments.dargs = {7};
  EXPECT_EQ(from_mpi_darray(arguments)->owned_shape(1), std::vector<Index>{3});
  EXPECT_EQ(from_mpi_darray(arguments)->owned_shape(2), std::vector<Index>{0});
  EXPECT_EQ(to_mpi_darray(*from_mpi_darray(arguments), 0), arguments);
  arguments.distribs = {MpiDistribute::kCyclic};
  arguments.dargs = {std::nullopt};
  EXPECT_EQ(from_mpi_darray(arguments)->axis(0).map.owner(4), 1);
}

TEST(MpiDarray, WhatMpiRefusesIsRefused) {
  const MpiDarrayArguments valid{2, 0, {10}, {MpiDistribute::kBlock}, {5}, {2}, MpiOrder::kC};
  from_mpi_darray(valid);
  const auto refused = [&](auto change) {
    MpiDarrayArguments changed = valid;
    change(changed);
    return kind_of([&] { from_mpi_darray(changed); });
  };
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.dargs = {4}; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.dargs = {0}; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.gsizes = {-1}; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.psizes = {0}; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.psizes = {2, 1}; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.size = 3; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.rank = 2; }), ErrorKind::kArgument);
  EXPECT_EQ(refused([](MpiDarrayArguments& all) { all.distribs = {MpiDistribute::kNone}; }),
            ErrorKind::kArgument);
  const auto unsupported = [](const Distribution& layout) {
    return kind_of([&] { to_mpi_darray(layout, 0); });
  };
  EXPECT_EQ(unsupported(Distribution(ProcessGrid({2}), {{DimMap::block_cyclic(9, 2, 2, 1), 0}})),
            ErrorKind::kUnsupported);
  EXPECT_EQ(unsupported(Distribution(ProcessGrid({2, 2}),
                                     {{DimMap::block(4, 2), 1}, {DimMap::block(4, 2), 0}})),
            ErrorKind::kUnsupported);
  EXPECT_EQ(unsupported(Distribution(ProcessGrid({2}), {{DimMap::collapsed(4)}})),
            ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace impishim::darray
