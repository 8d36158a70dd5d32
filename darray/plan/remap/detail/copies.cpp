// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/remap/detail/copies.hpp"

#include <algorithm>

namespace impishim::darray {
namespace {

// If all processes are in one system and a piece has at most this many copies, the sources send to
// each copy directly.
constexpr std::size_t kDirect = 2;

}  // namespace

int nearest_copy(const Distribution& layout, int primary, int reader, const Systems& systems) {
  if (!layout.is_replicated() || primary == reader) return primary;
  const std::vector<int> copies = layout.copies(primary);
  if (std::ranges::find(copies, reader) != copies.end()) return reader;
  std::vector<int> near;
  std::ranges::copy_if(copies, std::back_inserter(near),
                       [&](int copy) { return !systems.crosses(copy, reader); });
  const std::vector<int>& choice = near.empty() ? copies : near;
  return choice[static_cast<std::size_t>(reader) % choice.size()];
}

std::vector<int> receiving_copies(const Distribution& layout, int primary, const Systems& systems) {
  if (!layout.is_replicated()) return {primary};
  const std::vector<int> copies = layout.copies(primary);
  if (systems.count() == 1)
    return copies.size() <= kDirect ? copies : std::vector<int>{copies.front()};
  std::vector<int> receivers;
  for (const int copy : copies) {
    if (std::ranges::none_of(receivers, [&](int other) { return !systems.crosses(copy, other); }))
      receivers.push_back(copy);
  }
  return receivers;
}

std::optional<Spreading> spreading(const Distribution& layout, int rank, const Systems& systems) {
  if (!layout.is_replicated()) return std::nullopt;
  const int primary = layout.primary(rank);
  std::vector<int> members = layout.copies(primary);
  std::erase_if(members, [&](int copy) { return systems.crosses(copy, rank); });
  std::vector<int> roots = receiving_copies(layout, primary, systems);
  std::erase_if(roots, [&](int copy) { return systems.crosses(copy, rank); });
  if (roots.size() == members.size()) return std::nullopt;
  std::sort(members.begin(), members.end());
  return Spreading{roots.front(), std::move(members)};
}

}  // namespace impishim::darray
