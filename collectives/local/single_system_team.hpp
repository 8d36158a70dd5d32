// SPDX-License-Identifier: Apache-2.0
/// The members of one system, described as clients of a separate job. They can therefore run every
/// algorithm of collectives/ among themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/groups.hpp"
#include "collectives/core/select.hpp"
#include "collectives/local/lone_member.hpp"

namespace impishim::collectives {

/// A team in which each member is the only process of its client.
class SingleSystemTeam {
 public:
  /// Constructs the team of member `rank` of `size`, whose messages use `messages`.
  SingleSystemTeam(MemberTransport& messages, std::int32_t rank, std::int32_t size);
  SingleSystemTeam(const SingleSystemTeam&) = delete;
  SingleSystemTeam& operator=(const SingleSystemTeam&) = delete;

  [[nodiscard]] const Team& team() const { return team_; }

 private:
  std::vector<std::int32_t> ranks_;  ///< of all members; used as masters and as client numbers
  std::vector<std::int32_t> local_ranks_;  ///< -1 for all except this member
  Membership membership_;
  Limits limits_;
  LoneMember alone_;
  Team team_;
};

}  // namespace impishim::collectives
