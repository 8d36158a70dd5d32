// SPDX-License-Identifier: Apache-2.0
#include "shim/values/failure_watch.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>
#include "shim/values/failure_notice.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

using Kind = FailureNotice::Kind;

}  // namespace

void FailureWatch::failed_here(Kind kind, std::uint64_t number, std::uint64_t collective,
                               std::vector<wire::WorldRank> others) {
  Doubt doubt{kind, number, collective, {others.begin(), others.end()}};
  if (doubt.unheard.empty()) return;
  doubts_.push_back(std::move(doubt));
  std::erase_if(notices_, [this](FailureNotice& notice) { return settles_doubt(notice); });
}

void FailureWatch::take(FailureNotice notice) {
  if (settles_doubt(notice)) return;
  notices_.push_back(std::move(notice));
}

/// Returns true if a doubt of this member waits for the notice, which is then of no further use. A
/// notice of a member that took part where this one did not becomes one of a broken communicator.
bool FailureWatch::settles_doubt(FailureNotice& notice) {
  if (notice.kind == Kind::kBroken || notice.kind == Kind::kWaits) return false;
  const Kind kind = notice.kind == Kind::kInit ? Kind::kInit : Kind::kArguments;
  const auto doubt = std::ranges::find_if(doubts_, [&](const Doubt& each) {
    return each.kind == kind && each.number == notice.number;
  });
  if (doubt == doubts_.end()) return false;
  if (notice.kind == Kind::kOutcome) {
    notice.kind = Kind::kBroken;
    return false;
  }
  doubt->unheard.erase(notice.origin);
  if (doubt->unheard.empty()) doubts_.erase(doubt);
  return true;
}

bool FailureWatch::in_doubt(std::uint64_t collective) const {
  return std::ranges::any_of(doubts_,
                             [&](const Doubt& doubt) { return doubt.collective < collective; });
}

std::optional<FailureNotice> FailureWatch::end_of(std::uint64_t collective,
                                                  std::uint64_t initialisations,
                                                  bool stalled) const {
  const auto ends = [&](const FailureNotice& notice) {
    switch (notice.kind) {
      case Kind::kArguments:  // of a collective in which this member took part
      case Kind::kBroken:
        return notice.number <= collective;
      case Kind::kOutcome:
        return notice.number == collective && stalled;
      case Kind::kWaits:
        return differs_here(notice);
      case Kind::kInit:  // this member has the request, and counts its starts as collectives
        return notice.number <= initialisations;
      case Kind::kLeft:  // these never come here
      case Kind::kRevoked:
      case Kind::kLost:
        break;
    }
    return false;
  };
  const auto found = std::ranges::find_if(notices_, ends);
  return found == notices_.end() ? std::nullopt : std::optional(*found);
}

/// Returns true if this member has called the collective with other arguments.
bool FailureWatch::differs_here(const FailureNotice& waits) const {
  const Call& call = calls_[waits.number % calls_.size()];
  return call.collective == waits.number && call.signature != 0 && waits.signature != 0 &&
         call.signature != waits.signature;
}

void FailureWatch::drop_before(std::uint64_t collective) {
  std::erase_if(notices_, [&](const FailureNotice& notice) {
    return (notice.kind == Kind::kOutcome || notice.kind == Kind::kWaits) &&
           notice.number < collective;
  });
}

}  // namespace impishim::shim
