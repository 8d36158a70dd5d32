// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "shim/values/rank_list.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// All groups of this library. Any thread.
class GroupPool {
 public:
  GroupPool() = default;
  GroupPool(const GroupPool&) = delete;
  GroupPool& operator=(const GroupPool&) = delete;

  [[nodiscard]] MPI_Group keep(RankList members);
  /// Returns the members of a group of this library, or null if it was freed.
  [[nodiscard]] std::shared_ptr<const RankList> find(MPI_Group group);
  /// Frees a group. Returns false if it was freed already.
  bool release(MPI_Group group);

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<const RankList>> groups_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
