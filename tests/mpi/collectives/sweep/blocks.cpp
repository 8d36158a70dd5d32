// SPDX-License-Identifier: Apache-2.0
// Where the blocks of an operation lie, and the arguments that say so.
#include "tests/mpi/collectives/sweep/operation.hpp"

namespace sweep {
namespace {

/// One after another in any order, with gaps between them; displacements in extents.
std::vector<Block> spread_by_counts(Random& random, const std::vector<Block>& sizes) {
  std::vector<Block> blocks = sizes;
  auto next = static_cast<std::ptrdiff_t>(random.below(6)) - 3;
  for (const std::size_t i : shuffled(sizes.size(), random)) {
    blocks[i].at = next * blocks[i].layout->extent;
    next += static_cast<std::ptrdiff_t>(blocks[i].count + random.below(3));
  }
  return blocks;
}

/// The same with a layout for each of them; displacements in bytes.
std::vector<Block> spread_by_types(Random& random, const std::vector<Block>& sizes) {
  std::vector<Block> blocks = sizes;
  std::ptrdiff_t next = 0;
  for (const std::size_t i : shuffled(sizes.size(), random)) {
    const std::ptrdiff_t room_before = (blocks[i].at - blocks[i].begin() + 15) / 16 * 16;
    blocks[i].at = next + room_before;
    next = (blocks[i].end() + 15) / 16 * 16 + static_cast<std::ptrdiff_t>(16 * random.below(3));
  }
  return blocks;
}

void set_arguments(Arguments& arguments, const std::vector<Block>& blocks, Spread spread,
                   bool sending) {
  Counts& counts = sending ? arguments.send_counts : arguments.receive_counts;
  Displacements& displacements =
      sending ? arguments.send_displacements : arguments.receive_displacements;
  auto& types = sending ? arguments.send_types : arguments.receive_types;
  types.assign(1, MPI_DATATYPE_NULL);
  for (const Block& block : blocks) {
    counts.add(static_cast<std::int64_t>(block.count));
    displacements.add(spread == Spread::kTypes ? block.at : block.at / block.layout->extent);
    types.back() = block.layout->handle;
    types.push_back(MPI_DATATYPE_NULL);
  }
  if (blocks.empty()) return;
  (sending ? arguments.send_count : arguments.receive_count) =
      static_cast<int>(blocks.front().count);
  (sending ? arguments.send_type : arguments.receive_type) = blocks.front().layout->handle;
}

}  // namespace

Item draw_item(Random& random, const Payload& payload, bool plain) {
  if (payload.pattern.size() == 1 && random.below(3) == 0)
    return {&layouts().single(*payload.pattern.front()), 1};
  if (plain) return {&layouts().ascending(payload.pattern), 1};
  constexpr int kRepeats[] = {1, 2, 3, 6};
  const int repeats = kRepeats[random.below(4)];
  return {&layouts().derived(payload.pattern, repeats, random), static_cast<std::size_t>(repeats)};
}

Block one_block(Draft& draft, const Payload& payload, std::size_t amount, bool sending) {
  const Item item = draw_item(draft.own, payload, draft.plain);
  return place_blocks(draft, {item}, {amount}, Spread::kEqual, sending).front();
}

std::vector<Block> many_blocks(Draft& draft, const Payload& payload,
                               const std::vector<std::size_t>& amounts, Spread spread,
                               bool sending) {
  std::vector<Item> items(amounts.size(), draw_item(draft.own, payload, draft.plain));
  if (spread == Spread::kTypes) {
    for (Item& item : items) item = draw_item(draft.own, payload, draft.plain);
  }
  return place_blocks(draft, items, amounts, spread, sending);
}

std::vector<Block> place_blocks(Draft& draft, const std::vector<Item>& items,
                                const std::vector<std::size_t>& amounts, Spread spread,
                                bool sending) {
  std::vector<Block> blocks(amounts.size());
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const std::size_t count = amounts[i] / items[i].repeats;
    blocks[i] = {items[i].layout, count,
                 static_cast<std::ptrdiff_t>(i * count) * items[i].layout->extent};
  }
  if (spread == Spread::kCounts) blocks = spread_by_counts(draft.own, blocks);
  if (spread == Spread::kTypes) blocks = spread_by_types(draft.own, blocks);
  set_arguments(draft.operation.arguments, blocks, spread, sending);
  return blocks;
}

}  // namespace sweep
