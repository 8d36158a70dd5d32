// SPDX-License-Identifier: Apache-2.0
#include "long_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace impishim::collectives::test {

LongBlocks::LongBlocks(const std::vector<std::size_t>& counts, Lie lie)
    : lie_(lie),
      type_(std::make_unique<ElementType>(lie == Lie::kGapped
                                              ? gapped_type(wire::BasicType::kSignedLong)
                                              : plain_type(wire::BasicType::kSignedLong))),
      counts_(counts) {
  std::size_t size = 0;
  for (const std::size_t count : counts) {
    begins_.push_back(size);
    size += lie == Lie::kGapped ? 3 * count : count;
    if (lie == Lie::kApart) size += 2;
  }
  memory_.assign(size + 1, -1);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    data_.push_back(
        {reinterpret_cast<std::byte*>(memory_.data() + begins_[i]), counts[i], type_.get()});
    const_data_.push_back(data_.back());
  }
}

void LongBlocks::fill(std::size_t block, long first) {
  for (std::size_t i = 0; i < counts_[block]; ++i)
    memory_[place(block, i)] = first + static_cast<long>(i);
}

testing::AssertionResult LongBlocks::holds(std::size_t block, long first) const {
  for (std::size_t i = 0; i < counts_[block]; ++i) {
    const long expected = first + static_cast<long>(i);
    const long found = memory_[place(block, i)];
    if (found == expected) continue;
    return testing::AssertionFailure()
           << fmt::format("element {} of block {} is {}, not {}", i, block, found, expected);
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult LongBlocks::gaps_untouched() const {
  std::vector<bool> is_element(memory_.size(), false);
  for (std::size_t block = 0; block < counts_.size(); ++block) {
    for (std::size_t i = 0; i < counts_[block]; ++i) is_element[place(block, i)] = true;
  }
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (!is_element[i] && memory_[i] != -1)
      return testing::AssertionFailure() << fmt::format("{} at {}", memory_[i], i);
  }
  return testing::AssertionSuccess();
}

std::uint64_t ranks_elsewhere(const SimulatedJob& job, std::int32_t rank) {
  return static_cast<std::uint64_t>(std::ranges::count(job.membership(rank).local_ranks, -1));
}

std::uint64_t pairs_apart(const SimulatedJob& job) {
  std::uint64_t pairs = 0;
  for (std::int32_t rank = 0; rank < job.size(); ++rank) pairs += ranks_elsewhere(job, rank);
  return pairs;
}

}  // namespace impishim::collectives::test
