// SPDX-License-Identifier: Apache-2.0
/// The members of one system as the clients of a job of their own: so they run every algorithm of
/// collectives/ among themselves.
#pragma once

#include <mpi.h>

#include <vector>

#include "collectives/core/groups.hpp"
#include "shim/coll/local_messages.hpp"
#include "shim/coll/native_group.hpp"

namespace impishim::shim {

/// Each member is the only one of its client. Ranks are those of the companion.
class MemberTeam {
 public:
  /// Tags from `first_tag` to `first_tag` + kTags - 1 are this team's as long as it lives.
  MemberTeam(MPI_Comm companion, int rank, int size, std::int32_t first_tag);
  MemberTeam(const MemberTeam&) = delete;
  MemberTeam& operator=(const MemberTeam&) = delete;

  static constexpr std::int32_t kTags = 512;
  static_assert(collectives::kStraightTag <
                kTags);  // the highest tag but for those of edges, which reductions do not have

  [[nodiscard]] const collectives::Team& team() const { return team_; }
  /// The first error code of the vendor's, or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return messages_.first_code(); }

 private:
  std::vector<std::int32_t> ranks_;        ///< of all members: masters, and numbers of clients
  std::vector<std::int32_t> local_ranks_;  ///< -1 for all but this one
  collectives::Shape shape_;
  collectives::Limits limits_;
  NativeGroup alone_;
  LocalMessages messages_;
  collectives::Team team_;
};

}  // namespace impishim::shim
