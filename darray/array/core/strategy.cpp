// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/strategy.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"
#include "darray/index/make_distribution.hpp"

namespace impishim::darray {
namespace {

constexpr std::array<std::pair<std::string_view, Strategy::Kind>, 4> kNames{
    {{"not", kNot}, {"equal", kEqual}, {"fftw", kFftw}, {"freeform", kFreeform}}};

// Returns slices of axis 0 by a map; the other axes are not cut.
DistributionPtr slices(DimMap map, std::span<const Index> shape) {
  ProcessGrid grid({map.parts()});
  std::vector<Axis> axes{{std::move(map), 0}};
  for (const Index extent : shape.subspan(1)) axes.push_back({DimMap::collapsed(extent)});
  return Distribution::make(std::move(grid), std::move(axes));
}

}  // namespace

Strategy::Strategy(Kind kind) : kind_(kind) {
  if (kind == Kind::kLayout)
    fail(ErrorKind::kArgument, "a strategy of any layout is given by its distribution");
}

Strategy::Strategy(DistributionPtr distribution)
    : kind_(Kind::kLayout), distribution_(std::move(distribution)) {
  if (distribution_ == nullptr)
    fail(ErrorKind::kArgument, "a strategy needs a distribution, not a null pointer");
}

Strategy::Strategy(std::string_view name) {
  for (const auto& [known, kind] : kNames) {
    if (known == name) {
      kind_ = kind;
      return;
    }
  }
  fail(ErrorKind::kArgument, "no strategy is called '{}': there are not, equal, fftw and freeform",
       name);
}

std::string_view Strategy::name() const {
  for (const auto& [known, kind] : kNames) {
    if (kind == kind_) return known;
  }
  return "layout";
}

bool Strategy::is_slicing() const {
  return kind_ == kEqual || kind_ == kFftw || kind_ == kFreeform;
}

std::uint64_t Strategy::hash() const {
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(kind_));
  if (distribution_ != nullptr) hasher.add(distribution_->hash());
  return hasher.value();
}

bool Strategy::operator==(const Strategy& other) const {
  if (kind_ != other.kind_) return false;
  return distribution_ == other.distribution_ ||
         (distribution_ != nullptr && *distribution_ == *other.distribution_);
}

DistributionPtr distribution_of(const Strategy& strategy, std::span<const Index> shape,
                                int processes) {
  static_cast<void>(element_count(shape));
  if (strategy.kind() == Strategy::Kind::kLayout) {
    const DistributionPtr& given = strategy.distribution();
    if (!std::ranges::equal(given->shape(), shape)) {
      fail(ErrorKind::kShape, "a distribution of shape ({}) for an array of shape ({})",
           fmt::join(given->shape(), ", "), fmt::join(shape, ", "));
    }
    for (const int member : given->grid().members()) {
      if (member >= processes) {
        fail(ErrorKind::kLayout, "the grid has process {}, but the communicator only {} of them",
             member, processes);
      }
    }
    return given;
  }
  if (strategy.kind() == kFreeform)
    fail(ErrorKind::kShape, "freeform takes local shapes: a global shape does not tell them");
  if (strategy.kind() == kNot || shape.empty()) return make_replicated(shape, processes);
  return slices(strategy.kind() == kEqual ? DimMap::balanced(shape[0], processes)
                                          : DimMap::block(shape[0], processes),
                shape);
}

}  // namespace impishim::darray
