// SPDX-License-Identifier: Apache-2.0
/// The ranks that take part in a tree or a reduction. Not for users.
#pragma once

#include <vector>

#include "darray/communicator/communicator.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Some ranks of a communicator, in ascending order.
class Members {
 public:
  /// Throws Error(kArgument) unless the list is ascending and within the communicator.
  Members(const Communicator& communicator, std::vector<int> ranks);

  [[nodiscard]] bool contains_me() const { return mine_ >= 0; }
  [[nodiscard]] int count() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  /// Returns the position of this rank in the list, or -1 if it is not a member.
  [[nodiscard]] int position() const { return mine_; }
  /// Returns the position of a rank. Throws Error(kArgument) if it is not a member.
  int position_of(int rank) const;
  /// Checks that all members have the same number of bytes as this one. `bytes` holds the numbers
  /// of all ranks, or is empty, and then nothing is checked. This rank must be a member. Throws
  /// Error(kShape) if a number differs.
  void require_equal(const std::vector<Index>& bytes) const;

 private:
  std::vector<int> ranks_;
  int mine_ = -1;
};

}  // namespace impishim::darray
