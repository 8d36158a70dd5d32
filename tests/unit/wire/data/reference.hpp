// SPDX-License-Identifier: Apache-2.0
/// The slow and obvious way to pack and unpack: every element of the type map by itself, every byte
/// by shifts. What wire/data is compared with; shares none of its code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "wire/data/type_layout.hpp"

namespace impishim::wire::reference {

/// One basic element of a datatype, as in MPI's type maps.
struct Entry {
  BasicType type;
  std::ptrdiff_t offset;
};

/// A datatype as the standard describes it, and memory for some elements of it with whatever lies
/// between them.
struct Sample {
  std::vector<Block> blocks;  ///< as given to TypeLayout
  std::vector<Entry> type_map;
  std::ptrdiff_t extent = 0;
  std::uint64_t count = 0;
  std::vector<std::byte> memory;
  std::ptrdiff_t origin = 0;  ///< the first element's origin in `memory`

  [[nodiscard]] std::size_t address(std::uint64_t item, const Entry& entry) const {
    return static_cast<std::size_t>(origin + static_cast<std::ptrdiff_t>(item) * extent +
                                    entry.offset);
  }
};

/// The type map of blocks that have not been merged.
[[nodiscard]] std::vector<Entry> type_map_of(const std::vector<Block>& blocks);

/// Random blocks in random order, some of them neighbours, none overlapping, with negative strides
/// and extents among them; memory with random values that fit all formats, and noise in the gaps.
[[nodiscard]] Sample random_sample(std::mt19937_64& random);

/// A random value of `type` that fits all formats, at `at`.
void store_random(BasicType type, std::byte* at, std::mt19937_64& random);

/// One element's bytes on the wire.
[[nodiscard]] std::vector<std::byte> element_to_wire(BasicType type, Format format,
                                                     const std::byte* at);

/// The bytes that the whole sample packs to.
[[nodiscard]] std::vector<std::byte> pack(const Sample& sample, Format format);

/// A description of the sample for messages of failing tests.
[[nodiscard]] std::string describe(const Sample& sample);

}  // namespace impishim::wire::reference
