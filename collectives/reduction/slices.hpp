/// Long reductions by all members at once: the data is cut into slices, one for each of as many
/// members as every client has.
#pragma once

#include "collectives/core/circle.hpp"

namespace impishim::collectives {

/// The n-th members of all clients, n below this, work on slice n together: least number of members
/// of a client.
[[nodiscard]] std::int32_t slice_count(const Shape& shape);

/// Local reduce_scatter; members with the same slice agree on its total; local allgather. For
/// operations that commute.
Task allreduce_in_slices(const Team& team, ConstData contribution, Data result,
                         const Reduction& operation);
/// Local reduce_scatter; slices go to the members of the root's client; local gather. For
/// operations that commute.
Task reduce_in_slices(const Team& team, ConstData contribution, Data result,
                      const Reduction& operation, std::int32_t root);

/// From the members' partial results in `sum` to the total in all of them, by `form`: kExchange,
/// kDoubling or kScattered.
Task allreduce_among(const Team& team, Form form, const Circle& circle, Data sum,
                     const Reduction& operation);

}  // namespace impishim::collectives
