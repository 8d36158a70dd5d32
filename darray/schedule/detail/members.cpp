// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/detail/members.hpp"

#include <algorithm>

#include "darray/base/error.hpp"

namespace impishim::darray {

Members::Members(const Communicator& communicator, std::vector<int> ranks)
    : ranks_(std::move(ranks)) {
  for (std::size_t k = 0; k < ranks_.size(); ++k) {
    if (ranks_[k] < 0 || ranks_[k] >= communicator.size() ||
        (k > 0 && ranks_[k] <= ranks_[k - 1])) {
      fail(ErrorKind::kArgument, "member {} is rank {}: members are ranks from 0 to {}, ascending",
           k, ranks_[k], communicator.size() - 1);
    }
    if (ranks_[k] == communicator.rank()) mine_ = static_cast<int>(k);
  }
}

int Members::position_of(int rank) const {
  const auto found = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (found == ranks_.end() || *found != rank)
    fail(ErrorKind::kArgument, "rank {} is none of the members", rank);
  return static_cast<int>(found - ranks_.begin());
}

void Members::require_equal(const std::vector<Index>& bytes) const {
  if (bytes.empty() || !contains_me()) return;
  const int me = ranks_[static_cast<std::size_t>(mine_)];
  const Index mine = bytes[static_cast<std::size_t>(me)];
  for (const int member : ranks_) {
    const Index theirs = bytes[static_cast<std::size_t>(member)];
    if (theirs != mine)
      fail(ErrorKind::kShape, "elements of {} bytes on rank {}, of {} on rank {}", mine, me, theirs,
           member);
  }
}

}  // namespace impishim::darray
