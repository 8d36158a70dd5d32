// SPDX-License-Identifier: Apache-2.0
/// Groups: the vendor's where all members are in this system, objects of ours otherwise (DESIGN.md
/// 3).
///
/// A handle of ours (own_handle.hpp) names a list of world ranks that never changes. Every function
/// of MPI that takes a group is wrapped, so the vendor never sees one.
#pragma once

#include <mpi.h>

#include <memory>
#include <string_view>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// All groups of ours. Any thread.
class GroupPool {
 public:
  static GroupPool& instance();
  [[nodiscard]] MPI_Group keep(RankList members);
  /// The members behind a handle of ours; null if it was freed.
  [[nodiscard]] std::shared_ptr<const RankList> find(MPI_Group group);
  /// False if it was freed already.
  bool release(MPI_Group group);

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<const RankList>> groups_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Makes a group of these processes, in this order: the vendor's own if all are in this system
/// (MPI_GROUP_EMPTY if there are none), one of ours otherwise. The caller owns it, and frees it
/// once. Returns an MPI code that has been raised.
[[nodiscard]] int make_group(Job& job, const RankList& members, MPI_Group* group);

/// World ranks of a group's members, ours or the vendor's. Returns a code that has been raised:
/// MPI_ERR_GROUP if the group is none, or has processes that are not in the joined job
/// (MPI_Comm_spawn).
[[nodiscard]] int members_of(Job& job, MPI_Group group, std::string_view function,
                             RankList& members);

/// World ranks of a native communicator's members; of the remote group's of an intercommunicator if
/// `remote`. kNoMember stands for processes that are not in the joined job. Returns a code of the
/// vendor's, raised already.
[[nodiscard]] int members_of_native(Job& job, MPI_Comm comm, bool remote, RankList& members);

}  // namespace impishim::shim
