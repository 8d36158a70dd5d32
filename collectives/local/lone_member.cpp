// SPDX-License-Identifier: Apache-2.0
#include "collectives/local/lone_member.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/task.hpp"
#include "collectives/local/message_group.hpp"

namespace impishim::collectives {

Pending& LoneMember::take(std::span<const std::byte> from, std::span<std::byte> to) {
  copy_block(from, to);
  return done_;
}

Pending& LoneMember::reduce(const ConstData& contribution, const Data& result,
                            const Reduction& /*operation*/, std::int32_t /*root*/) {
  return take(contribution, result);
}

Pending& LoneMember::allreduce(const ConstData& contribution, const Data& result,
                               const Reduction& /*operation*/) {
  return take(contribution, result);
}

Pending& LoneMember::reduce_scatter(const ConstData& contribution, const Data& result,
                                    std::span<const std::uint64_t> counts,
                                    const Reduction& /*operation*/) {
  return take(ConstData{contribution.base, counts[0], contribution.type}, result);
}

Pending& LoneMember::scan(const ConstData& contribution, const Data& result,
                          const Reduction& /*operation*/) {
  return take(contribution, result);
}

Pending& LoneMember::gather(std::span<const std::byte> block, std::span<std::byte> all,
                            std::int32_t /*root*/) {
  return take(block, all);
}

Pending& LoneMember::gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                             std::span<const std::uint64_t> /*sizes*/, std::int32_t /*root*/) {
  return take(block, all);
}

Pending& LoneMember::scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                              std::span<std::byte> block, std::int32_t /*root*/) {
  return take(all.first(sizes[0]), block);
}

Pending& LoneMember::allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                std::span<const std::uint64_t> /*sizes*/) {
  return take(block, all);
}

}  // namespace impishim::collectives
