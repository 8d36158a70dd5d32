// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/layout.hpp"

#include <algorithm>
#include <numeric>

namespace sweep {
namespace {

constexpr std::ptrdiff_t kUnit = 16;  // no basic type is aligned to more

std::ptrdiff_t size_of(const Basic& type) { return static_cast<std::ptrdiff_t>(type.size); }

/// low, high and an extent from the lowest byte to behind the highest, as MPI computes them without
/// alignment at stake.
void finish(Layout& layout) {
  layout.low = layout.offsets.front();
  layout.high = layout.low;
  for (std::size_t i = 0; i < layout.map.size(); ++i) {
    layout.low = std::min(layout.low, layout.offsets[i]);
    layout.high = std::max(layout.high, layout.offsets[i] + size_of(*layout.map[i]));
  }
}

/// Commits a datatype that is `made` of offsets, with an explicit lower bound and extent.
void resize_and_commit(Layout& layout, MPI_Datatype made, std::ptrdiff_t lower_bound,
                       std::ptrdiff_t extent) {
  MPI_Type_create_resized(made, lower_bound, extent, &layout.handle);
  MPI_Type_commit(&layout.handle);
  MPI_Type_free(&made);
  layout.extent = extent;
}

/// One basic type `count` times: MPI's constructors for equal elements.
Layout of_one_type(const Basic& type, int count, Random& random) {
  Layout layout;
  layout.map.assign(static_cast<std::size_t>(count), &type);
  const std::ptrdiff_t size = size_of(type);
  const auto place = [&](auto offset_of) {
    for (int i = 0; i < count; ++i) layout.offsets.push_back(offset_of(i) * size);
    finish(layout);
  };
  MPI_Datatype made = MPI_DATATYPE_NULL;
  std::ptrdiff_t front = 0;  // bytes between lower bound and data, and behind the data
  std::ptrdiff_t back = 0;
  switch (random.below(5)) {
    case 0:
      layout.kind = "contiguous";
      MPI_Type_contiguous(count, type.handle, &made);
      place([](int i) { return i; });
      break;
    case 1:
      layout.kind = "vector";
      MPI_Type_vector(count, 1, 2, type.handle, &made);
      place([](int i) { return 2 * i; });
      back = size;
      break;
    case 2:
      layout.kind = "backward";
      MPI_Type_create_hvector(count, 1, -2 * size, type.handle, &made);
      place([](int i) { return -2 * i; });
      break;
    case 3:
      layout.kind = "lower bound";
      MPI_Type_contiguous(count, type.handle, &made);
      place([](int i) { return i; });
      front = kUnit;
      back = 2 * kUnit;
      break;
    default: {
      layout.kind = "indexed";
      const auto number = static_cast<std::size_t>(count);
      const auto order = shuffled(2 * number, random);
      std::vector<int> places;
      for (std::size_t i = 0; i < number; ++i) places.push_back(static_cast<int>(order[i]));
      MPI_Type_create_indexed_block(count, 1, places.data(), type.handle, &made);
      place([&](int i) { return places[static_cast<std::size_t>(i)]; });
    }
  }
  resize_and_commit(layout, made, layout.low - front, layout.high + back - (layout.low - front));
  return layout;
}

/// Basic types of different sizes, each at its own place: MPI_Type_create_struct.
Layout of_struct(const std::vector<const Basic*>& map, Random& random) {
  Layout layout;
  layout.kind = "struct";
  layout.map = map;
  const int count = static_cast<int>(map.size());
  const std::ptrdiff_t slot = 3 * kUnit;
  std::vector<MPI_Datatype> types;
  for (const Basic* type : map) types.push_back(type->handle);
  std::vector<MPI_Aint> places;
  for (const std::size_t place : shuffled(map.size(), random))
    places.push_back(static_cast<MPI_Aint>(place) * slot - slot);
  layout.offsets.assign(places.begin(), places.end());
  finish(layout);
  const std::vector<int> ones(map.size(), 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(count, ones.data(), places.data(), types.data(), &made);
  resize_and_commit(layout, made, -slot, count * slot);
  return layout;
}

}  // namespace

std::size_t Layout::dense_size() const {
  return std::accumulate(map.begin(), map.end(), std::size_t{0},
                         [](std::size_t sum, const Basic* type) { return sum + type->size; });
}

const Layout& Layouts::keep(Layout layout) { return derived_.emplace_back(std::move(layout)); }

const Layout& Layouts::single(const Basic& type) {
  for (const Layout& known : singles_) {
    if (known.handle == type.handle) return known;
  }
  const std::ptrdiff_t size = size_of(type);
  return singles_.emplace_back(Layout{type.handle, {&type}, {0}, size, 0, size, "itself"});
}

const Layout& Layouts::derived(const std::vector<const Basic*>& pattern, int repeat,
                               Random& random) {
  if (pattern.size() == 1) return keep(of_one_type(*pattern.front(), repeat, random));
  std::vector<const Basic*> map;
  for (int i = 0; i < repeat; ++i) map.insert(map.end(), pattern.begin(), pattern.end());
  return keep(of_struct(map, random));
}

const Layout& Layouts::ascending(const std::vector<const Basic*>& pattern) {
  Layout layout;
  layout.kind = "plain";
  layout.map = pattern;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Aint> places;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    types.push_back(pattern[i]->handle);
    places.push_back(static_cast<MPI_Aint>(i) * 2 * kUnit);
  }
  layout.offsets.assign(places.begin(), places.end());
  finish(layout);
  const std::vector<int> ones(pattern.size(), 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(pattern.size()), ones.data(), places.data(), types.data(),
                         &made);
  resize_and_commit(layout, made, 0, static_cast<std::ptrdiff_t>(pattern.size()) * 2 * kUnit);
  return keep(std::move(layout));
}

const Layout& Layouts::gapped_pair() {
  const Basic& number = basic(MPI_UINT32_T);
  Layout layout{MPI_DATATYPE_NULL, {&number, &number}, {4, 12}, 0, 4, 16, "gapped pair"};
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {4, 12};
  const MPI_Datatype types[] = {MPI_UINT32_T, MPI_UINT32_T};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &made);
  resize_and_commit(layout, made, 0, 24);
  return keep(std::move(layout));
}

const Layout* Layouts::find(MPI_Datatype handle) const {
  const auto found = std::find_if(derived_.rbegin(), derived_.rend(),
                                  [&](const Layout& layout) { return layout.handle == handle; });
  return found == derived_.rend() ? nullptr : &*found;
}

void Layouts::free_handles() {
  for (; freed_ < derived_.size(); ++freed_) {
    MPI_Datatype handle = derived_[freed_].handle;
    MPI_Type_free(&handle);
  }
}

void Layouts::forget() {
  free_handles();
  derived_.clear();
  freed_ = 0;
}

Layouts& layouts() {
  static Layouts all;
  return all;
}

}  // namespace sweep
