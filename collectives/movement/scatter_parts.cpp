// SPDX-License-Identifier: Apache-2.0
#include "collectives/movement/scatter_parts.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

Task scatter_parts(const Team& team, ConstData total, Data part,
                   std::span<const std::uint64_t> counts, std::int32_t root) {
  std::vector<ConstData> parts;
  std::uint64_t begin = 0;
  for (const std::uint64_t count :
       team.membership.rank == root ? counts : std::span<const std::uint64_t>()) {
    parts.push_back(total.elements(begin, count));
    begin += count;
  }
  co_await scatterv(team, parts, part, root);
}

Task scatter_locally(const Team& team, ConstData total, Data part,
                     std::span<const std::uint64_t> counts) {
  std::vector<std::uint64_t> sizes;
  for (const std::uint64_t count : counts)
    sizes.push_back(ConstData{nullptr, count, part.type}.native_bytes());
  const bool at_root = team.membership.local_rank(team.membership.rank) == 0;
  const PackedBlock packed(at_root ? total : ConstData{nullptr, 0, part.type});
  std::optional<Bytes> room;
  std::span<std::byte> target;
  if (ConstData(part).straight()) {
    target = {moved(part.base, part.type->layout->first_offset()), ConstData(part).native_bytes()};
  } else {
    target = room.emplace(ConstData(part).native_bytes()).all();
  }
  co_await team.local.scatterv(packed.bytes(), sizes, target, 0);
  if (room) unpack(room->all(), part);
}

}  // namespace impishim::collectives
