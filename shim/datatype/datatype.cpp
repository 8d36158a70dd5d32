// SPDX-License-Identifier: Apache-2.0
#include "shim/datatype/datatype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shim/datatype/datatype_contents.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {
namespace {

using wire::Block;
using wire::TypeLayout;

std::ptrdiff_t extent_of(MPI_Datatype datatype) {
  MPI_Aint lower_bound = 0;
  MPI_Aint extent = 0;
  vendor::Type_get_extent(datatype, &lower_bound, &extent);
  return extent;
}

/// A builder for the elements of a datatype. It places them one after another as a combiner
/// specifies.
class Builder {
 public:
  /// Places `count` elements of `inner`, `stride` bytes apart, the first at `offset`.
  void place(const TypeLayout& inner, std::uint64_t count, std::ptrdiff_t stride,
             std::ptrdiff_t offset) {
    if (count == 0) return;
    const bool one_block = inner.blocks().size() == 1;
    if (one_block) {
      const Block& block = inner.blocks().front();
      const auto run = static_cast<std::ptrdiff_t>(
          block.count * wire::element_size(block.type, wire::Format::kNative));
      if (block.repeat == 1 && (stride == run || count == 1))
        return add({offset + block.offset, block.type, block.count * count, 1, 0});
      if (block.repeat == 1)
        return add({offset + block.offset, block.type, block.count, count, stride});
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      for (Block block : inner.blocks()) {
        block.offset += offset + static_cast<std::ptrdiff_t>(i) * stride;
        add(block);
      }
    }
  }

  void add(const Block& block) { blocks_.push_back(block); }
  std::vector<Block> take() { return std::move(blocks_); }

 private:
  std::vector<Block> blocks_;
};

Result<DatatypeLayout> build(MPI_Datatype datatype);

/// Places `count` blocks of `blocklength` elements of `inner`, `stride` bytes apart.
void place_vector(Builder& builder, const TypeLayout& inner, int count, int blocklength,
                  std::ptrdiff_t stride) {
  Builder one;
  one.place(inner, static_cast<std::uint64_t>(blocklength), inner.extent(), 0);
  const TypeLayout block(one.take(), stride);
  builder.place(block, static_cast<std::uint64_t>(count), stride, 0);
}

/// Places the elements of a subarray in memory order (MPI-3.1 4.1.3).
void place_subarray(Builder& builder, const TypeLayout& inner, const DatatypeContents& contents) {
  const auto dims = static_cast<std::size_t>(contents.integers[0]);
  const int* sizes = contents.integers.data() + 1;
  const int* subsizes = sizes + dims;
  const int* starts = subsizes + dims;
  const bool c_order = starts[dims] == MPI_ORDER_C;
  TypeLayout row = inner;
  std::ptrdiff_t stride = inner.extent();
  std::ptrdiff_t start = 0;
  for (std::size_t step = 0; step < dims; ++step) {
    const std::size_t dim = c_order ? dims - 1 - step : step;
    Builder next;
    next.place(row, static_cast<std::uint64_t>(subsizes[dim]), stride, 0);
    start += starts[dim] * stride;
    stride *= sizes[dim];
    row = TypeLayout(next.take(), stride);
  }
  builder.place(row, 1, stride, start);
}

/// Returns the owned positions along one distributed dimension (MPI-3.1 4.1.4).
std::vector<std::ptrdiff_t> darray_positions(int distribution, int argument, int size, int procs,
                                             int coordinate) {
  std::vector<std::ptrdiff_t> owned;
  if (distribution == MPI_DISTRIBUTE_NONE) {
    procs = 1;
    coordinate = 0;
    distribution = MPI_DISTRIBUTE_BLOCK;
    argument = MPI_DISTRIBUTE_DFLT_DARG;
  }
  std::ptrdiff_t block = argument;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG)
    block = distribution == MPI_DISTRIBUTE_BLOCK ? (size + procs - 1) / procs : 1;
  for (std::ptrdiff_t begin = coordinate * block; begin < size; begin += procs * block) {
    for (std::ptrdiff_t i = begin; i < std::min<std::ptrdiff_t>(begin + block, size); ++i)
      owned.push_back(i);
  }
  return owned;
}

void place_darray(Builder& builder, const TypeLayout& inner, const DatatypeContents& contents) {
  const int rank = contents.integers[1];
  const auto dims = static_cast<std::size_t>(contents.integers[2]);
  const int* sizes = contents.integers.data() + 3;
  const int* distributions = sizes + dims;
  const int* arguments = distributions + dims;
  const int* procs = arguments + dims;
  const bool c_order = procs[dims] == MPI_ORDER_C;
  std::vector<int> coordinates(dims);
  int rest = rank;
  for (std::size_t i = dims; i-- > 0;) {
    coordinates[i] = rest % procs[i];  // the process grid is row-major in both orders
    rest /= procs[i];
  }
  TypeLayout row = inner;
  std::ptrdiff_t stride = inner.extent();
  for (std::size_t step = 0; step < dims; ++step) {
    const std::size_t dim = c_order ? dims - 1 - step : step;
    Builder next;
    for (const std::ptrdiff_t position : darray_positions(
             distributions[dim], arguments[dim], sizes[dim], procs[dim], coordinates[dim])) {
      next.place(row, 1, stride, position * stride);
    }
    stride *= sizes[dim];
    row = TypeLayout(next.take(), stride);
  }
  builder.place(row, 1, stride, 0);
}

/// Places the elements for combiners with one inner type. Returns false for other combiners.
bool place_single(Builder& builder, const TypeLayout& inner, const DatatypeContents& contents) {
  const auto& ints = contents.integers;
  const auto& addresses = contents.addresses;
  const std::ptrdiff_t extent = inner.extent();
  const auto block = [&](int length, std::ptrdiff_t at) {
    builder.place(inner, static_cast<std::uint64_t>(length), extent, at);
  };
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      block(1, 0);
      return true;
    case MPI_COMBINER_CONTIGUOUS:
      block(ints[0], 0);
      return true;
    case MPI_COMBINER_VECTOR:
      place_vector(builder, inner, ints[0], ints[1], ints[2] * extent);
      return true;
    case MPI_COMBINER_HVECTOR:
      place_vector(builder, inner, ints[0], ints[1], addresses[0]);
      return true;
    case MPI_COMBINER_INDEXED:
      for (int i = 0; i < ints[0]; ++i) block(ints[1 + i], ints[1 + ints[0] + i] * extent);
      return true;
    case MPI_COMBINER_HINDEXED:
      for (int i = 0; i < ints[0]; ++i) block(ints[1 + i], addresses[static_cast<std::size_t>(i)]);
      return true;
    case MPI_COMBINER_INDEXED_BLOCK:
      for (int i = 0; i < ints[0]; ++i) block(ints[1], ints[2 + i] * extent);
      return true;
    case MPI_COMBINER_HINDEXED_BLOCK:
      for (int i = 0; i < ints[0]; ++i) block(ints[1], addresses[static_cast<std::size_t>(i)]);
      return true;
    case MPI_COMBINER_SUBARRAY:
      place_subarray(builder, inner, contents);
      return true;
    case MPI_COMBINER_DARRAY:
      place_darray(builder, inner, contents);
      return true;
    default:
      return false;
  }
}

/// Builds the layout of an MPI_Type_create_f90_* type, which is specified by precision. It has the
/// layout of the basic type of the same size.
Result<DatatypeLayout> build_f90(MPI_Datatype datatype, int combiner) {
  int size = 0;
  vendor::Type_size(datatype, &size);
  const bool complex = combiner == MPI_COMBINER_F90_COMPLEX;
  const int part = complex ? size / 2 : size;
  wire::BasicType type = wire::BasicType::kByte;
  std::uint64_t count = static_cast<std::uint64_t>(size);
  if (combiner == MPI_COMBINER_F90_INTEGER && (part == 2 || part == 4 || part == 8)) {
    type = part == 2 ? wire::BasicType::kInt16
                     : (part == 4 ? wire::BasicType::kInt32 : wire::BasicType::kInt64);
    count = 1;
  } else if (part == 4 || part == 8) {
    type = part == 4 ? wire::BasicType::kFloat : wire::BasicType::kDouble;
    count = complex ? 2 : 1;
  }
  auto layout =
      std::make_shared<const TypeLayout>(std::vector<Block>{{0, type, count, 1, 0}}, size);
  return DatatypeLayout{layout.get(), layout};
}

Result<DatatypeLayout> build(MPI_Datatype datatype) {
  if (const TypeLayout* known = predefined_layout(datatype); known != nullptr)
    return DatatypeLayout{known, nullptr};
  DatatypeContents contents;
  if (!contents.read(datatype))
    return Error{ErrorKind::kConfiguration, "the datatype is not valid"};
  if (contents.combiner == MPI_COMBINER_F90_REAL || contents.combiner == MPI_COMBINER_F90_COMPLEX ||
      contents.combiner == MPI_COMBINER_F90_INTEGER) {
    return build_f90(datatype, contents.combiner);
  }
  std::vector<DatatypeLayout> inner;
  for (const MPI_Datatype type : contents.types) {
    auto layout = build(type);
    if (!layout) return layout.error();
    inner.push_back(*layout);
  }
  Builder builder;
  if (contents.combiner == MPI_COMBINER_STRUCT) {
    for (std::size_t i = 0; i < inner.size(); ++i) {
      builder.place(*inner[i].layout, static_cast<std::uint64_t>(contents.integers[1 + i]),
                    inner[i].layout->extent(), contents.addresses[i]);
    }
  } else if (inner.size() != 1 || !place_single(builder, *inner[0].layout, contents)) {
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("a datatype of combiner {} has no layout on the wire", contents.combiner)};
  }
  auto layout = std::make_shared<const TypeLayout>(builder.take(), extent_of(datatype));
  return DatatypeLayout{layout.get(), layout};
}

/// The value of the attribute: a layout that lives as long as the datatype, or as an operation that
/// uses it.
using Cached = std::shared_ptr<const TypeLayout>;

int delete_cached(MPI_Datatype /*type*/, int /*keyval*/, void* value, void* /*state*/) {
  std::default_delete<Cached>()(static_cast<Cached*>(value));
  return MPI_SUCCESS;
}

Mutex keyval_mutex;
std::atomic<int> keyval{MPI_KEYVAL_INVALID};

int cache_keyval() {
  int known = keyval.load(std::memory_order_acquire);
  if (known != MPI_KEYVAL_INVALID) return known;
  const MutexLock lock(keyval_mutex);
  known = keyval.load(std::memory_order_relaxed);
  if (known != MPI_KEYVAL_INVALID) return known;
  // A copy of the datatype builds its own layout.
  if (vendor::Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_cached, &known, nullptr) !=
      MPI_SUCCESS)
    return MPI_KEYVAL_INVALID;
  keyval.store(known, std::memory_order_release);
  return known;
}

}  // namespace

Result<DatatypeLayout> layout_of(MPI_Datatype datatype) {
  if (const TypeLayout* known = predefined_layout(datatype); known != nullptr)
    return DatatypeLayout{known, nullptr};
  return derived_layout(datatype);
}

Result<DatatypeLayout> derived_layout(MPI_Datatype datatype) {
  if (datatype == MPI_DATATYPE_NULL)
    return Error{ErrorKind::kConfiguration, "the datatype is MPI_DATATYPE_NULL"};
  const int key = cache_keyval();
  void* value = nullptr;
  int found = 0;
  if (vendor::Type_get_attr(datatype, key, static_cast<void*>(&value), &found) == MPI_SUCCESS &&
      found != 0) {
    const Cached& cached = *static_cast<const Cached*>(value);
    return DatatypeLayout{cached.get(), cached};
  }
  auto built = build(datatype);
  if (!built) return built;
  auto cached = std::make_unique<Cached>(built->keep_alive);
  if (vendor::Type_set_attr(datatype, key, cached.get()) == MPI_SUCCESS)
    static_cast<void>(cached.release());
  return built;
}

void release_datatype_cache() {
  int known = keyval.exchange(MPI_KEYVAL_INVALID);
  if (known != MPI_KEYVAL_INVALID) vendor::Type_free_keyval(&known);
}

Result<wire::ConstBuffer> const_buffer(const void* address, std::int64_t count,
                                       MPI_Datatype datatype) {
  auto layout = layout_of(datatype);
  if (!layout) return layout.error();
  return wire::ConstBuffer{static_cast<const std::byte*>(address),
                           static_cast<std::uint64_t>(count), layout->layout,
                           std::move(layout->keep_alive)};
}

Result<wire::MutableBuffer> mutable_buffer(void* address, std::int64_t count,
                                           MPI_Datatype datatype) {
  auto layout = layout_of(datatype);
  if (!layout) return layout.error();
  return wire::MutableBuffer{static_cast<std::byte*>(address), static_cast<std::uint64_t>(count),
                             layout->layout, std::move(layout->keep_alive)};
}

}  // namespace impishim::shim
