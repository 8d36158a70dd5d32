// SPDX-License-Identifier: Apache-2.0
#include "collectives/core/packed_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/select.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::collectives {
namespace {

/// Returns the part of the user's memory that holds all blocks one after another in `format`, or
/// nothing if there is no such memory.
template <class Block>
auto adjacent(std::span<const Block> blocks, wire::Format format)
    -> std::optional<std::span<std::remove_pointer_t<decltype(Block::base)>>> {
  using Byte = std::remove_pointer_t<decltype(Block::base)>;
  std::span<Byte> memory;
  for (const Block& block : blocks) {
    const std::uint64_t size = packed_bytes(block, format);
    if (size == 0) continue;
    const wire::TypeLayout& layout = *block.type->layout;
    if (format != wire::Format::kNative || !layout.contiguous(block.count)) return std::nullopt;
    Byte* const begin = moved(block.base, layout.first_offset());
    if (!memory.empty() && begin != memory.data() + memory.size()) return std::nullopt;
    memory = {memory.empty() ? begin : memory.data(), memory.size() + size};
  }
  return memory;
}

template <class Block>
std::uint64_t total(std::span<const Block> blocks, wire::Format format) {
  std::uint64_t sum = 0;
  for (const Block& block : blocks) sum += packed_bytes(block, format);
  return sum;
}

Result<void> pack_all(std::span<const ConstData> blocks, wire::Format format,
                      std::span<std::byte> out) {
  Result<void> first;
  for (const ConstData& block : blocks) {
    const std::uint64_t size = packed_bytes(block, format);
    if (size == 0) continue;
    wire::PackCursor cursor(block.buffer(), format);
    const auto packed = cursor.pack(out.first(size));
    if (!packed && first.ok()) first = packed.error();
    out = out.subspan(size);
  }
  return first;
}

Result<void> unpack_all(std::span<const Data> blocks, wire::Format format,
                        std::span<const std::byte> in) {
  Result<void> first;
  for (const Data& block : blocks) {
    const std::uint64_t size = packed_bytes(block, format);
    if (size == 0) continue;
    wire::UnpackCursor cursor(block.buffer(), format);
    const auto unpacked = cursor.unpack(in.first(size));
    if (!unpacked.ok() && first.ok()) first = unpacked;
    in = in.subspan(size);
  }
  return first;
}

std::uint64_t piece_size(const Limits& limits, std::uint64_t bytes) {
  return limits.impi_only ? bytes : std::min<std::uint64_t>(limits.overrides.segment, bytes);
}

}  // namespace

wire::Format transit_format(const Limits& limits) {
  if (limits.same_representation || limits.as_lam) return wire::Format::kNative;
  return limits.impi_only ? wire::Format::kExternal32 : wire::Format::kWide;
}

ConstPackedBlocks::ConstPackedBlocks(std::span<const ConstData> blocks, wire::Format format) {
  if (const auto memory = adjacent(blocks, format)) {
    bytes_ = *memory;
    return;
  }
  copy_.emplace(total(blocks, format));
  bytes_ = copy_->all();
  packed_ = pack_all(blocks, format, copy_->all());
}

PackedBlocks::PackedBlocks(std::vector<Data> blocks, wire::Format format)
    : blocks_(std::move(blocks)), format_(format) {
  const std::span<const Data> all = blocks_;
  if (const auto memory = adjacent(all, format)) {
    room_ = *memory;
    return;
  }
  copy_.emplace(total(all, format));
  room_ = copy_->all();
}

Result<void> PackedBlocks::unpack() {
  return copy_ ? unpack_all(blocks_, format_, room_) : Result<void>();
}

Result<void> PackedBlocks::pack() {
  if (!copy_) return {};
  const std::vector<ConstData> blocks(blocks_.begin(), blocks_.end());
  return pack_all(blocks, format_, room_);
}

std::uint64_t message_count(std::uint64_t bytes, const Limits& limits) {
  if (limits.impi_only) return 1;
  return (bytes + limits.overrides.segment - 1) / limits.overrides.segment;
}

void post_bytes(const Team& team, std::int32_t to, std::int32_t tag,
                std::span<const std::byte> bytes) {
  const std::uint64_t size = piece_size(team.limits, bytes.size());
  for (std::uint64_t left = message_count(bytes.size(), team.limits); left > 0; --left) {
    const auto piece = bytes.first(std::min<std::uint64_t>(size, bytes.size()));
    team.leaders.post_send(to, tag, buffer_of(piece));
    bytes = bytes.subspan(piece.size());
  }
}

void post_room(const Team& team, std::int32_t from, std::int32_t tag, std::span<std::byte> room) {
  const std::uint64_t size = piece_size(team.limits, room.size());
  for (std::uint64_t left = message_count(room.size(), team.limits); left > 0; --left) {
    const auto piece = room.first(std::min<std::uint64_t>(size, room.size()));
    team.leaders.post_receive(from, tag, buffer_of(piece));
    room = room.subspan(piece.size());
  }
}

}  // namespace impishim::collectives
