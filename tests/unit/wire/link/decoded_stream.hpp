// SPDX-License-Identifier: Apache-2.0
/// A stream of packets that a LinkInput decodes, and the checks of what it returns. For the unit
/// tests of LinkInput and for its fuzz target.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/channel/channel.hpp"
#include "wire/link/link_input.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire::test {

/// A channel that returns given bytes, in reads of at most the sizes that `next_size` returns.
class ScriptedInput final : public Channel {
 public:
  ScriptedInput(std::vector<std::byte> bytes, std::function<std::size_t()> next_size)
      : bytes_(std::move(bytes)), next_size_(std::move(next_size)) {}

  Result<std::size_t> try_receive(std::span<const iovec> pieces) override {
    std::size_t left = std::min(next_size_(), bytes_.size() - at_);
    std::size_t filled = 0;
    for (const iovec& piece : pieces) {
      const std::size_t size = std::min(left, piece.iov_len);
      if (size > 0) std::memcpy(piece.iov_base, bytes_.data() + at_, size);
      at_ += size;
      left -= size;
      filled += size;
    }
    return filled;
  }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

  Result<std::size_t> try_send(std::span<const iovec> /*pieces*/) override {
    return std::size_t{0};
  }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] std::uint32_t epoll_events() const override { return 0; }
  bool set_want_output(bool /*want*/) override { return false; }
  bool prepare_to_sleep() override { return false; }
  void end_sleep() override {}
  void shutdown_output() override {}
  void close_in_forked_child() override {}
  [[nodiscard]] std::string peer_name() const override { return "a script"; }

 private:
  std::vector<std::byte> bytes_;
  std::function<std::size_t()> next_size_;
  std::size_t at_ = 0;
};

/// The owner of a LinkInput: it draws a place for each payload, and compares what arrives there
/// with the stream.
class DecodedStream {
 public:
  DecodedStream(const std::vector<std::byte>& stream, std::uint32_t max_payload, unsigned seed)
      : stream_(stream), random_(seed), max_payload_(max_payload), input_(max_payload) {}

  /// Decodes the whole stream. Returns a description of the first difference, or nothing.
  [[nodiscard]] std::optional<std::string> run() {
    ScriptedInput channel(stream_,
                          [this] { return draw(4) == 0 ? draw(200) + 1 : draw(60000) + 1; });
    while (!channel.at_end()) {
      const auto some = input_.read(channel);
      if (!some) return "the channel failed";
      if (auto wrong = handle_events()) return wrong;
      if (refused_) return std::nullopt;
    }
    if (packet_ends_ != complete_packets()) return "packets are missing";
    return std::nullopt;
  }
  /// Returns the number of packets that are complete.
  [[nodiscard]] std::size_t packets() const { return packet_ends_; }

 private:
  [[nodiscard]] std::size_t draw(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

  std::optional<std::string> handle_events() {
    for (;;) {
      const auto event = input_.next();
      if (!event) return refuse(event.error());
      std::optional<std::string> wrong;
      if (*event == LinkInput::Event::kNone) return std::nullopt;
      if (*event == LinkInput::Event::kPacketBegins) wrong = begin_packet();
      if (*event == LinkInput::Event::kPacketEnds) wrong = end_packet();
      if (wrong) return wrong;
    }
  }

  /// Checks that the header at this position of the stream is wrong indeed.
  std::optional<std::string> refuse(const Error& error) {
    refused_ = true;
    PacketHeader header;
    const bool wrong =
        stream_.size() - at_ >= kPacketHeaderSize &&
        !decode_packet_header(std::span(stream_).subspan(at_).first<kPacketHeaderSize>(),
                              max_payload_, header);
    if (!wrong) return "a good header was refused";
    if (error.kind != ErrorKind::kProtocol) return "a wrong header is no protocol error";
    return std::nullopt;
  }

  std::optional<std::string> begin_packet() {
    if (stream_.size() - at_ < kPacketHeaderSize) return "a header that has not arrived";
    const auto raw = std::span(stream_).subspan(at_, kPacketHeaderSize);
    if (!std::ranges::equal(raw, input_.raw_header())) return "another header";
    at_ += kPacketHeaderSize;
    const std::size_t size = input_.header().payload_size();
    const auto whole = input_.whole_packet();
    if (!whole.empty()) {
      if (!std::ranges::equal(whole.subspan(kPacketHeaderSize), payload_in_stream()))
        return "another whole packet";
      if (draw(2) == 0) {
        input_.take_whole();
        at_ += whole.size() - kPacketHeaderSize;
        ++packet_ends_;
        return std::nullopt;
      }
    }
    choose_place(size);
    input_.place(area_);
    next_area_ = {};
    if (draw(2) == 0) {
      next_area_ = new_memory(draw(3) == 0 ? draw(max_payload_ + 1) : size);
      input_.place_next(next_area_);
    }
    return std::nullopt;
  }

  /// Draws a place for a payload: the one that was announced, a new one, a short one, or none.
  void choose_place(std::size_t size) {
    const std::size_t way = draw(6);
    if (way < 3 && next_area_.size() == size) {
      area_ = next_area_;
    } else if (way < 4) {
      area_ = new_memory(size);
    } else {
      area_ = new_memory(draw(size + 1));
    }
  }

  std::optional<std::string> end_packet() {
    const auto payload = payload_in_stream();
    if (payload.size() != input_.header().payload_size()) return "a payload that has not arrived";
    if (!std::ranges::equal(area_, payload.first(area_.size()))) return "another payload";
    at_ += payload.size();
    ++packet_ends_;
    return std::nullopt;
  }

  [[nodiscard]] std::span<const std::byte> payload_in_stream() const {
    const auto rest = std::span(stream_).subspan(at_);
    return rest.first(std::min(rest.size(), input_.header().payload_size()));
  }

  [[nodiscard]] std::span<std::byte> new_memory(std::size_t size) {
    return memory_.emplace_back(size, std::byte{0xee});
  }

  /// Returns the number of packets that the stream contains as a whole.
  [[nodiscard]] std::size_t complete_packets() const {
    std::size_t packets = 0;
    for (std::size_t at = 0; stream_.size() - at >= kPacketHeaderSize; ++packets) {
      PacketHeader header;
      const auto raw = std::span(stream_).subspan(at).first<kPacketHeaderSize>();
      if (!decode_packet_header(raw, max_payload_, header)) break;
      if (stream_.size() - at - kPacketHeaderSize < header.payload_size()) break;
      at += kPacketHeaderSize + header.payload_size();
    }
    return packets;
  }

  const std::vector<std::byte>& stream_;
  std::minstd_rand random_;
  std::uint32_t max_payload_;
  LinkInput input_;
  std::size_t at_ = 0;  ///< position in the stream
  std::size_t packet_ends_ = 0;
  bool refused_ = false;
  std::span<std::byte> area_;
  std::span<std::byte> next_area_;
  std::deque<std::vector<std::byte>> memory_;
};

/// Appends a packet with a payload of `size` bytes that depends on `mark`.
inline void append_packet(std::vector<std::byte>& stream, PacketHeader header, std::uint32_t size,
                          unsigned mark) {
  header.len = size;
  header.msglen = std::max<std::uint64_t>(header.msglen, size);
  std::array<std::byte, kPacketHeaderSize> raw;
  encode_packet_header(header, raw);
  stream.insert(stream.end(), raw.begin(), raw.end());
  for (std::uint32_t i = 0; i < header.payload_size(); ++i)
    stream.push_back(static_cast<std::byte>(mark + i * 7));
}

}  // namespace impishim::wire::test
