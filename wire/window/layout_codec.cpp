// SPDX-License-Identifier: Apache-2.0
#include "wire/window/layout_codec.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kPrefixBytes = 8;  ///< extent
constexpr std::size_t kBlockBytes = 33;  ///< offset, type, count, repeat, stride
/// Distances and sizes beyond this are no datatype of a program. Sums of a few of them can still be
/// counted in 63 bits.
constexpr std::int64_t kFarthest = std::int64_t{1} << 58U;

template <class Integer>
void append(std::vector<std::byte>& bytes, Integer value) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(Integer));
  store_big_endian(bytes.data() + at, value);
}

template <class Integer>
Integer take(const std::byte*& from) {
  const auto value = load_big_endian<Integer>(from);
  from += sizeof(Integer);
  return value;
}

Block decode_block(const std::byte* from) {
  Block block;
  block.offset = static_cast<std::ptrdiff_t>(take<std::int64_t>(from));
  block.type = static_cast<BasicType>(take<std::uint8_t>(from));
  block.count = take<std::uint64_t>(from);
  block.repeat = take<std::uint64_t>(from);
  block.stride = static_cast<std::ptrdiff_t>(take<std::int64_t>(from));
  return block;
}

bool is_near(std::int64_t distance) { return distance >= -kFarthest && distance <= kFarthest; }

/// Adds the bytes of a block to `total`. Returns false if it is no block, has too many, or lies too
/// far away.
bool count_block(const Block& block, std::uint64_t& total) {
  if (block.type >= BasicType::kNumberOfTypes || block.count == 0 || block.repeat == 0)
    return false;
  std::uint64_t bytes = 0;
  std::int64_t last_run = 0;
  // No format has larger elements than 16 bytes.
  return !__builtin_mul_overflow(block.count, block.repeat, &bytes) &&
         !__builtin_mul_overflow(bytes, std::uint64_t{16}, &bytes) &&
         !__builtin_add_overflow(total, bytes, &total) && total <= std::uint64_t{kFarthest} &&
         is_near(block.offset) && is_near(block.stride) &&
         !__builtin_mul_overflow(static_cast<std::int64_t>(block.repeat), block.stride,
                                 &last_run) &&
         is_near(last_run);
}

bool are_possible(const std::vector<Block>& blocks) {
  std::uint64_t total = 0;
  return std::all_of(blocks.begin(), blocks.end(),
                     [&](const Block& block) { return count_block(block, total); });
}

Error impossible_blocks() {
  return {ErrorKind::kProtocol, "the description of a datatype with impossible blocks"};
}

}  // namespace

std::size_t encoded_bytes(const TypeLayout& layout) {
  return kPrefixBytes + layout.blocks().size() * kBlockBytes;
}

void encode_layout(const TypeLayout& layout, std::vector<std::byte>& bytes) {
  append(bytes, static_cast<std::int64_t>(layout.extent()));
  for (const Block& block : layout.blocks()) {
    append(bytes, static_cast<std::int64_t>(block.offset));
    append(bytes, static_cast<std::uint8_t>(block.type));
    append(bytes, block.count);
    append(bytes, block.repeat);
    append(bytes, static_cast<std::int64_t>(block.stride));
  }
}

Result<std::shared_ptr<const TypeLayout>> decode_layout(std::span<const std::byte> bytes) {
  if (bytes.size() < kPrefixBytes || (bytes.size() - kPrefixBytes) % kBlockBytes != 0) {
    return Error{ErrorKind::kProtocol,
                 "the description of a datatype of a size that none can have"};
  }
  const std::byte* from = bytes.data();
  const auto extent = take<std::int64_t>(from);
  if (!is_near(extent))
    return Error{ErrorKind::kProtocol, "the description of a datatype with an impossible extent"};
  std::vector<Block> blocks;
  blocks.reserve((bytes.size() - kPrefixBytes) / kBlockBytes);
  for (const std::byte* const end = bytes.data() + bytes.size(); from < end; from += kBlockBytes)
    blocks.push_back(decode_block(from));
  if (!are_possible(blocks)) return impossible_blocks();
  auto layout = std::make_shared<TypeLayout>(blocks, static_cast<std::ptrdiff_t>(extent));
  // Blocks that repeat each other are one now, whose stride may be longer than any that came.
  if (!are_possible(layout->blocks())) return impossible_blocks();
  return std::shared_ptr<const TypeLayout>(std::move(layout));
}

}  // namespace impishim::wire
