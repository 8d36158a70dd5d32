// SPDX-License-Identifier: Apache-2.0
/// The maps of an axis to parts that are given by a formula. dim_map.hpp combines them. The queries
/// are those of DimMap, with parts and indices that are known to be in range.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "darray/base/divider.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// The functions that all maps with one contiguous block for each part share. Map has begin(part)
/// for 0 <= part <= parts().
template <class Map>
class ContiguousBlocks {
 public:
  [[nodiscard]] Index owned(int part) const { return self().begin(part + 1) - self().begin(part); }
  /// Returns the local index, or -1 if the part does not own the index.
  [[nodiscard]] Index local(int part, Index global) const {
    const Index begin = self().begin(part);
    return global >= begin && global < self().begin(part + 1) ? global - begin : -1;
  }
  [[nodiscard]] Index global(int part, Index local) const { return self().begin(part) + local; }

 private:
  [[nodiscard]] const Map& self() const { return static_cast<const Map&>(*this); }
};

/// Not distributed: one part owns all indices.
class CollapsedMap : public ContiguousBlocks<CollapsedMap> {
 public:
  explicit CollapsedMap(Index extent) : extent_(extent) {}
  [[nodiscard]] Index extent() const { return extent_; }
  [[nodiscard]] int parts() const { return 1; }
  [[nodiscard]] Index begin(int part) const { return part == 0 ? 0 : extent_; }
  [[nodiscard]] int owner(Index) const { return 0; }

 private:
  Index extent_;
};

/// Blocks of ceil(extent / parts); late parts are shorter or empty (DAP, DistArray, HPF, FFTW;
/// d2o's `fftw`, D2O-03).
class CeilingMap : public ContiguousBlocks<CeilingMap> {
 public:
  CeilingMap(Index extent, int parts)
      : extent_(extent), parts_(parts), block_(std::max<Index>(1, (extent + parts - 1) / parts)) {}
  [[nodiscard]] Index extent() const { return extent_; }
  [[nodiscard]] int parts() const { return parts_; }
  [[nodiscard]] Index begin(int part) const { return std::min(part * block_.divisor(), extent_); }
  [[nodiscard]] int owner(Index global) const { return static_cast<int>(block_.quotient(global)); }

 private:
  Index extent_;
  int parts_;
  Divider block_;
};

/// The first extent mod parts parts have one element more than the others (d2o's `equal`, D2O-02).
class BalancedMap : public ContiguousBlocks<BalancedMap> {
 public:
  BalancedMap(Index extent, int parts)
      : extent_(extent),
        parts_(parts),
        shorter_length_(extent / parts),
        longer_(static_cast<int>(extent % parts)),
        shorter_(std::max<Index>(1, shorter_length_)),
        longer_block_(shorter_length_ + 1),
        longer_end_(longer_ * (shorter_length_ + 1)) {}
  [[nodiscard]] Index extent() const { return extent_; }
  [[nodiscard]] int parts() const { return parts_; }
  [[nodiscard]] Index begin(int part) const {
    return part * shorter_length_ + std::min(part, longer_);
  }
  [[nodiscard]] int owner(Index global) const {
    if (global < longer_end_) return static_cast<int>(longer_block_.quotient(global));
    return longer_ + static_cast<int>(shorter_.quotient(global - longer_end_));
  }

 private:
  Index extent_;
  int parts_;
  Index shorter_length_;
  int longer_;
  Divider shorter_;
  Divider longer_block_;
  Index longer_end_;
};

/// Blocks of any lengths: part p owns bounds[p] up to bounds[p + 1].
class BoundedMap : public ContiguousBlocks<BoundedMap> {
 public:
  /// `bounds` begins with 0, ascends, and ends with the extent.
  explicit BoundedMap(std::vector<Index> bounds)
      : bounds_(std::make_shared<const std::vector<Index>>(std::move(bounds))) {}
  [[nodiscard]] Index extent() const { return bounds_->back(); }
  [[nodiscard]] int parts() const { return static_cast<int>(bounds_->size()) - 1; }
  [[nodiscard]] Index begin(int part) const { return (*bounds_)[static_cast<std::size_t>(part)]; }
  [[nodiscard]] int owner(Index global) const {
    return static_cast<int>(std::upper_bound(bounds_->begin(), bounds_->end(), global) -
                            bounds_->begin()) -
           1;
  }

 private:
  std::shared_ptr<const std::vector<Index>> bounds_;
};

/// Blocks of one length dealt round-robin: block k belongs to part (first + k) mod parts (DAP-52,
/// DAP-55). The last block may be short.
class BlockCyclicMap {
 public:
  BlockCyclicMap(Index extent, int parts, Index block, int first)
      : extent_(extent),
        parts_(parts),
        block_(block),
        first_(first),
        blocks_((extent + block - 1) / block) {}
  [[nodiscard]] Index extent() const { return extent_; }
  [[nodiscard]] int parts() const { return static_cast<int>(parts_.divisor()); }
  [[nodiscard]] Index block() const { return block_.divisor(); }
  [[nodiscard]] int first() const { return first_; }
  /// Returns the number of all blocks, a short one included.
  [[nodiscard]] Index blocks() const { return blocks_; }
  /// Returns the first block that belongs to the part, even if the axis is too short to contain it.
  [[nodiscard]] Index first_block(int part) const {
    return part >= first_ ? part - first_ : part - first_ + parts_.divisor();
  }
  [[nodiscard]] Index owned(int part) const {
    const Index mine = first_block(part);
    if (mine >= blocks_) return 0;
    const Index count = parts_.quotient(blocks_ - mine - 1) + 1;
    const bool has_last = mine + (count - 1) * parts_.divisor() == blocks_ - 1;
    return count * block() - (has_last ? blocks_ * block() - extent_ : 0);
  }
  [[nodiscard]] int owner(Index global) const {
    return static_cast<int>(parts_.remainder(block_.quotient(global) + first_));
  }
  /// Returns the local index, or -1 if the part does not own the index.
  [[nodiscard]] Index local(int part, Index global) const {
    const Index number = block_.quotient(global);
    const Index round = parts_.quotient(number);
    if (number - round * parts_.divisor() != first_block(part)) return -1;
    return global - (number - round) * block();
  }
  [[nodiscard]] Index global(int part, Index local) const {
    const Index round = block_.quotient(local);
    return (first_block(part) + round * (parts_.divisor() - 1)) * block() + local;
  }

 private:
  Index extent_;
  Divider parts_;
  Divider block_;
  int first_;
  Index blocks_;
};

}  // namespace impishim::darray
