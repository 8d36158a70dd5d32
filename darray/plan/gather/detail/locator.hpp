// SPDX-License-Identifier: Apache-2.0
/// Converts subscripts to ranks and offsets in their local buffers. Not for users.
#pragma once

#include <vector>

#include "darray/plan/gather/gather.hpp"

namespace impishim::darray {

/// The subscripts of the elements of an aligned array that the mask selects.
class ActiveSubscripts {
 public:
  /// `owned` is the number of elements of the aligned array that the rank owns. Throws
  /// Error(kShape) if the number of lists, subscripts or mask values is wrong.
  ActiveSubscripts(const Subscripts& subscripts, Mask mask, int axes, Index owned);

  [[nodiscard]] Index count() const { return count_; }
  /// Returns the number of the k-th active element among the owned elements.
  [[nodiscard]] Index element(Index k) const {
    return elements_.empty() ? k : elements_[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] std::span<const Index> axis(std::size_t axis) const { return lists_[axis]; }

 private:
  Index count_ = 0;
  std::vector<Index> elements_;  // empty without a mask
  std::vector<std::vector<Index>> kept_;
  Subscripts lists_;
};

/// Finds the locations of the elements of an array.
class Locator {
 public:
  Locator(const Communicator& communicator, const Distribution& distribution);

  /// Returns, for each active element, the location of the nearest copy of the element that its
  /// subscripts name. Throws Error(kKey) if they name no element.
  [[nodiscard]] std::vector<Location> nearest(const ActiveSubscripts& subscripts) const;

  /// All copies of the named elements, and the active element that names each copy.
  struct Copies {
    std::vector<Location> locations;
    std::vector<Index> elements;  // empty: one copy for each active element, in order
  };
  [[nodiscard]] Copies all(const ActiveSubscripts& subscripts) const;

 private:
  struct Axis {
    const DimMap* map;
    Index place_stride;               // between adjacent parts; 0 if there is one part
    std::vector<Index> lower;         // ghosts below, for each part
    std::vector<Index> local_extent;  // of the buffer, for each part
    std::vector<Index> begin;         // first index of each part, only for blocks
    bool shared_labels;
    int owned_part;  // -1 outside of the grid
  };
  struct Chunk {
    std::vector<Index> places;
    std::vector<Index> offsets;
  };

  [[nodiscard]] bool shares_labels() const;
  void locate(const ActiveSubscripts& subscripts, Index from, Index count, Chunk& chunk) const;
  template <class PartOf, class LocalOf>
  static void add_axis(const Axis& axis, std::span<const Index> indices, PartOf part_of,
                       LocalOf local_of, Chunk& chunk);
  template <class Found>
  void locate_owners(const ActiveSubscripts& subscripts, Index k, std::size_t axis, Index place,
                     Index offset, bool one, const Found& found) const;
  template <class Found>
  void visit(const ActiveSubscripts& subscripts, bool one, Found found) const;
  void check(const ActiveSubscripts& subscripts) const;
  [[nodiscard]] int nearest_rank(Index place) const;

  Communicator communicator_;
  const Distribution& distribution_;
  std::vector<Axis> axes_;
};

}  // namespace impishim::darray
