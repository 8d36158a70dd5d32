// SPDX-License-Identifier: Apache-2.0
#include "darray/local/strided_copy.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

using Step = StridedCopy::Step;

void copy_row(std::size_t row, const Step*, const std::byte* source, std::byte* destination) {
  std::memcpy(destination, source, row);
}

// Rows of a length that the compiler knows become a few instructions.
template <std::size_t kRow>
void copy_rows(std::size_t, const Step* step, const std::byte* __restrict source,
               std::byte* __restrict destination) {
  for (Index k = 0; k < step->extent; ++k) {
    std::memcpy(destination + k * step->to, source + k * step->from, kRow);
  }
}

void copy_any_rows(std::size_t row, const Step* step, const std::byte* source,
                   std::byte* destination) {
  for (Index k = 0; k < step->extent; ++k)
    std::memcpy(destination + k * step->to, source + k * step->from, row);
}

// Copies in two steps, through a buffer of square blocks. The first step is fast in the source, the
// second in the destination. The rows of a block are long enough to use each page well. In the
// buffer they are close together, whereas in the arrays rows whose distance is a power of two evict
// each other from the cache.
template <std::size_t kRow>
void transpose(std::size_t, const Step* steps, const std::byte* __restrict source,
               std::byte* __restrict destination) {
  constexpr Index kSide = kRow <= 4 ? 64 : 32;
  constexpr Index kElement = kRow;
  alignas(64) std::byte buffer[kSide * kSide * kRow];
  const Step& outer = steps[0];
  const Step& inner = steps[1];
  for (Index first_outer = 0; first_outer < outer.extent; first_outer += kSide) {
    const Index outers = std::min(kSide, outer.extent - first_outer);
    for (Index first_inner = 0; first_inner < inner.extent; first_inner += kSide) {
      const Index inners = std::min(kSide, inner.extent - first_inner);
      const std::byte* from = source + first_outer * outer.from + first_inner * inner.from;
      for (Index i = 0; i < inners; ++i, from += inner.from) {
        std::byte* row = buffer + i * kSide * kElement;
        if (outer.from == kElement) {
          std::memcpy(row, from, static_cast<std::size_t>(outers) * kRow);
        } else {
          for (Index o = 0; o < outers; ++o)
            std::memcpy(row + o * kElement, from + o * outer.from, kRow);
        }
      }
      std::byte* to = destination + first_outer * outer.to + first_inner * inner.to;
      for (Index o = 0; o < outers; ++o, to += outer.to) {
        const std::byte* column = buffer + o * kElement;
        for (Index i = 0; i < inners; ++i)
          std::memcpy(to + i * inner.to, column + i * kSide * kElement, kRow);
      }
    }
  }
}

using Kernel = void (*)(std::size_t, const Step*, const std::byte*, std::byte*);

Kernel rows_kernel(std::size_t row) {
  switch (row) {
    case 1:
      return copy_rows<1>;
    case 2:
      return copy_rows<2>;
    case 4:
      return copy_rows<4>;
    case 8:
      return copy_rows<8>;
    case 12:
      return copy_rows<12>;
    case 16:
      return copy_rows<16>;
    case 24:
      return copy_rows<24>;
    case 32:
      return copy_rows<32>;
    case 48:
      return copy_rows<48>;
    case 64:
      return copy_rows<64>;
    default:
      return copy_any_rows;
  }
}

Kernel transpose_kernel(std::size_t row) {
  switch (row) {
    case 1:
      return transpose<1>;
    case 2:
      return transpose<2>;
    case 4:
      return transpose<4>;
    case 8:
      return transpose<8>;
    case 16:
      return transpose<16>;
    default:
      return nullptr;
  }
}

bool continues(const Step& outer, const Step& inner) {
  return outer.from == inner.extent * inner.from && outer.to == inner.extent * inner.to;
}

}  // namespace

StridedCopy::StridedCopy(const Patch& source, const Patch& destination, std::size_t element_size)
    : row_(element_size),
      from_(source.offset * static_cast<Index>(element_size)),
      to_(destination.offset * static_cast<Index>(element_size)) {
  if (source.dimensions.size() != destination.dimensions.size()) {
    fail(ErrorKind::kShape, "a patch of {} dimensions cannot be copied to one of {}",
         source.dimensions.size(), destination.dimensions.size());
  }
  const auto size = static_cast<Index>(element_size);
  for (std::size_t d = 0; d < source.dimensions.size(); ++d) {
    const Dimension& from = source.dimensions[d];
    const Dimension& to = destination.dimensions[d];
    if (from.extent != to.extent)
      fail(ErrorKind::kShape, "dimension {}: extents {} and {} differ", d, from.extent, to.extent);
    if (from.extent == 0) row_ = 0;
    if (from.extent > 1) steps_.push_back({from.extent, from.stride * size, to.stride * size});
  }
  if (row_ == 0) {
    steps_.clear();
  } else {
    arrange();
  }
}

void StridedCopy::arrange() {
  // Stores with large distances cost more than loads, so the smallest stride of the destination
  // runs fastest.
  std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
    const Index to_a = std::abs(a.to);
    const Index to_b = std::abs(b.to);
    return to_a != to_b ? to_a > to_b : std::abs(a.from) > std::abs(b.from);
  });
  std::vector<Step> merged;
  for (const Step& step : steps_) {
    if (!merged.empty() && continues(merged.back(), step)) {
      merged.back() = {merged.back().extent * step.extent, step.from, step.to};
    } else {
      merged.push_back(step);
    }
  }
  steps_ = std::move(merged);
  const auto row = static_cast<Index>(row_);
  if (!steps_.empty() && steps_.back().from == row && steps_.back().to == row) {
    row_ *= static_cast<std::size_t>(steps_.back().extent);
    steps_.pop_back();
  }
  if (steps_.empty()) {
    kernel_ = copy_row;
    return;
  }
  const auto fastest = std::min_element(
      steps_.begin(), steps_.end(),
      [](const Step& a, const Step& b) { return std::abs(a.from) < std::abs(b.from); });
  const auto last = steps_.end() - 1;
  constexpr Index kWorthwhile = 4;
  if (fastest != last && std::abs(fastest->from) < std::abs(last->from) &&
      fastest->extent >= kWorthwhile && last->extent >= kWorthwhile &&
      transpose_kernel(row_) != nullptr) {
    std::rotate(fastest, fastest + 1, last);
    kernel_ = transpose_kernel(row_);
    loops_ = steps_.size() - 2;
  } else {
    kernel_ = rows_kernel(row_);
    loops_ = steps_.size() - 1;
  }
}

void StridedCopy::run(const std::byte* source, std::byte* destination) const {
  if (row_ != 0) run_from(0, source + from_, destination + to_);
}

void StridedCopy::run_from(std::size_t depth, const std::byte* source,
                           std::byte* destination) const {
  if (depth == loops_) {
    kernel_(row_, steps_.data() + depth, source, destination);
    return;
  }
  const Step& step = steps_[depth];
  for (Index k = 0; k < step.extent; ++k)
    run_from(depth + 1, source + k * step.from, destination + k * step.to);
}

}  // namespace impishim::darray
