// SPDX-License-Identifier: Apache-2.0
/// Blocks that travel together as packed bytes, so that masters can relay them without knowing
/// their types.
///
/// Where all clients represent data alike, the bytes are those of the blocks. Adjacent blocks in
/// the user's memory then form the packed blocks without a copy. Otherwise the owner packs its
/// block in a format that every client can read, and the receiver unpacks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// Returns the format of packed blocks between clients.
[[nodiscard]] wire::Format transit_format(const Limits& limits);

/// Returns the size of a packed block in bytes. With transit_format() it is the same on every
/// client.
[[nodiscard]] inline std::uint64_t packed_bytes(const ConstData& block, wire::Format format) {
  return block.count == 0 ? 0 : block.count * block.type->layout->packed_size(format);
}

/// Blocks to send, packed one after another.
class ConstPackedBlocks {
 public:
  ConstPackedBlocks(std::span<const ConstData> blocks, wire::Format format);
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// Returns the result of packing. It is kConversion if a value does not fit. The bytes then still
  /// have their full size, so the operation can continue to its end.
  [[nodiscard]] const Result<void>& packed() const { return packed_; }

 private:
  std::optional<Bytes> copy_;
  std::span<const std::byte> bytes_;
  Result<void> packed_;
};

/// Blocks to receive, packed one after another.
class PackedBlocks {
 public:
  PackedBlocks(std::vector<Data> blocks, wire::Format format);
  [[nodiscard]] std::span<std::byte> room() const { return room_; }
  /// Moves the bytes to their blocks. Fails with kConversion if a value does not fit.
  [[nodiscard]] Result<void> unpack();
  /// Fills the room from the blocks, so that it can be sent.
  [[nodiscard]] Result<void> pack();

 private:
  std::vector<Data> blocks_;
  wire::Format format_;
  std::optional<Bytes> copy_;
  std::span<std::byte> room_;
};

[[nodiscard]] inline wire::ConstBuffer buffer_of(std::span<const std::byte> bytes) {
  return {bytes.data(), bytes.size(), &wire::TypeLayout::basic(wire::BasicType::kByte), nullptr};
}
[[nodiscard]] inline wire::MutableBuffer buffer_of(std::span<std::byte> bytes) {
  return {bytes.data(), bytes.size(), &wire::TypeLayout::basic(wire::BasicType::kByte), nullptr};
}

/// Post packed bytes in messages of at most limits.overrides.segment bytes, which are short enough
/// for eager sending. Empty data needs no message. In IMPI's forms there is exactly one message,
/// even if it is empty.
void post_bytes(const Team& team, std::int32_t to, std::int32_t tag,
                std::span<const std::byte> bytes);
void post_room(const Team& team, std::int32_t from, std::int32_t tag, std::span<std::byte> room);
/// Returns the number of messages that post_bytes() and post_room() use.
[[nodiscard]] std::uint64_t message_count(std::uint64_t bytes, const Limits& limits);

}  // namespace impishim::collectives
