// SPDX-License-Identifier: Apache-2.0
/// Iteration over the basic elements of typed data, in type-map order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/data/type_layout.hpp"

namespace impishim::wire {

/// The position of packing or unpacking: element of the datatype, block, run of the block, basic
/// element of the run. Elements of a datatype that continue each other's runs count as one. A long
/// array of a small datatype is therefore one run, or one row of runs.
class TypeMapCursor {
 public:
  TypeMapCursor() = default;
  /// Starts at the first of `items` elements of `layout`, which must outlive the cursor.
  TypeMapCursor(const TypeLayout& layout, std::uint64_t items);

  [[nodiscard]] const Block& block() const {
    return merged_ ? merged_block_ : layout_->blocks()[block_];
  }
  /// Returns the distance in bytes from the origin of the data to the next basic element.
  [[nodiscard]] std::ptrdiff_t offset() const;
  /// Returns the number of basic elements up to the end of the run.
  [[nodiscard]] std::uint64_t elements_left() const { return block().count - element_; }
  /// Returns the number of runs up to the end of the block if the cursor is at the beginning of a
  /// run, otherwise 0.
  [[nodiscard]] std::uint64_t runs_left() const {
    return element_ == 0 ? block().repeat - run_ : 0;
  }

  /// Advances by `count` basic elements, at most elements_left().
  void advance(std::uint64_t count);
  /// Advances by `count` whole runs, at most runs_left().
  void advance_runs(std::uint64_t count);

 private:
  void next_block();

  const TypeLayout* layout_ = nullptr;
  bool merged_ = false;
  Block merged_block_;
  std::uint64_t item_ = 0;
  std::size_t block_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t element_ = 0;
};

}  // namespace impishim::wire
