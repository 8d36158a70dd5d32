// SPDX-License-Identifier: Apache-2.0
// The ranks that take part in a tree or a reduction. Not for users.
#pragma once

#include <vector>

#include "darray/index/triplet.hpp"
#include "darray/schedule/communicator.hpp"

namespace impishim::darray {

/// Some ranks of a communicator, ascending, as a communicator of their own.
class Members {
 public:
  /// Whether this rank is one. Errors: kArgument unless the list is ascending and within the
  /// communicator.
  Members(const Communicator& communicator, std::vector<int> ranks);

  [[nodiscard]] bool contains_me() const { return mine_ >= 0; }
  [[nodiscard]] int count() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  /// Position of this rank among them; -1 if it is none.
  [[nodiscard]] int position() const { return mine_; }
  /// Position of a rank. Errors: kArgument if it is none of them.
  int position_of(int rank) const;
  /// `bytes` of all ranks, or none; errors: kShape when a member has others than this one, which is
  /// a member.
  void require_equal(const std::vector<Index>& bytes) const;

 private:
  std::vector<int> ranks_;
  int mine_ = -1;
};

}  // namespace impishim::darray
