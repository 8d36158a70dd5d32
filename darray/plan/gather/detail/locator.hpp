// From subscripts to ranks and offsets in their local buffers. Not for users.
#pragma once

#include <vector>

#include "darray/plan/gather/gather.hpp"

namespace impishim::darray {

/// Elements of an aligned array with their subscripts: those that the mask lets through.
class ActiveSubscripts {
 public:
  /// `owned`: how many elements of the aligned array the rank owns. Errors: kShape for other
  /// numbers of lists, subscripts or mask values.
  ActiveSubscripts(const Subscripts& subscripts, Mask mask, int axes, Index owned);

  [[nodiscard]] Index count() const { return count_; }
  /// Of the k-th active element: which owned one it is.
  [[nodiscard]] Index element(Index k) const {
    return elements_.empty() ? k : elements_[static_cast<std::size_t>(k)];
  }
  [[nodiscard]] std::span<const Index> axis(std::size_t axis) const { return lists_[axis]; }

 private:
  Index count_ = 0;
  std::vector<Index> elements_;  // if there is a mask
  std::vector<std::vector<Index>> kept_;
  Subscripts lists_;
};

/// Knows where the elements of an array are.
class Locator {
 public:
  Locator(const Communicator& communicator, const Distribution& distribution);

  /// For each active element, where the nearest copy of the one that it names is. Errors: kKey for
  /// subscripts that name none.
  [[nodiscard]] std::vector<Location> nearest(const ActiveSubscripts& subscripts) const;

  /// All copies of the elements that are named, and which active element names each.
  struct Copies {
    std::vector<Location> locations;
    std::vector<Index> elements;  // empty: one copy of each, in order
  };
  [[nodiscard]] Copies all(const ActiveSubscripts& subscripts) const;

 private:
  struct Axis {
    const DimMap* map;
    Index place_stride;               // between neighbouring parts; 0 if there is one part
    std::vector<Index> lower;         // ghosts below, for each part
    std::vector<Index> local_extent;  // of the buffer, for each part
    std::vector<Index> begin;         // first index of each part, for blocks alone
    bool shared_labels;
    int own_part;  // -1 outside of the grid
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
