// SPDX-License-Identifier: Apache-2.0
/// What a member of a communicator knows of failed collectives, and what follows from it. Pure
/// values: CollectiveQueue sends and receives the notices.
///
/// A member that did not take part in a collective because of a wrong argument must not start its
/// next one at once: its messages would meet the receives of members that wait in the failed one,
/// and it would receive what they have sent there. It is *in doubt* until each other member has
/// told that its arguments were wrong, too. The communicator works on then. If another member took
/// part, whether it waits or has completed its part, that member breaks the communicator.
///
/// Members whose arguments do not match may wait for ever without an error. A member that has
/// waited for long tells its arguments. A member that has called the collective with others breaks
/// the communicator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "shim/values/failure_notice.hpp"

namespace impishim::shim {

class FailureWatch {
 public:
  /// Notes that this member's arguments were wrong in a collective, or in an initialisation of a
  /// persistent one (kInit). `collective` is the number of the latest collective. `others` are all
  /// other members.
  void failed_here(FailureNotice::Kind kind, std::uint64_t number, std::uint64_t collective,
                   std::vector<wire::WorldRank> others);
  /// Notes the arguments of a collective of this member.
  void called(std::uint64_t collective, std::uint64_t signature) {
    calls_[collective % calls_.size()] = {collective, signature};
  }
  /// Takes a notice of another member.
  void take(FailureNotice notice);
  /// Returns true if this member may not start the collective with this number yet.
  [[nodiscard]] bool in_doubt(std::uint64_t collective) const;

  /// Returns the notice that ends the collective with this number, in which this member takes part
  /// or is about to. Returns nothing if there is none. `initialisations` is the number of
  /// initialisations so far. A notice of a member that took part counts only if `stalled` is true:
  /// the others can complete then, unless its error kept data from them.
  [[nodiscard]] std::optional<FailureNotice> end_of(std::uint64_t collective,
                                                    std::uint64_t initialisations,
                                                    bool stalled) const;
  /// Drops the notices that no collective from this number on needs.
  void drop_before(std::uint64_t collective);

 private:
  /// A failure of this member of which others have not been heard.
  struct Doubt {
    FailureNotice::Kind kind;
    std::uint64_t number;
    std::uint64_t collective;  ///< later collectives wait
    std::set<wire::WorldRank> unheard;
  };
  [[nodiscard]] bool differs_here(const FailureNotice& waits) const;
  bool settles_doubt(FailureNotice& notice);

  struct Call {
    std::uint64_t collective = 0;
    std::uint64_t signature = 0;
  };
  std::array<Call, 64> calls_{};  ///< the latest
  std::vector<Doubt> doubts_;
  std::vector<FailureNotice> notices_;
};

}  // namespace impishim::shim
