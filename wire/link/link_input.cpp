// SPDX-License-Identifier: Apache-2.0
#include "wire/link/link_input.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {
namespace {

/// Returns true if both headers belong to the rest of the same message.
bool continues(const PacketHeader& latest, const PacketHeader& header) {
  return header.type == PacketType::kData && header.drqid == latest.drqid &&
         header.msglen == latest.msglen && header.src == latest.src && header.dest == latest.dest;
}

}  // namespace

LinkInput::LinkInput(std::uint32_t max_payload)
    : max_payload_(max_payload), staging_(kStagingSize) {}

Result<std::size_t> LinkInput::read(Channel& channel) {
  const Room filled = room();
  ++calls;
  auto received = channel.try_receive(std::span(filled.pieces).first(filled.count));
  if (received) take(*received, filled);
  return received;
}

/// Returns the place of the payload while one is arriving, and the staging area for all other
/// bytes. Only one header is staged behind a payload, so that the next payload can be read directly
/// to its place, too. If that place is known already, the same call reads it.
LinkInput::Room LinkInput::room() {
  IMPISHIM_ASSERT(staged_begin_ == staged_end_ || !in_payload_);
  if (staged_begin_ == staged_end_) clear_staging();
  Room made;
  made.staging = staging_.size() - staged_end_;
  if (in_payload_) {
    made.straight = std::min(payload_left_, area_.size());
    if (made.straight > 0) made.pieces[made.count++] = {area_.data(), made.straight};
    // Bytes that exceed the area are read into the staging area and dropped.
    if (made.straight == payload_left_) {
      made.staging = std::min(made.staging, kPacketHeaderSize);
      made.ahead = ahead_;
    } else {
      made.staging = std::min(made.staging, payload_left_ - made.straight);
    }
  } else if (last_payload_ > kMaxStagedPayload) {
    made.staging = kPacketHeaderSize - staged_end_;
  }
  made.pieces[made.count++] = {staging_.data() + staged_end_, made.staging};
  if (!made.ahead.empty()) {
    made.pieces[made.count++] = {made.ahead.data(), made.ahead.size()};
    made.pieces[made.count++] = {staging_.data() + kPacketHeaderSize, kPacketHeaderSize};
  }
  return made;
}

/// Accounts for `bytes` that were read into `room`.
void LinkInput::take(std::size_t bytes, const Room& room) {
  got_ = bytes;
  wanted_ = room.straight + room.staging;
  if (!room.ahead.empty()) wanted_ += room.ahead.size() + kPacketHeaderSize;
  const std::size_t placed = std::min(bytes, room.straight);
  area_ = area_.subspan(placed);
  payload_left_ -= placed;
  const std::size_t staged = bytes - placed;
  const std::size_t behind_header = staged > room.staging ? staged - room.staging : 0;
  read_ahead_ = room.ahead.first(std::min(behind_header, room.ahead.size()));
  staged_end_ += staged - read_ahead_.size();
}

void LinkInput::clear_staging() {
  staged_begin_ = staged_end_ = 0;
  if (staging_.size() > kStagingSize) staging_ = std::vector<std::byte>(kStagingSize);
}

/// Moves an incomplete header to the front, to leave room for its rest.
void LinkInput::move_to_front() {
  if (staged_begin_ > 0 && staged_begin_ < staged_end_)
    std::memmove(staging_.data(), staging_.data() + staged_begin_, staged_end_ - staged_begin_);
  staged_end_ -= staged_begin_;
  staged_begin_ = 0;
}

Result<LinkInput::Event> LinkInput::next() {
  if (in_payload_) {
    if (!payload_complete()) return Event::kNone;
    in_payload_ = false;
    return Event::kPacketEnds;
  }
  if (staged_end_ - staged_begin_ < kPacketHeaderSize) {
    move_to_front();
    return Event::kNone;
  }
  const auto begun = read_ahead_.empty() ? begin_packet() : begin_packet_ahead();
  if (!begun) return begun.error();
  return Event::kPacketBegins;
}

/// Stores the staged bytes of the payload that is arriving. Returns true if that was all of it.
bool LinkInput::payload_complete() {
  if (!early_.empty()) {
    payload_left_ -= early_.size();
    store(std::exchange(early_, {}));
  }
  const std::size_t here = std::min(payload_left_, staged_end_ - staged_begin_);
  store(std::span(staging_).subspan(staged_begin_, here));
  staged_begin_ += here;
  payload_left_ -= here;
  return payload_left_ == 0;
}

Result<void> LinkInput::begin_packet() {
  staged_begin_ += kPacketHeaderSize;
  auto decoded = decode_packet_header(raw_header(), max_payload_, header_);
  if (!decoded) return decoded;
  drop_payload();
  in_payload_ = true;
  payload_left_ = header_.payload_size();
  received.count(kPacketHeaderSize + payload_left_);
  if (payload_left_ > 0) last_payload_ = payload_left_;
  return {};
}

/// Begins a packet whose payload, or the beginning of it, was read ahead to its place, if it is the
/// expected packet. Otherwise the bytes that were read ahead go back behind the header, where they
/// belong.
Result<void> LinkInput::begin_packet_ahead() {
  IMPISHIM_ASSERT(staged_begin_ == 0);
  const std::span<std::byte> bytes = std::exchange(read_ahead_, {});
  const std::size_t expected = ahead_.size();
  PacketHeader header;
  auto decoded =
      decode_packet_header(std::span(staging_).first<kPacketHeaderSize>(), max_payload_, header);
  if (!decoded) return decoded;
  if (continues(header_, header) && header.len == expected) {
    early_ = bytes;
  } else {
    staging_.insert(staging_.begin() + kPacketHeaderSize, bytes.begin(), bytes.end());
    staged_end_ += bytes.size();
    count_copy(bytes.size());
  }
  return begin_packet();
}

void LinkInput::take_whole() {
  IMPISHIM_ASSERT(in_payload_ && payload_left_ <= staged_end_ - staged_begin_);
  staged_begin_ += payload_left_;
  in_payload_ = false;
}

void LinkInput::store(std::span<const std::byte> bytes) {
  const std::size_t fits = std::min(bytes.size(), area_.size());
  // Bytes that were read ahead are at their place already.
  if (fits > 0 && bytes.data() != area_.data()) {
    std::memcpy(area_.data(), bytes.data(), fits);
    count_copy(fits);
  }
  area_ = area_.subspan(fits);
}

}  // namespace impishim::wire
