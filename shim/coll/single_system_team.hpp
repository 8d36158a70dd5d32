// SPDX-License-Identifier: Apache-2.0
/// The members of one system, described as clients of a separate job. They can therefore run every
/// algorithm of collectives/ among themselves.
#pragma once

#include <mpi.h>

#include <vector>

#include "collectives/core/groups.hpp"
#include "shim/coll/vendor_local_group.hpp"
#include "shim/coll/vendor_transport.hpp"

namespace impishim::shim {

/// A team in which each member is the only process of its client. Ranks are those of the companion.
class SingleSystemTeam {
 public:
  /// Reserves the tags from `first_tag` to `first_tag` + kTags - 1 for this team during its
  /// lifetime.
  SingleSystemTeam(MPI_Comm companion, int rank, int size, std::int32_t first_tag);
  SingleSystemTeam(const SingleSystemTeam&) = delete;
  SingleSystemTeam& operator=(const SingleSystemTeam&) = delete;

  static constexpr std::int32_t kTags = 512;
  static_assert(collectives::kStraightTag <
                // The highest tag except for the tags of edges, which reductions do not use.
                kTags);

  [[nodiscard]] const collectives::Team& team() const { return team_; }
  /// Cancels the receives in progress.
  void give_up() { messages_.give_up(); }
  /// Returns true if no receive is in progress.
  [[nodiscard]] bool is_quiet() { return messages_.is_quiet(); }
  /// Returns the first error code of the vendor, or MPI_SUCCESS.
  [[nodiscard]] int first_code() const { return messages_.first_code(); }

 private:
  std::vector<std::int32_t> ranks_;  ///< of all members; used as masters and as client numbers
  std::vector<std::int32_t> local_ranks_;  ///< -1 for all except this member
  collectives::Membership membership_;
  collectives::Limits limits_;
  VendorLocalGroup alone_;
  VendorTransport messages_;
  collectives::Team team_;
};

}  // namespace impishim::shim
