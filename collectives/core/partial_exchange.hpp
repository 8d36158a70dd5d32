// SPDX-License-Identifier: Apache-2.0
/// Allreduce among one member of each client: from partial results to the same bits on all of them.
///
/// All functions combine in the order of the participants, so operations need not commute.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"

namespace impishim::collectives {

/// One member of each client, in the order of clients.
struct Participants {
  std::vector<std::int32_t> members;  ///< ranks
  std::size_t me = 0;                 ///< this process's index

  [[nodiscard]] std::size_t size() const { return members.size(); }
};

/// Exchanges segments of partial results among all participants.
class PartialExchange {
 public:
  /// `runs[i]` is the client of the i-th partial result. The partial results of this process lie in
  /// `own` one after another; each has as many elements as `segments`.
  PartialExchange(const Team& team, const Participants& participants,
                  const std::vector<std::int32_t>& runs, const Data& own, const Segments& segments);

  /// Starts sending segment `k`. Segments must be sent in ascending order.
  void send(std::uint64_t k);
  /// Waits for segment `k` and writes its total to that segment of `target`. May overwrite the
  /// segment of `own`. Call it after send(k), in ascending order.
  Task finish(std::uint64_t k, Data target, const Reduction& operation);

 private:
  MemberTransport& leaders_;
  const Participants& participants_;
  Segments segments_;
  std::vector<Data> own_;
  Operands operands_;
  std::vector<std::vector<Pending*>> sends_;  ///< by segment
};

/// Combines by an exchange among all. `sum` holds the own partial result, and at the end the total.
/// `segments` is for the whole data, or for a slice.
Task allreduce_by_exchange(const Team& team, const Participants& participants, Data sum,
                           Segments segments, const Reduction& operation);
/// Combines by recursive doubling. If the number of members is not a power of two, the first
/// members work in pairs.
Task allreduce_by_doubling(const Team& team, const Participants& participants, Data sum,
                           Segments segments, const Reduction& operation);
/// Each member combines its part of the data and sends the result to all others, so each bit is
/// computed once.
Task allreduce_by_parts(const Team& team, const Participants& participants, Data sum,
                        Segments segments, const Reduction& operation);

}  // namespace impishim::collectives
