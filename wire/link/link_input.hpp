// SPDX-License-Identifier: Apache-2.0
/// The input of a link: from the bytes of a channel to packets, and from there to the places of
/// their payloads. Knows framing, but not the meaning of packets.
///
/// The decoder returns events. The owner calls read(), then next() until there is no event left:
///
/// | event | what the owner does before it calls next() again |
/// | --- | --- |
/// | kPacketBegins | checks header(), and says by place() or take_whole() where the payload goes |
/// | kPacketEnds | handles the packet, whose payload is at its place |
/// | kNone | reads more, if may_have_more() |
///
/// A payload without a place is dropped. A packet that the owner takes whole has no kPacketEnds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/link/inline_payload.hpp"
#include "wire/link/traffic.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

class LinkInput {
 public:
  enum class Event : std::uint8_t { kNone, kPacketBegins, kPacketEnds };

  /// Refuses payloads of more than `max_payload` bytes.
  explicit LinkInput(std::uint32_t max_payload);
  LinkInput(const LinkInput&) = delete;
  LinkInput& operator=(const LinkInput&) = delete;
  ~LinkInput() = default;

  /// Reads from `channel` once. Returns the number of bytes, 0 if it had none.
  [[nodiscard]] Result<std::size_t> read(Channel& channel);
  /// Returns true if the last read got all that it asked for. Otherwise the channel is empty, and
  /// asking again would cost a system call for nothing.
  [[nodiscard]] bool may_have_more() const { return got_ == wanted_; }
  /// Returns the next event in the bytes that were read. Fails with kProtocol for a header that
  /// decode_packet_header() refuses; nothing may be called afterwards.
  [[nodiscard]] Result<Event> next();

  /// Returns the header of the packet that has begun.
  [[nodiscard]] const PacketHeader& header() const { return header_; }
  /// Returns the same header as it arrived. Valid at kPacketBegins.
  [[nodiscard]] std::span<const std::byte, kPacketHeaderSize> raw_header() const {
    return std::span(staging_)
        .subspan(staged_begin_ - kPacketHeaderSize)
        .first<kPacketHeaderSize>();
  }
  /// Returns the packet that has begun, if it is a short one that has arrived whole; empty
  /// otherwise. Valid at kPacketBegins.
  [[nodiscard]] std::span<const std::byte> whole_packet() const {
    const std::size_t payload = header_.payload_size();
    if (payload > kMaxInlinePayload || payload > staged_end_ - staged_begin_ || !early_.empty())
      return {};
    return std::span(staging_).subspan(staged_begin_ - kPacketHeaderSize,
                                       kPacketHeaderSize + payload);
  }
  /// Sets the place of the payload; bytes that exceed it are dropped. For kPacketBegins.
  void place(std::span<std::byte> area) { area_ = area; }
  /// Sets the place of the next packet's payload, if that packet belongs to the same message. For
  /// kPacketBegins.
  void place_next(std::span<std::byte> area) { ahead_ = area; }
  /// Ends a packet that whole_packet() has returned and the owner has handled. No kPacketEnds
  /// follows for it.
  void take_whole();
  /// Drops the rest of the payload that is arriving, whose place is no longer valid.
  void drop_payload() { area_ = ahead_ = {}; }

  Traffic received;         ///< packets that have begun
  Traffic copied;           ///< payloads, and their bytes, that were copied on their way
  std::uint64_t calls = 0;  ///< to the channel

 private:
  static constexpr std::size_t kStagingSize = 32768;
  /// After a payload that is larger than this, only a header is read first, so that the next
  /// payload can be read directly to its place.
  static constexpr std::size_t kMaxStagedPayload = 8192;
  static constexpr std::size_t kMaxPieces = 4;

  /// The memory that the next read fills.
  struct Room {
    std::array<iovec, kMaxPieces> pieces;
    std::size_t count = 0;
    std::size_t straight = 0;  ///< bytes of the payload that go directly to its place
    std::size_t staging = 0;
    std::span<std::byte> ahead;
  };
  [[nodiscard]] Room room();
  void take(std::size_t bytes, const Room& room);
  void clear_staging();
  void move_to_front();
  [[nodiscard]] bool payload_complete();
  [[nodiscard]] Result<void> begin_packet();
  [[nodiscard]] Result<void> begin_packet_ahead();
  void store(std::span<const std::byte> bytes);
  void count_copy(std::size_t bytes) {
    if (bytes > 0) copied.count(bytes);
  }

  std::uint32_t max_payload_;
  PacketHeader header_;
  std::span<std::byte> area_;   ///< place of the next payload bytes
  std::span<std::byte> ahead_;  ///< place of the next packet's payload
  bool in_payload_ = false;
  std::size_t payload_left_ = 0;
  std::size_t last_payload_ = 0;

  std::vector<std::byte> staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  std::size_t wanted_ = 0;  ///< bytes that the last read asked for
  std::size_t got_ = 0;     ///< bytes that it returned
  /// The bytes that the last read placed where the payload behind the first staged header is
  /// expected.
  std::span<std::byte> read_ahead_;
  /// The bytes of the payload that begins which were read ahead.
  std::span<const std::byte> early_;
};

}  // namespace impishim::wire
