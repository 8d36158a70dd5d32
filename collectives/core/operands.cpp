// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/operands.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

Segments::Segments(const ConstData& data, const Limits& limits)
    : count(data.count),
      length(segment_elements(data.count, data.type->layout->packed_size(transit_format(limits)),
                              limits)),
      whole_(limits.impi_only) {}

void post_send_segments(MemberTransport& leaders, std::int32_t to, std::int32_t tag,
                        const ConstData& data, const Segments& segments) {
  for (std::uint64_t k = 0; k < segments.number(); ++k)
    leaders.post_send(to, tag, segments.of(data, k));
}

void post_receive_segments(MemberTransport& leaders, std::int32_t from, std::int32_t tag,
                           const Data& data, const Segments& segments) {
  for (std::uint64_t k = 0; k < segments.number(); ++k)
    leaders.post_receive(from, tag, segments.of(data, k));
}

Operands::Operands(MemberTransport& leaders, std::int32_t tag, std::vector<Operand> operands,
                   const ElementType& type, const Segments& segments)
    : leaders_(leaders),
      tag_(tag),
      operands_(std::move(operands)),
      segments_(segments),
      arrivals_(operands_.size()) {
  const std::uint64_t slots = std::min(kSegmentsUnderWay, segments.number());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].from < 0) continue;
    arrivals_[i].room = TypedRoom(type, std::min(slots * segments.length, segments.count));
    arrivals_[i].receives.resize(slots);
  }
  for (std::uint64_t k = 0; k < slots; ++k) post_receives(k);
}

Data Operands::segment(std::size_t operand, std::uint64_t k) const {
  if (operands_[operand].from < 0) return segments_.of(operands_[operand].own, k);
  return arrivals_[operand].room.data().elements((k % kSegmentsUnderWay) * segments_.length,
                                                 segments_.elements_in(k));
}

void Operands::post_receives(std::uint64_t k) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].from < 0) continue;
    arrivals_[i].receives[k % kSegmentsUnderWay] =
        &leaders_.post_receive(operands_[i].from, tag_, segment(i, k));
  }
}

Task Operands::combine(std::uint64_t k, Data target, const Reduction& operation) {
  for (const Arrival& arrival : arrivals_) {
    if (!arrival.receives.empty()) co_await *arrival.receives[k % kSegmentsUnderWay];
  }
  const Data sum = segment(operands_.size() - 1, k);
  for (std::size_t i = operands_.size() - 1; i-- > 0;)
    operation.combine(segment(i, k).base, sum.base, sum.count);
  copy(sum, segments_.of(target, k));
  if (k + kSegmentsUnderWay < segments_.number()) post_receives(k + kSegmentsUnderWay);
}

}  // namespace impishim::collectives
