// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/options.hpp"

#include <array>

#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray {

Statistics total(const Communicator& communicator, const Statistics& statistics) {
  agree_on(communicator, Checks::kOn, [] { return CollectiveCall("total of statistics"); });
  Statistics sum = statistics;
  std::array<Index*, 10> fields{&sum.messages,       &sum.bytes,       &sum.received_messages,
                                &sum.received_bytes, &sum.local_bytes, &sum.crossing_messages,
                                &sum.crossing_bytes, &sum.peers,       &sum.workspace_bytes,
                                &sum.direct_bytes};
  std::array<Index, 10> values{};
  for (std::size_t k = 0; k < fields.size(); ++k) values[k] = *fields[k];
  all_reduce(communicator, element_of<Index>(), values.data(), static_cast<Index>(values.size()),
             Combine::kSum);
  for (std::size_t k = 0; k < fields.size(); ++k) *fields[k] = values[k];
  return sum;
}

}  // namespace impishim::darray
