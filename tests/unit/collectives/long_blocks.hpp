// SPDX-License-Identifier: Apache-2.0
/// Blocks of longs to move, and checks of what has arrived.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/members.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {

/// How blocks lie in memory.
enum class Lie {
  kAdjacent,  ///< one after the other, without gaps
  kApart,     ///< with room between blocks
  kGapped,    ///< with room between elements, and each block's first byte behind its origin
};

/// A lie that depends on the rank, so that partners differ.
[[nodiscard]] inline Lie lie_of(std::int32_t rank) { return static_cast<Lie>(rank % 3); }

/// Blocks of any numbers of longs in one memory, which is -1 everywhere else.
class LongBlocks {
 public:
  LongBlocks(const std::vector<std::size_t>& counts, Lie lie);
  LongBlocks(std::size_t blocks, std::size_t count, Lie lie)
      : LongBlocks(std::vector<std::size_t>(blocks, count), lie) {}
  LongBlocks(LongBlocks&&) = default;

  [[nodiscard]] std::span<const Data> all() const { return data_; }
  [[nodiscard]] std::span<const ConstData> all_const() const { return const_data_; }
  [[nodiscard]] const Data& operator[](std::size_t block) const { return data_[block]; }
  /// first, first + 1, ...
  void fill(std::size_t block, long first);
  [[nodiscard]] testing::AssertionResult holds(std::size_t block, long first) const;
  /// Nothing has been written between the elements.
  [[nodiscard]] testing::AssertionResult gaps_untouched() const;

 private:
  [[nodiscard]] std::size_t place(std::size_t block, std::size_t element) const {
    return begins_[block] + (lie_ == Lie::kGapped ? 3 * element + 1 : element);
  }
  Lie lie_;
  std::unique_ptr<ElementType> type_;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> begins_;
  std::vector<long> memory_;
  std::vector<Data> data_;
  std::vector<ConstData> const_data_;
};

/// What `from` has for `to`, or for everybody; small, so that it fits external32's longs.
[[nodiscard]] inline long value_of(std::int32_t from, std::int32_t to = 0) {
  return 100000L * (from + 1) + 1000L * to;
}

/// Ranks outside a rank's client; pairs of ranks of different clients.
[[nodiscard]] std::uint64_t ranks_elsewhere(const SimulatedJob& job, std::int32_t rank);
[[nodiscard]] std::uint64_t pairs_apart(const SimulatedJob& job);

}  // namespace impishim::collectives::test
