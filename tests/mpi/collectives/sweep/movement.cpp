// SPDX-License-Identifier: Apache-2.0
// Barrier, and the functions that move data: what every process passes, and what must arrive.
#include <cstdlib>

#include "tests/mpi/collectives/sweep/operation.hpp"

namespace sweep {
namespace {

constexpr int kAll = -1;

/// Repeats that go from `from` to `to`: a number of times those of the payload. `key` is one of the
/// operation's.
std::size_t amount(const Payload& payload, std::uint64_t key, int from, int to) {
  const std::uint64_t drawn =
      mix(mix(key, static_cast<std::uint64_t>(from + 1)), static_cast<std::uint64_t>(to + 2));
  constexpr std::size_t kTimes[] = {0, 1, 1, 2};
  return payload.repeats * kTimes[drawn % 4];
}

/// Arguments of the side that is not looked at are wrong ones, so that looking at them shows.
void spoil(Draft& draft, bool sending) {
  Arguments& arguments = draft.operation.arguments;
  if (draft.plain) {  // the vendor does look at them
    (sending ? arguments.send_type : arguments.receive_type) = MPI_INT;
    return;
  }
  (sending ? arguments.send_count : arguments.receive_count) = -1;
  (sending ? arguments.send_type : arguments.receive_type) = MPI_DATATYPE_NULL;
}

void bcast(Draft& draft) {
  const Root root = draw_root(draft);
  const Payload payload = draw_payload(draft, 1);
  draft.operation.arguments.root = root.argument;
  if (root.bystander) return spoil(draft, false);
  const Block block = one_block(draft, payload, payload.repeats, false);
  auto& parts = root.is_root ? draft.operation.present : draft.operation.received;
  parts.push_back(part(block, payload, root.rank, kAll));
}

/// What a rooted operation with counts for everybody is about.
struct Rooted {
  Root root;
  Payload payload;
  bool in_place;  ///< at the root
  bool is_end;    ///< this process is one that a block comes from or goes to
  Spread spread;
  std::uint64_t key;

  [[nodiscard]] std::size_t amount_of(int rank) const {
    return spread == Spread::kEqual ? payload.repeats : amount(payload, key, rank, 0);
  }
  [[nodiscard]] std::vector<std::size_t> amounts(int count) const {
    std::vector<std::size_t> all;
    for (int rank = 0; rank < count; ++rank) all.push_back(amount_of(rank));
    return all;
  }
};

Rooted draw_rooted(Draft& draft, Spread spread) {
  const Root root = draw_root(draft);
  const Payload payload = draw_payload(draft, draft.space.size() + draft.space.peers());
  const bool in_place = draw_in_place(draft) && root.is_root;
  const std::uint64_t key = draft.shared.next();
  const bool is_end = !in_place && (!draft.space.inter() || (!root.is_root && !root.bystander));
  draft.operation.arguments.root = root.argument;
  return {root, payload, in_place, is_end, spread, key};
}

void gather(Draft& draft, Spread spread) {
  const Rooted about = draw_rooted(draft, spread);
  Operation& operation = draft.operation;
  operation.in_place = about.in_place;
  if (about.is_end) {
    const Block block = one_block(draft, about.payload, about.amount_of(draft.space.rank), true);
    operation.sent.push_back(part(block, about.payload, draft.space.rank, kAll));
  } else {
    spoil(draft, true);
  }
  if (!about.root.is_root) return spoil(draft, false);
  const auto blocks =
      many_blocks(draft, about.payload, about.amounts(draft.space.peers()), spread, false);
  for (int from = 0; from < draft.space.peers(); ++from) {
    const bool own = about.in_place && from == draft.space.rank;
    (own ? operation.present : operation.received)
        .push_back(part(blocks[static_cast<std::size_t>(from)], about.payload, from, kAll));
  }
}

void scatter(Draft& draft, Spread spread) {
  const Rooted about = draw_rooted(draft, spread);
  Operation& operation = draft.operation;
  if (about.in_place) operation.arguments.receive = MPI_IN_PLACE;
  if (about.is_end) {
    const Block block = one_block(draft, about.payload, about.amount_of(draft.space.rank), false);
    operation.received.push_back(part(block, about.payload, about.root.rank, draft.space.rank));
  } else {
    spoil(draft, false);
  }
  if (!about.root.is_root) return spoil(draft, true);
  const auto blocks =
      many_blocks(draft, about.payload, about.amounts(draft.space.peers()), spread, true);
  for (int to = 0; to < draft.space.peers(); ++to) {
    operation.sent.push_back(
        part(blocks[static_cast<std::size_t>(to)], about.payload, about.root.rank, to));
  }
}

/// What this process sends and what it gets: between groups each direction has its own.
struct Directions {
  Payload to;
  Payload from;
  std::uint64_t to_key;
  std::uint64_t from_key;
};

Directions draw_directions(Draft& draft, int blocks) {
  const Payload first = draw_payload(draft, blocks);
  const Payload second = draw_payload(draft, blocks);
  const std::uint64_t key = draft.shared.next();
  if (!draft.space.inter()) return {first, first, key, key};
  if (draft.space.first_group()) return {first, second, key, key + 1};
  return {second, first, key + 1, key};
}

/// Tells the contents of the two directions of an intercommunicator apart.
int sender(const Draft& draft, int rank, bool own_group) {
  return draft.space.inter() && draft.space.first_group() != own_group ? rank + 1000 : rank;
}

void allgather(Draft& draft, Spread spread) {
  const Space& space = draft.space;
  const Directions about = draw_directions(draft, space.size() + space.peers());
  Operation& operation = draft.operation;
  operation.in_place = draw_in_place(draft);
  const auto amount_of = [&](const Payload& payload, std::uint64_t key, int rank) {
    return spread == Spread::kEqual ? payload.repeats : amount(payload, key, rank, 0);
  };
  if (operation.in_place) {
    spoil(draft, true);
  } else {
    const Block block =
        one_block(draft, about.to, amount_of(about.to, about.to_key, space.rank), true);
    operation.sent.push_back(part(block, about.to, sender(draft, space.rank, true), kAll));
  }
  std::vector<std::size_t> amounts;
  for (int from = 0; from < space.peers(); ++from)
    amounts.push_back(amount_of(about.from, about.from_key, from));
  const auto blocks = many_blocks(draft, about.from, amounts, spread, false);
  for (int from = 0; from < space.peers(); ++from) {
    auto& parts = operation.in_place && from == space.rank ? operation.present : operation.received;
    parts.push_back(
        part(blocks[static_cast<std::size_t>(from)], about.from, sender(draft, from, false), kAll));
  }
}

void alltoall_in_place(Draft& draft, Spread spread) {
  const Space& space = draft.space;
  const Payload payload = draw_payload(draft, space.size());
  const std::uint64_t key = draft.shared.next();
  draft.operation.in_place = true;
  spoil(draft, true);
  // What two processes exchange has the same type map on both sides.
  Random same = draft.shared;
  std::vector<Item> items(space.members.size(), draw_item(same, payload, draft.plain));
  std::vector<std::size_t> amounts;
  for (int peer = 0; peer < space.size(); ++peer) {
    const auto [low, high] = std::minmax(peer, space.rank);
    amounts.push_back(spread == Spread::kEqual ? payload.repeats : amount(payload, key, low, high));
    Random pair(
        mix(mix(key, static_cast<std::uint64_t>(low)), static_cast<std::uint64_t>(high) + 500));
    if (spread == Spread::kTypes)
      items[static_cast<std::size_t>(peer)] = draw_item(pair, payload, draft.plain);
  }
  const auto blocks = place_blocks(draft, items, amounts, spread, false);
  for (int peer = 0; peer < space.size(); ++peer) {
    const Block& block = blocks[static_cast<std::size_t>(peer)];
    draft.operation.present.push_back(part(block, payload, space.rank, peer));
    draft.operation.received.push_back(part(block, payload, peer, space.rank));
  }
}

void alltoall(Draft& draft, Spread spread) {
  const Space& space = draft.space;
  if (draw_in_place(draft)) return alltoall_in_place(draft, spread);
  const Directions about = draw_directions(draft, space.size() + space.peers());
  const auto amount_of = [&](const Payload& payload, std::uint64_t key, int from, int to) {
    return spread == Spread::kEqual ? payload.repeats : amount(payload, key, from, to);
  };
  std::vector<std::size_t> to;
  std::vector<std::size_t> from;
  for (int peer = 0; peer < space.peers(); ++peer) {
    to.push_back(amount_of(about.to, about.to_key, space.rank, peer));
    from.push_back(amount_of(about.from, about.from_key, peer, space.rank));
  }
  const auto sent = many_blocks(draft, about.to, to, spread, true);
  const auto received = many_blocks(draft, about.from, from, spread, false);
  for (int peer = 0; peer < space.peers(); ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    draft.operation.sent.push_back(part(sent[i], about.to, sender(draft, space.rank, true), peer));
    draft.operation.received.push_back(
        part(received[i], about.from, sender(draft, peer, false), space.rank));
  }
}

}  // namespace

void draft_movement(Draft& draft) {
  switch (draft.operation.function) {
    case Function::kBarrier:
      return;
    case Function::kBcast:
      return bcast(draft);
    case Function::kGather:
      return gather(draft, Spread::kEqual);
    case Function::kGatherv:
      return gather(draft, Spread::kCounts);
    case Function::kScatter:
      return scatter(draft, Spread::kEqual);
    case Function::kScatterv:
      return scatter(draft, Spread::kCounts);
    case Function::kAllgather:
      return allgather(draft, Spread::kEqual);
    case Function::kAllgatherv:
      return allgather(draft, Spread::kCounts);
    case Function::kAlltoall:
      return alltoall(draft, Spread::kEqual);
    case Function::kAlltoallv:
      return alltoall(draft, Spread::kCounts);
    case Function::kAlltoallw:
      return alltoall(draft, Spread::kTypes);
    default:
      std::abort();
  }
}

}  // namespace sweep
