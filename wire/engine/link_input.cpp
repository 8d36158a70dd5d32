// SPDX-License-Identifier: Apache-2.0
// A link's input: from the channel's bytes to packets, and from there to the places of their
// payloads.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/engine/link.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {
namespace {

/// Returns true if both headers belong to the rest of the same message.
bool continues(const PacketHeader& latest, const PacketHeader& header) {
  return header.type == PacketType::kData && header.drqid == latest.drqid &&
         header.msglen == latest.msglen && header.src == latest.src && header.dest == latest.dest;
}

}  // namespace

Result<std::size_t> Link::receive() {
  std::size_t events = 0;
  // The number of rounds is bounded, so that one busy link does not starve the others.
  for (int round = 0; round < 16; ++round) {
    auto some = read_some();
    if (!some) return some.error();
    if (*some == 0) break;
    auto handled = handle_staged();
    if (!handled) return handled.error();
    events += 1 + *handled;
    // A short read emptied the channel: asking again would cost a system call for nothing.
    if (*some < wanted_) break;
  }
  return events;
}

/// Reads payload bytes directly to their place while a payload is arriving, and all other bytes to
/// the staging area. Only one header is staged behind a payload, so that the next payload can be
/// read directly to its place, too. If that place is known already, the same call reads it.
Result<std::size_t> Link::read_some() {
  IMPISHIM_ASSERT(staged_begin_ == staged_end_ || !in_payload_);
  if (staged_begin_ == staged_end_) clear_staging();
  std::array<iovec, 4> pieces;
  std::size_t count = 0;
  std::size_t straight = 0;
  std::size_t staging_room = staging_.size() - staged_end_;
  std::span<std::byte> ahead;
  if (in_payload_) {
    straight = std::min(payload_left_, incoming_.area.size());
    if (straight > 0) pieces[count++] = {incoming_.area.data(), straight};
    // Bytes that exceed the area are read into the staging area and dropped.
    if (straight == payload_left_) {
      staging_room = std::min(staging_room, kPacketHeaderSize);
      ahead = incoming_.ahead;
    } else {
      staging_room = std::min(staging_room, payload_left_ - straight);
    }
  } else if (last_payload_ > kCopiedSize) {
    staging_room = kPacketHeaderSize - staged_end_;
  }
  pieces[count++] = {staging_.data() + staged_end_, staging_room};
  if (!ahead.empty()) {
    pieces[count++] = {ahead.data(), ahead.size()};
    pieces[count++] = {staging_.data() + kPacketHeaderSize, kPacketHeaderSize};
  }
  ++receive_calls;
  auto received = channel_->try_receive(std::span(pieces).first(count));
  if (!received) return received.error();
  wanted_ = straight + staging_room + (ahead.empty() ? 0 : ahead.size() + kPacketHeaderSize);
  const std::size_t placed = std::min(*received, straight);
  incoming_.area = incoming_.area.subspan(placed);
  payload_left_ -= placed;
  const std::size_t staged = *received - placed;
  const std::size_t behind_header = staged > staging_room ? staged - staging_room : 0;
  ahead_ = ahead.first(std::min(behind_header, ahead.size()));
  staged_end_ += staged - ahead_.size();
  return *received;
}

void Link::clear_staging() {
  staged_begin_ = staged_end_ = 0;
  if (staging_.size() > kStagingSize) staging_ = std::vector<std::byte>(kStagingSize);
}

Result<std::size_t> Link::handle_staged() {
  std::size_t packets = 0;
  for (;;) {
    if (in_payload_) {
      const std::size_t here = std::min(payload_left_, staged_end_ - staged_begin_);
      place(std::span(staging_).subspan(staged_begin_, here));
      staged_begin_ += here;
      payload_left_ -= here;
      if (payload_left_ > 0) return packets;
      in_payload_ = false;
      auto ended = owner_.packet_ends(*this);
      incoming_.receive = nullptr;
      if (!ended) return ended.error();
      incoming_.source = -1;
      ++packets;
    }
    if (staged_end_ - staged_begin_ < kPacketHeaderSize) break;
    auto begun = ahead_.empty() ? begin_packet() : begin_packet_ahead();
    if (!begun) return begun.error();
    if (!incoming_.handled) continue;
    // The whole payload was staged, and has been taken from the staging area.
    staged_begin_ += payload_left_;
    in_payload_ = false;
    incoming_.source = -1;
    ++packets;
  }
  // An incomplete header moves to the front, to leave room for its rest.
  if (staged_begin_ > 0 && staged_begin_ < staged_end_) {
    std::memmove(staging_.data(), staging_.data() + staged_begin_, staged_end_ - staged_begin_);
  }
  staged_end_ -= staged_begin_;
  staged_begin_ = 0;
  return packets;
}

Result<void> Link::begin_packet() {
  staged_begin_ += kPacketHeaderSize;
  incoming_.source = -1;
  auto decoded = decode_packet_header(raw_header(), max_payload_, incoming_.header);
  if (!decoded) return decoded;
  incoming_.area = {};
  incoming_.ahead = {};
  incoming_.receive = nullptr;
  incoming_.unpack_at_end = false;
  incoming_.relay_to = nullptr;
  incoming_.handled = false;
  in_payload_ = true;
  payload_left_ = incoming_.header.payload_size();
  received.count(kPacketHeaderSize + payload_left_);
  if (payload_left_ > 0) last_payload_ = payload_left_;
  return owner_.packet_begins(*this);
}

/// Begins a packet whose payload, or the beginning of it, was read ahead to its place, if it is the
/// expected packet. Otherwise the bytes that were read ahead go back behind the header, where they
/// belong.
Result<void> Link::begin_packet_ahead() {
  IMPISHIM_ASSERT(staged_begin_ == 0);
  const std::span<std::byte> ahead = std::exchange(ahead_, {});
  const std::size_t expected = incoming_.ahead.size();
  PacketHeader header;
  auto decoded =
      decode_packet_header(std::span(staging_).first<kPacketHeaderSize>(), max_payload_, header);
  if (!decoded) return decoded;
  if (!continues(incoming_.header, header) || header.len != expected) {
    staging_.insert(staging_.begin() + kPacketHeaderSize, ahead.begin(), ahead.end());
    staged_end_ += ahead.size();
    count_copy(ahead.size());
    return begin_packet();
  }
  auto begun = begin_packet();
  if (!begun) return begun;
  place(ahead);
  payload_left_ -= ahead.size();
  return {};
}

void Link::place(std::span<const std::byte> bytes) {
  const std::size_t fits = std::min(bytes.size(), incoming_.area.size());
  // Bytes that were read ahead are at their place already.
  if (fits > 0 && bytes.data() != incoming_.area.data()) {
    std::memcpy(incoming_.area.data(), bytes.data(), fits);
    count_copy(fits);
  }
  incoming_.area = incoming_.area.subspan(fits);
}

}  // namespace impishim::wire
