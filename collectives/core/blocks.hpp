// SPDX-License-Identifier: Apache-2.0
/// The way in which the blocks of gather, scatter and allgather travel. Short blocks of one client
/// travel together, in one message from its master. Long blocks travel alone, directly between the
/// processes that know them.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/groups.hpp"
#include "collectives/core/members.hpp"
#include "collectives/core/packed_blocks.hpp"

namespace impishim::collectives {

/// The rule that both sender and receiver of a block apply.
class BlockRule {
 public:
  /// Decides by the block's size, which both sides know, and by the operation's row in
  /// form_table.hpp. `tag` is IMPI's tag for blocks that travel together in IMPI's form.
  BlockRule(const Team& team, Collective collective, std::int32_t tag)
      : limits_(&team.limits),
        clients_(team.membership.client_count()),
        collective_(collective),
        tag_(team.limits.impi_only ? tag : kTogetherTag) {}
  /// Treats all blocks alike.
  BlockRule(const Team& team, bool alone) : limits_(&team.limits), always_(alone) {}

  [[nodiscard]] bool alone(const ConstData& block) const {
    if (limits_->impi_only || block.count == 0) return false;
    if (always_) return *always_ && block.external_bytes() > 0;
    return choose(collective_, clients_, block.external_bytes(), *limits_) == Form::kDirect &&
           block.external_bytes() > 0;
  }
  [[nodiscard]] wire::Format format() const { return transit_format(*limits_); }
  [[nodiscard]] std::int32_t tag() const { return tag_; }

 private:
  const Limits* limits_;
  std::int32_t clients_ = 0;
  Collective collective_ = Collective::kGather;
  std::int32_t tag_ = kTogetherTag;
  std::optional<bool> always_;
};

[[nodiscard]] inline bool is_empty(const ConstData& block) {
  return block.count == 0 || block.external_bytes() == 0;
}

/// Returns the blocks of `ranks` that travel together. `all` is indexed by rank, starting with rank
/// `first`.
template <class Block>
[[nodiscard]] std::vector<Block> together(std::span<const Block> all, std::int32_t first,
                                          std::span<const std::int32_t> ranks,
                                          const BlockRule& rule) {
  std::vector<Block> blocks;
  blocks.reserve(ranks.size());
  for (const std::int32_t rank : ranks) {
    const Block& block = all[static_cast<std::size_t>(rank - first)];
    if (!rule.alone(block)) blocks.push_back(block);
  }
  return blocks;
}

/// The number of bytes that each member of the own client has or gets. Until tell_master() is done,
/// this member's own size stands for all sizes.
class MemberSizes {
 public:
  MemberSizes(const Team& group, std::uint64_t own)
      : group_(group), own_(own), sizes_(group.membership.spanning_ranks.size(), own) {}
  /// Starts a local phase after which the master knows all sizes.
  [[nodiscard]] Pending& tell_master() {
    const bool is_master = group_.membership.local_rank(group_.membership.rank) == 0;
    const auto room = std::as_writable_bytes(std::span(sizes_));
    return group_.local.gather(std::as_bytes(std::span(&own_, 1)),
                               room.first(is_master ? room.size() : 0), 0);
  }
  [[nodiscard]] std::span<const std::uint64_t> all() const { return sizes_; }
  [[nodiscard]] std::uint64_t total() const {
    return std::accumulate(sizes_.begin(), sizes_.end(), std::uint64_t{0});
  }

 private:
  const Team& group_;
  std::uint64_t own_;
  std::vector<std::uint64_t> sizes_;
};

}  // namespace impishim::collectives
