// SPDX-License-Identifier: Apache-2.0
#include "shim/job/group_pool.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include "shim/handle/own_handle.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

MPI_Group GroupPool::keep(RankList members) {
  const MutexLock lock(mutex_);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(groups_.size()));
    groups_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  groups_[index] = std::make_shared<const RankList>(std::move(members));
  return own_groups().make(index);
}

std::shared_ptr<const RankList> GroupPool::find(MPI_Group group) {
  const MutexLock lock(mutex_);
  const std::uint32_t index = own_groups().index(group);
  return index < groups_.size() ? groups_[index] : nullptr;
}

bool GroupPool::release(MPI_Group group) {
  const MutexLock lock(mutex_);
  const std::uint32_t index = own_groups().index(group);
  if (index >= groups_.size() || groups_[index] == nullptr) return false;
  groups_[index] = nullptr;
  free_.push_back(index);
  return true;
}

}  // namespace impishim::shim
