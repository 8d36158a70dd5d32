// SPDX-License-Identifier: Apache-2.0
#include "darray/local/combined_patch.hpp"

#include <algorithm>
#include <cstdlib>

namespace impishim::darray {
namespace {

// Rows of at least this number of elements are combined by a call of their own.
constexpr Index kLongRow = 64;

// Returns true if it is easy to see that no element appears twice.
bool are_distinct(std::vector<Dimension> dimensions) {
  std::ranges::sort(dimensions, {}, [](const Dimension& each) { return std::abs(each.stride); });
  Index span = 1;
  for (const Dimension& each : dimensions) {
    if (std::abs(each.stride) < span) return false;
    span += (each.extent - 1) * std::abs(each.stride);
  }
  return true;
}

std::vector<Dimension> with(const Dimension& outermost, std::vector<Dimension> dimensions) {
  dimensions.insert(dimensions.begin(), outermost);
  return dimensions;
}

// Returns the same extents with adjacent elements.
Patch packed(const std::vector<Dimension>& dimensions) {
  Patch result{0, dimensions};
  Index stride = 1;
  for (auto each = result.dimensions.rbegin(); each != result.dimensions.rend(); ++each) {
    each->stride = stride;
    stride *= each->extent;
  }
  return result;
}

}  // namespace

CombinedPatch::CombinedPatch(const Patch& patch, std::size_t element_size, Index buffer)
    : size_(static_cast<Index>(element_size)) {
  const Patch simple = patch.normalised();
  offset_ = simple.offset;
  outer_ = simple.dimensions;
  std::vector<Dimension> chunk;
  if (simple.size() == 0) split_.extent = 0;
  if (simple.size() == 0 || outer_.empty()) return;
  if (outer_.back().stride == 1 && outer_.back().extent >= kLongRow) {
    split_ = outer_.back();
    step_ = split_.extent;
    outer_.pop_back();
    return;
  }
  while (!outer_.empty() && inner_ * outer_.back().extent <= buffer &&
         are_distinct(with(outer_.back(), chunk))) {
    inner_ *= outer_.back().extent;
    chunk = with(outer_.back(), chunk);
    outer_.pop_back();
  }
  if (!outer_.empty()) {
    split_ = outer_.back();
    outer_.pop_back();
    const bool distinct = are_distinct(with(split_, chunk));
    step_ = distinct ? std::clamp<Index>(buffer / inner_, 1, split_.extent) : 1;
  }
  room_ = step_ * inner_;
  for (const auto& [which, count] : {std::pair(0U, step_), std::pair(1U, split_.extent % step_)}) {
    if (count == 0) continue;
    const Patch there{0, with({count, split_.stride}, chunk)};
    const Patch row = packed(there.dimensions);
    copies_[which] = {StridedCopy(there, row, element_size), StridedCopy(row, there, element_size)};
  }
}

void CombinedPatch::run(std::byte* base, const std::byte* in, const CombineFunction& combine,
                        std::byte* room) const {
  Run run{in, combine, room};
  visit(0, base + offset_ * size_, run);
}

void CombinedPatch::visit(std::size_t depth, std::byte* target, Run& run) const {
  if (depth == outer_.size()) return combine_chunks(target, run);
  for (Index k = 0; k < outer_[depth].extent; ++k)
    visit(depth + 1, target + k * outer_[depth].stride * size_, run);
}

void CombinedPatch::combine_chunks(std::byte* target, Run& run) const {
  for (Index done = 0; done < split_.extent; done += step_) {
    const Index steps = std::min(step_, split_.extent - done);
    const Index count = steps * inner_;
    std::byte* const there = target + done * split_.stride * size_;
    if (room_ <= 1) {
      run.combine(there, run.in, count);
    } else {
      const Copies& copies = copies_[steps == step_ ? 0 : 1];
      copies.gather.run(there, run.room);
      run.combine(run.room, run.in, count);
      copies.scatter.run(run.room, there);
    }
    run.in += count * size_;
  }
}

}  // namespace impishim::darray
