// SPDX-License-Identifier: Apache-2.0
// Dimension dictionaries as JSON: what is valid means something, comes back unchanged, and maps
// indices there and back.
#include <algorithm>

#include "darray/base/error.hpp"
#include "darray/interop/dap/json.hpp"
#include "darray/interop/dap/piece_words.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace impishim::darray::dap;
using impishim::darray::Index;

/// The buffer that the dictionaries ask for, as far as they are whole.
std::vector<Index> wanted_shape(const std::vector<DimData>& dimensions) {
  std::vector<Index> shape;
  for (const DimData& dimension : dimensions) {
    const bool is_cyclic = dimension.dist_type == DistType::kCyclic && dimension.size &&
                           dimension.proc_grid_size && dimension.proc_grid_rank;
    const bool fits = is_cyclic && *dimension.size >= 0 && *dimension.size < 1000000 &&
                      *dimension.proc_grid_size > 0 && *dimension.proc_grid_size < 1000000 &&
                      *dimension.proc_grid_rank >= 0 &&
                      *dimension.proc_grid_rank < *dimension.proc_grid_size &&
                      dimension.block_size.value_or(1) > 0;
    Index extent = fits ? buffer_extent(dimension) : 0;
    if (dimension.start >= 0 && dimension.stop >= 0) extent = *dimension.stop - *dimension.start;
    if (dimension.indices) extent = static_cast<Index>(dimension.indices->size());
    shape.push_back(extent);
  }
  return shape;
}

void check_valid(const std::vector<DimData>& dimensions, const std::vector<Index>& shape,
                 Level level) {
  const auto again = read(dictionaries_from_json(to_json(dimensions)), level);
  FUZZ_REQUIRE(again.violations.empty() && again.dimensions == dimensions);
  const ProcessPiece piece{dimensions, shape};
  const ProcessPiece carried = piece_from_words(to_words(piece));
  FUZZ_REQUIRE(carried.buffer_shape == shape && carried.dimensions.size() == dimensions.size());
  for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
    const DimData dimension = resolved(dimensions[axis], shape[axis]);
    const auto owned = owned_part(dimension);
    FUZZ_REQUIRE(owned.count >= 0 && owned.count <= *dimension.size &&
                 owned.start + owned.count <= shape[axis]);
    // Labels that occur twice are found where they are first.
    if (dimension.dist_type == DistType::kUnstructured && level == Level::kLenient) continue;
    for (const Index k : {Index{0}, owned.count / 2, owned.count - 1}) {
      if (k < 0 || k >= owned.count) continue;
      FUZZ_REQUIRE(to_local(dimension, to_global(dimension, owned.at(k))) == owned.at(k));
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Dictionary> dictionaries;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    dictionaries = dictionaries_from_json(text);
  } catch (const impishim::darray::Error&) {
    return 0;
  }
  for (const Level level : {Level::kLenient, Level::kStrict}) {
    const Reading reading = read(dictionaries, level);
    const auto shape = wanted_shape(reading.dimensions);
    const Violations violations = validate(dictionaries, shape, level);
    for (const Violation& violation : violations) FUZZ_REQUIRE(!violation.message().empty());
    if (violations.empty()) check_valid(reading.dimensions, shape, level);
    check_processes(std::vector<ProcessPiece>{{reading.dimensions, shape}}, level);
  }
  return 0;
}
