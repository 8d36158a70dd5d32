// SPDX-License-Identifier: Apache-2.0
/// Memory that a collective reads or writes, and what it must hold afterwards, byte by byte.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/mpi/collectives/sweep/layout.hpp"

namespace sweep {

/// `count` items of a layout, `at` bytes behind the address that is passed to MPI.
struct Block {
  const Layout* layout = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t at = 0;

  [[nodiscard]] std::size_t dense_size() const { return layout->dense_size() * count; }
  /// Lowest byte of the block, and the one behind its highest; both `at` if it is empty.
  [[nodiscard]] std::ptrdiff_t begin() const;
  [[nodiscard]] std::ptrdiff_t end() const;
};

class Buffer {
 public:
  /// Room for these blocks, and guards around them.
  explicit Buffer(const std::vector<Block>& blocks);

  /// What is passed to MPI.
  [[nodiscard]] void* address() { return memory_.data() + origin_; }
  /// Every byte becomes what marks it as untouched, and must stay so.
  void reset();
  /// The block holds this now, and must hold it at the end.
  void put(const Block& block, const Dense& content);
  /// The block must hold this at the end.
  void expect(const Block& block, const Dense& content);
  /// Any content of the block will do.
  void ignore(const Block& block);
  /// Empty if all is as expected; else where it is not.
  [[nodiscard]] std::string difference() const;

 private:
  template <typename Visit>
  void visit(const Block& block, Visit&& visit_element) const;

  std::ptrdiff_t origin_ = 0;
  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;
  std::vector<unsigned char> mask_;
};

/// The content that `seed` names, for `elements` elements of the pattern in turn.
Dense content(const std::vector<const Basic*>& pattern, std::size_t elements, std::uint64_t seed,
              Op op);

}  // namespace sweep
