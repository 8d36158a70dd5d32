/// One direction of Allgather: blocks of the members of some clients reach everybody in another
/// group or client.
///
/// Blocks that travel together go from master to master, and from there to the members by one
/// broadcast. Those that travel alone are dealt over the members of the receiving client, so that
/// all of them send and receive at once, and are then gathered there.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "collectives/core/blocks.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// Which of `receivers` members of a client gets block `block` of `blocks` of another: consecutive
/// ones go to one member.
[[nodiscard]] constexpr std::size_t receiver_of(std::size_t block, std::size_t blocks,
                                                std::size_t receivers) {
  return block * receivers / blocks;
}

/// Posts this member's own block, if it travels alone, to each of `targets`. `mine`: the members of
/// its own client.
void post_alone(const Team& team, const ConstData& block, const ClientMembers& mine,
                std::span<const ClientMembers> targets, const BlockRule& rule);

/// What a member receives. Ranks are those of `team`, which messages come through.
class Arrivals {
 public:
  /// `all`: by rank, the first one being `first`. `sources`: who has blocks. `mine`: the members of
  /// this client that get them.
  Arrivals(const Team& team, std::span<const Data> all, std::int32_t first,
           std::vector<ClientMembers> sources, ClientMembers mine, BlockRule rule);
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// Posts what this member receives.
  void post();
  /// After that has come: spreads it among the members of this client; `local` has them in the
  /// order of `mine`.
  Task spread(LocalGroup& local);

 private:
  /// A client's blocks that travel alone, in the order of its ranks, and how many each member of
  /// this client gets.
  struct Dealt {
    std::vector<Data> blocks;
    std::vector<std::int32_t> ranks;
    std::vector<std::uint64_t> shares;
    std::size_t own_begin = 0;
    std::size_t own_end = 0;
  };
  [[nodiscard]] Dealt deal(const ClientMembers& source) const;
  [[nodiscard]] const Data& block(std::int32_t rank) const {
    return all_[static_cast<std::size_t>(rank - first_)];
  }
  Task gather_dealt(LocalGroup& local, const Dealt& dealt) const;

  const Team& team_;
  std::span<const Data> all_;
  std::int32_t first_;
  std::vector<ClientMembers> sources_;
  ClientMembers mine_;
  BlockRule rule_;
  std::size_t me_;
  Bundle together_;
  std::vector<std::uint64_t> together_sizes_;  ///< by source
  std::deque<Dealt> dealt_;
};

}  // namespace impishim::collectives
