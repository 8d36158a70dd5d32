/// Blocks that travel together, as packed bytes: masters pass them on without knowing their types.
///
/// Where all clients represent data alike, the bytes are the blocks' own, and adjacent blocks of
/// the user's memory are the bundle themselves. Otherwise whoever has a block packs it in a form
/// that every client can read, and whoever gets it unpacks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"

namespace impishim::collectives {

/// How packed blocks are represented on their way.
[[nodiscard]] wire::Format transit_format(const Limits& limits);

/// Bytes of a packed block; the same on every client in transit_format().
[[nodiscard]] inline std::uint64_t packed_bytes(const ConstData& block, wire::Format format) {
  return block.count == 0 ? 0 : block.count * block.type->layout->packed_size(format);
}

/// Blocks to send, packed one behind the other.
class ConstBundle {
 public:
  ConstBundle(std::span<const ConstData> blocks, wire::Format format);
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// kConversion: a value does not fit. The bytes then have their size, so that the operation can
  /// go on to its end.
  [[nodiscard]] const Result<void>& packed() const { return packed_; }

 private:
  std::optional<Bytes> copy_;
  std::span<const std::byte> bytes_;
  Result<void> packed_;
};

/// Blocks to receive, packed one behind the other.
class Bundle {
 public:
  Bundle(std::vector<Data> blocks, wire::Format format);
  [[nodiscard]] std::span<std::byte> room() const { return room_; }
  /// Brings the bytes to the blocks' places. kConversion: a value does not fit.
  [[nodiscard]] Result<void> unpack();
  /// Fills the room from the blocks: to send them.
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

/// Posts packed bytes in messages of at most limits.overrides.segment bytes, which need no answer
/// before they travel; of nothing, none. IMPI's forms have one message, also of nothing.
void post_bytes(const Team& team, std::int32_t to, std::int32_t tag,
                std::span<const std::byte> bytes);
void post_room(const Team& team, std::int32_t from, std::int32_t tag, std::span<std::byte> room);
/// How many messages those are.
[[nodiscard]] std::uint64_t message_count(std::uint64_t bytes, const Limits& limits);

}  // namespace impishim::collectives
