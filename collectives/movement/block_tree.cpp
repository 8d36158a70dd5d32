// SPDX-License-Identifier: Apache-2.0
#include "collectives/movement/block_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "collectives/core/blocks.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/members.hpp"
#include "collectives/core/packed_blocks.hpp"
#include "collectives/core/pattern.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {
namespace {

/// The tree of clients, and the places of their blocks when all blocks lie one after another, with
/// the root's client first.
class Tree {
 public:
  Tree(const Membership& membership, std::int32_t root)
      : membership_(membership),
        root_(root),
        clients_(membership.client_count()),
        root_client_(membership.client_of(root)) {
    const auto members = by_client(membership);
    for (std::int32_t node = 0; node < clients_; ++node) {
      const auto& ranks =
          members[static_cast<std::size_t>(from_virtual(node, root_client_, clients_))].ranks;
      first_block_.push_back(rank_at_.size());
      rank_at_.insert(rank_at_.end(), ranks.begin(), ranks.end());
    }
    first_block_.push_back(rank_at_.size());
  }

  [[nodiscard]] std::int32_t me() const {
    return to_virtual(membership_.my_client(), root_client_, clients_);
  }
  [[nodiscard]] std::int32_t speaker(std::int32_t node) const {
    return membership_.speaker(from_virtual(node, root_client_, clients_), root_);
  }
  [[nodiscard]] std::vector<std::int32_t> children() const {
    return binomial_children(me(), clients_);
  }
  /// Returns the ranks in the subtree of `node`, in the order in which their blocks travel.
  [[nodiscard]] std::span<const std::int32_t> ranks_below(std::int32_t node) const {
    const std::size_t begin = first_block(node);
    return std::span(rank_at_).subspan(begin, first_block(binomial_end(node, clients_)) - begin);
  }
  /// Returns the part of this node's blocks that belongs to a child.
  [[nodiscard]] std::span<std::byte> part(std::span<std::byte> blocks, std::int32_t child,
                                          std::uint64_t block_size) const {
    return blocks.subspan((first_block(child) - first_block(me())) * block_size,
                          ranks_below(child).size() * block_size);
  }

 private:
  [[nodiscard]] std::size_t first_block(std::int32_t node) const {
    return first_block_[static_cast<std::size_t>(node)];
  }

  const Membership& membership_;
  std::int32_t root_;
  std::int32_t clients_;
  std::int32_t root_client_;
  std::vector<std::size_t> first_block_;
  std::vector<std::int32_t> rank_at_;
};

}  // namespace

Task gather_through_tree(const Team& team, std::span<const std::byte> own, std::uint64_t block_size,
                         std::int32_t root, const BlockRule& rule) {
  const Tree tree(team.membership, root);
  const Bytes blocks(tree.ranks_below(tree.me()).size() * block_size);
  if (!own.empty()) std::memcpy(blocks.all().data(), own.data(), own.size());
  for (const std::int32_t child : tree.children()) {
    post_room(team, tree.speaker(child), rule.tag(), tree.part(blocks.all(), child, block_size));
  }
  co_await team.leaders.all_posted();
  post_bytes(team, tree.speaker(binomial_parent(tree.me())), rule.tag(), blocks.all());
  co_await team.leaders.all_posted();
}

Task collect_from_tree(const Team& team, std::span<const Data> all, std::int32_t root,
                       const BlockRule& rule) {
  const Tree tree(team.membership, root);
  std::deque<PackedBlocks> all_packed_blocks;
  for (const std::int32_t child : tree.children()) {
    all_packed_blocks.emplace_back(together(all, 0, tree.ranks_below(child), rule), rule.format());
    post_room(team, tree.speaker(child), rule.tag(), all_packed_blocks.back().room());
  }
  co_await team.leaders.all_posted();
  for (PackedBlocks& packed_blocks : all_packed_blocks) co_await packed_blocks.unpack();
}

Task scatter_through_tree(const Team& team, std::span<std::byte> own, std::uint64_t block_size,
                          std::int32_t root, const BlockRule& rule) {
  const Tree tree(team.membership, root);
  const Bytes blocks(tree.ranks_below(tree.me()).size() * block_size);
  post_room(team, tree.speaker(binomial_parent(tree.me())), rule.tag(), blocks.all());
  co_await team.leaders.all_posted();
  const auto children = tree.children();
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    post_bytes(team, tree.speaker(*child), rule.tag(), tree.part(blocks.all(), *child, block_size));
  }
  if (!own.empty()) std::memcpy(own.data(), blocks.all().data(), own.size());
  co_await team.leaders.all_posted();
}

Task distribute_to_tree(const Team& team, std::span<const ConstData> all, std::int32_t root,
                        const BlockRule& rule) {
  const Tree tree(team.membership, root);
  std::deque<ConstPackedBlocks> all_packed_blocks;
  const auto children = tree.children();
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    const auto blocks = together(all, 0, tree.ranks_below(*child), rule);
    co_await all_packed_blocks.emplace_back(blocks, rule.format()).packed();
    post_bytes(team, tree.speaker(*child), rule.tag(), all_packed_blocks.back().bytes());
  }
  co_await team.leaders.all_posted();
}

}  // namespace impishim::collectives
