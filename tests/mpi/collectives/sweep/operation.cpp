// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/operation.hpp"

#include <algorithm>
#include <cstdio>

namespace sweep {
namespace {

std::vector<Block> blocks_of(const std::vector<Part>& parts) {
  std::vector<Block> blocks;
  for (const Part& part : parts) blocks.push_back(part.block);
  return blocks;
}

}  // namespace

void Operation::make_buffers() {
  const auto describe = [&](const char* what, const std::vector<Part>& parts) {
    for (const Part& part : parts)
      text += std::string(", ") + what + " " + std::to_string(part.block.count) + " x " +
              part.block.layout->map.front()->name + "/" +
              (part.block.layout->map.size() > 1 ? part.block.layout->map[1]->name : "") +
              std::to_string(part.block.layout->map.size()) + " (" + part.block.layout->kind +
              ") at " + std::to_string(part.block.at);
  };
  describe("sent", sent);
  describe("present", present);
  describe("received", received);

  std::vector<Block> receive = blocks_of(present);
  const std::vector<Block> results = blocks_of(received);
  receive.insert(receive.end(), results.begin(), results.end());
  receive.insert(receive.end(), open.begin(), open.end());
  send_buffer.emplace(blocks_of(sent));
  receive_buffer.emplace(receive);
  arguments.send = in_place ? MPI_IN_PLACE : send_buffer->address();
  if (arguments.receive != MPI_IN_PLACE) arguments.receive = receive_buffer->address();
}

void Operation::fill(std::uint64_t seed) {
  send_buffer->reset();
  receive_buffer->reset();
  for (const Part& part : sent) send_buffer->put(part.block, part.content(seed));
  for (const Part& part : present) receive_buffer->put(part.block, part.content(seed));
  for (const Block& block : open) receive_buffer->ignore(block);
  for (const Part& part : received) receive_buffer->expect(part.block, part.content(seed));
}

std::string Operation::difference() const {
  const std::string sending = send_buffer->difference();
  if (!sending.empty()) return "send buffer: " + sending;
  const std::string receiving = receive_buffer->difference();
  return receiving.empty() ? receiving : "receive buffer: " + receiving;
}

Root draw_root(Draft& draft) {
  const Space& space = draft.space;
  const bool root_in_first = draft.shared.below(2) == 0;
  const std::uint64_t drawn = draft.shared.next();
  if (!space.inter()) {
    const int rank = static_cast<int>(drawn % space.members.size());
    return {rank, rank, rank == space.rank, false};
  }
  if (root_in_first != space.first_group()) {
    const int rank = static_cast<int>(drawn % space.remote.size());
    return {rank, rank, false, false};
  }
  const int rank = static_cast<int>(drawn % space.members.size());
  const bool is_root = rank == space.rank;
  return {rank, is_root ? MPI_ROOT : MPI_PROC_NULL, is_root, !is_root};
}

bool draw_in_place(Draft& draft) {
  const bool drawn = draft.shared.below(3) == 0;
  draft.operation.drawn_in_place = drawn && !draft.space.inter();
  return draft.operation.drawn_in_place;
}

namespace {

bool has_holes(const Basic* type) { return std::ranges::count(type->mask, 0) > 0; }

std::size_t draw_repeats(Draft& draft, const std::vector<const Basic*>& pattern, int blocks) {
  constexpr std::size_t kRepeats[] = {0, 6, 6, 12, 12, 60, 300, 1200};
  const std::size_t drawn = kRepeats[draft.shared.below(std::size(kRepeats))];
  // MPICH 4.0.2 copies inside a process by pieces of 16 KiB, wrongly so if they cut an element.
  const bool uneven = pattern.size() > 1 || has_holes(pattern.front());
  // Both libraries fail to unpack longer elements than 16 bytes of which a long message's fragments
  // cut one: MPICH tells of a truncation, Open MPI 4.1 overruns a buffer of 16 bytes.
  const bool wide = std::ranges::any_of(pattern, [](const Basic* type) { return type->size > 16; });
  if (wide) return std::min<std::size_t>(drawn, 12);
  if (draft.space.native && uneven) return std::min<std::size_t>(drawn, 60);
  std::size_t bytes = 0;
  for (const Basic* type : pattern) bytes += type->size;
  return draft.big ? (std::size_t{4} << 20) / bytes /
                         static_cast<std::size_t>(std::max(blocks, 1)) / 6 * 6
                   : drawn;
}

}  // namespace

Payload draw_payload(Draft& draft, int blocks) {
  Payload payload;
  const auto draw = [&] { return &basics()[draft.shared.below(basics().size())]; };
  payload.pattern.push_back(draw());
  if (draft.shared.below(3) == 0) payload.pattern.push_back(draw());
  payload.repeats = draw_repeats(draft, payload.pattern, blocks);
  return payload;
}

Part part(const Block& block, const Payload& payload, int from, int to) {
  const std::size_t elements = block.count * block.layout->map.size();
  return {block, [=, pattern = payload.pattern](std::uint64_t seed) {
            const auto sender = static_cast<std::uint64_t>(from + 1);
            return content(pattern, elements,
                           mix(mix(seed, sender), static_cast<std::uint64_t>(to + 2)), Op::kMove);
          }};
}

}  // namespace sweep
