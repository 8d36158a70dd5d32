// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/dim_data.hpp"

#include <algorithm>
#include <limits>

#include "darray/base/error.hpp"
#include "darray/index/dim_map.hpp"

namespace impishim::darray::dap {

namespace {

bool is_first(const DimData& dimension) { return *dimension.proc_grid_rank == 0; }
bool is_last(const DimData& dimension) {
  return *dimension.proc_grid_rank == *dimension.proc_grid_size - 1;
}

/// Returns the map of a 'c' axis in the index layer. A block longer than the axis holds the whole
/// axis, so its length is reduced to that of the axis.
DimMap cyclic_map(const DimData& dimension) {
  const Index block =
      std::min(dimension.block_size.value_or(1), std::max<Index>(*dimension.size, 1));
  return DimMap::block_cyclic(*dimension.size, static_cast<int>(*dimension.proc_grid_size), block);
}

int part_of(const DimData& dimension) { return static_cast<int>(*dimension.proc_grid_rank); }

void require_inside(const DimData& dimension, Index global_index) {
  if (global_index < 0 || global_index >= *dimension.size)
    fail(ErrorKind::kKey, "index {} lies outside the axis' extent {}", global_index,
         *dimension.size);
}

}  // namespace

bool DimData::is_alias() const { return *this == DimData{}; }

DimData resolved(const DimData& dimension, Index buffer_extent) {
  if (!dimension.is_alias()) return dimension;
  DimData whole = dimension;
  whole.dist_type = DistType::kBlock;
  whole.proc_grid_rank = 0;
  whole.proc_grid_size = 1;
  whole.start = 0;
  whole.stop = buffer_extent;
  whole.size = buffer_extent;
  return whole;
}

Padding communication_padding(const DimData& dimension) {
  Padding padding = dimension.padding.value_or(Padding{});
  if (is_first(dimension)) padding[0] = 0;
  if (is_last(dimension)) padding[1] = 0;
  return padding;
}

Padding boundary_padding(const DimData& dimension) {
  Padding padding = dimension.padding.value_or(Padding{});
  if (!is_first(dimension)) padding[0] = 0;
  if (!is_last(dimension)) padding[1] = 0;
  return padding;
}

Index buffer_extent(const DimData& dimension) {
  switch (*dimension.dist_type) {
    case DistType::kBlock:
      return *dimension.stop - *dimension.start;
    case DistType::kCyclic:
      return cyclic_map(dimension).owned(part_of(dimension));
    case DistType::kUnstructured:
      break;
  }
  return static_cast<Index>(dimension.indices->size());
}

Index owned_count(const DimData& dimension) {
  const Index extent = buffer_extent(dimension);
  if (*dimension.dist_type != DistType::kBlock) return extent;
  const auto [lower, upper] = communication_padding(dimension);
  return extent - lower - upper;
}

Triplet owned_part(const DimData& dimension) {
  const Index lower =
      *dimension.dist_type == DistType::kBlock ? communication_padding(dimension)[0] : 0;
  return {lower, owned_count(dimension), 1};
}

Index to_global(const DimData& dimension, Index buffer_index) {
  const Index extent = buffer_extent(dimension);
  if (buffer_index < 0 || buffer_index >= extent)
    fail(ErrorKind::kKey, "local index {} lies outside the buffer's extent {}", buffer_index,
         extent);
  switch (*dimension.dist_type) {
    case DistType::kBlock:
      return *dimension.start + buffer_index;
    case DistType::kCyclic:
      return cyclic_map(dimension).global(part_of(dimension), buffer_index);
    case DistType::kUnstructured:
      break;
  }
  return (*dimension.indices)[static_cast<std::size_t>(buffer_index)];
}

std::optional<Index> to_local(const DimData& dimension, Index global_index) {
  if (*dimension.dist_type == DistType::kUnstructured) {
    const auto& labels = *dimension.indices;
    const auto found = std::find(labels.begin(), labels.end(), global_index);
    if (found == labels.end()) return std::nullopt;
    return found - labels.begin();
  }
  require_inside(dimension, global_index);
  if (*dimension.dist_type == DistType::kBlock) {
    const Triplet owned = owned_part(dimension);
    return owned.position_of(global_index - *dimension.start)
               ? std::optional(global_index - *dimension.start)
               : std::nullopt;
  }
  return cyclic_map(dimension).local(part_of(dimension), global_index);
}

std::vector<Triplet> to_local(const DimData& dimension, Triplet global) {
  if (global.step < 1)
    fail(ErrorKind::kKey, "a slice of step {} does not map to a local slice: reverse it",
         global.step);
  if (*dimension.dist_type == DistType::kUnstructured)
    fail(ErrorKind::kUnsupported,
         "labels of a 'u' axis have no order to slice by: look up single labels");
  std::vector<Triplet> found;
  if (global.count == 0) return found;
  require_inside(dimension, global.start);
  require_inside(dimension, global.last());
  if (*dimension.dist_type == DistType::kCyclic) {
    for (const IndexRun& run : cyclic_map(dimension).runs(part_of(dimension), global))
      found.push_back({run.local, run.count, run.local_step});
    return found;
  }
  const Triplet owned = owned_part(dimension);
  const Index begin = *dimension.start + owned.start;
  const Index skipped = begin <= global.start ? 0 : (begin - global.start - 1) / global.step + 1;
  if (skipped >= global.count || global.at(skipped) >= begin + owned.count) return found;
  const Index first = global.at(skipped);
  const Index count =
      std::min(global.count - skipped, (begin + owned.count - 1 - first) / global.step + 1);
  found.push_back({first - *dimension.start, count, global.step});
  return found;
}

std::vector<Index> global_shape(std::span<const DimData> dimensions) {
  std::vector<Index> shape;
  shape.reserve(dimensions.size());
  for (const DimData& dimension : dimensions) shape.push_back(*dimension.size);
  return shape;
}

Index global_count(std::span<const DimData> dimensions) {
  const auto shape = global_shape(dimensions);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  Index count = 1;
  for (const Index extent : shape) {
    if (extent > std::numeric_limits<Index>::max() / count)
      fail(ErrorKind::kShape, "the array has more than {} elements",
           std::numeric_limits<Index>::max());
    count *= extent;
  }
  return count;
}

Dictionary to_dictionary(const DimData& dimension) {
  Dictionary dictionary = dimension.extra;
  const auto put = [&dictionary](const char* key, const auto& member) {
    if (member) dictionary[key] = Value{*member};
  };
  if (dimension.dist_type)
    dictionary["dist_type"] = Value{std::string(1, static_cast<char>(*dimension.dist_type))};
  put("size", dimension.size);
  put("proc_grid_size", dimension.proc_grid_size);
  put("proc_grid_rank", dimension.proc_grid_rank);
  put("start", dimension.start);
  put("stop", dimension.stop);
  put("periodic", dimension.periodic);
  put("block_size", dimension.block_size);
  put("one_to_one", dimension.one_to_one);
  if (dimension.padding)
    dictionary["padding"] =
        Value{Value::Sequence{Value{(*dimension.padding)[0]}, Value{(*dimension.padding)[1]}}};
  if (dimension.indices) dictionary["indices"] = Value{IntegerBuffer{*dimension.indices}};
  return dictionary;
}

}  // namespace impishim::darray::dap
