/// Allreduce among one member of each client: from partial results to the same bits everywhere.
///
/// All of it combines in the order of the circle, so that operations need not commute.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"

namespace impishim::collectives {

/// One member of each client, in the order of clients.
struct Circle {
  std::vector<std::int32_t> members;  ///< ranks
  std::size_t me = 0;                 ///< this process's place

  [[nodiscard]] std::size_t size() const { return members.size(); }
};

/// Swaps segments of everybody's partial results with everybody.
class Exchange {
 public:
  /// `runs[i]`: client of the i-th of all partial results. Those of this process lie in `own` one
  /// after another, each of as many elements as `segments` has.
  Exchange(const Team& team, const Circle& circle, const std::vector<std::int32_t>& runs,
           const Data& own, const Segments& segments);

  /// Starts to send segment `k`; in ascending order.
  void send(std::uint64_t k);
  /// Waits for it and writes the total to `target`'s segment; may change `own`'s. After send(k), in
  /// ascending order.
  Task finish(std::uint64_t k, Data target, const Reduction& operation);

 private:
  LeaderGroup& leaders_;
  const Circle& circle_;
  Segments segments_;
  std::vector<Data> own_;
  Operands operands_;
  std::vector<std::vector<Pending*>> sends_;  ///< by segment
};

/// `sum`: one's own partial result, in the end the total. Segments as for the whole data, or for a
/// slice of it.
Task allreduce_by_exchange(const Team& team, const Circle& circle, Data sum, Segments segments,
                           const Reduction& operation);
/// Recursive doubling; without a power of two the first ones work in pairs.
Task allreduce_by_doubling(const Team& team, const Circle& circle, Data sum, Segments segments,
                           const Reduction& operation);
/// Everybody combines its part of the data and sends the result to all others: each bit of it is
/// computed once.
Task allreduce_by_parts(const Team& team, const Circle& circle, Data sum, Segments segments,
                        const Reduction& operation);

}  // namespace impishim::collectives
