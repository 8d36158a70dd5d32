// SPDX-License-Identifier: Apache-2.0
/// Long reductions by all members at the same time. The data is divided into slices, as many as the
/// smallest client has members.
#pragma once

#include "collectives/core/partial_exchange.hpp"

namespace impishim::collectives {

/// Returns the number of slices, which is the least number of members of a client. The n-th members
/// of all clients work on slice n together.
[[nodiscard]] std::int32_t slice_count(const Membership& membership);

/// Runs a local reduce_scatter, then an allreduce among the members with the same slice, then a
/// local allgather. For operations that commute.
Task allreduce_in_slices(const Team& team, ConstData contribution, Data result,
                         const Reduction& operation);
/// Runs a local reduce_scatter, sends the slices to the members of the root's client, then runs a
/// local gather. For operations that commute.
Task reduce_in_slices(const Team& team, ConstData contribution, Data result,
                      const Reduction& operation, std::int32_t root);

/// Combines the members' partial results in `sum` to the total on all of them. `form` is kExchange,
/// kDoubling or kScattered.
Task allreduce_among(const Team& team, Form form, const Participants& participants, Data sum,
                     const Reduction& operation);

}  // namespace impishim::collectives
