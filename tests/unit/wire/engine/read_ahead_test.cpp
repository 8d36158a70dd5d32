// SPDX-License-Identifier: Apache-2.0
// Payloads that are read to where the next packet's is expected: rows of one message's packets, and
// what breaks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tests/unit/wire/engine/raw_peer.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint32_t kPacket = 16384;  // long enough for its header to be read alone

/// A long message from the peer to the engine, one packet after the other.
class LongMessage {
 public:
  LongMessage(const test::RawPeer& peer, std::int32_t tag, std::size_t size)
      : peer_(peer),
        data_(test::pattern(size, static_cast<unsigned>(tag))),
        receive_(0, tag, size) {
    peer.engine->start(receive_.operation);
    auto header = peer.header(PacketType::kDataSync, kPacket);
    header.msglen = size;
    header.tag = tag;
    std::vector<std::byte> first;
    append(header, first);
    peer.say_bytes(first);
    auto answer = peer.hear();
    while (answer && answer->type == PacketType::kProtoAck) answer = peer.hear();
    EXPECT_TRUE(answer && answer->type == PacketType::kSyncAck);
    if (answer) request_ = answer->drqid;
  }

  [[nodiscard]] bool all_sent() const { return sent_ == data_.size(); }
  [[nodiscard]] PacketHeader next_header(std::uint32_t most = kPacket) const {
    auto header =
        peer_.header(PacketType::kData,
                     static_cast<std::uint32_t>(std::min<std::size_t>(most, data_.size() - sent_)));
    header.msglen = data_.size();
    header.drqid = request_;
    return header;
  }
  void append_next(std::vector<std::byte>& bytes, std::uint32_t most = kPacket) {
    append(next_header(most), bytes);
  }
  void append_row(std::size_t packets, std::vector<std::byte>& bytes) {
    for (std::size_t i = 0; i < packets && !all_sent(); ++i) append_next(bytes);
  }
  [[nodiscard]] bool has_arrived() const {
    return receive_.complete() && receive_.bytes() == data_;
  }

 private:
  void append(const PacketHeader& header, std::vector<std::byte>& bytes) {
    const std::size_t at = bytes.size();
    bytes.resize(at + kPacketHeaderSize);
    encode_packet_header(header, std::span(bytes).subspan(at).first<kPacketHeaderSize>());
    bytes.insert(bytes.end(), data_.begin() + static_cast<std::ptrdiff_t>(sent_),
                 data_.begin() + static_cast<std::ptrdiff_t>(sent_ + header.len));
    sent_ += header.len;
  }

  const test::RawPeer& peer_;
  std::vector<std::byte> data_;
  test::Receive receive_;
  std::size_t sent_ = 0;
  std::uint64_t request_ = 0;
};

/// A short message from the peer to the engine.
struct ShortMessage {
  ShortMessage(const test::RawPeer& peer, std::int32_t tag)
      : header(peer.header(PacketType::kData, 8)),
        data(test::pattern(8, static_cast<unsigned>(tag))),
        receive(0, tag, 8) {
    header.tag = tag;
    peer.engine->start(receive.operation);
  }
  void append(std::vector<std::byte>& bytes) const {
    const std::size_t at = bytes.size();
    bytes.resize(at + kPacketHeaderSize);
    encode_packet_header(header, std::span(bytes).subspan(at).first<kPacketHeaderSize>());
    bytes.insert(bytes.end(), data.begin(), data.end());
  }
  [[nodiscard]] bool has_arrived() const { return receive.complete() && receive.bytes() == data; }
  PacketHeader header;
  std::vector<std::byte> data;
  test::Receive receive;
};

class ReadAhead : public testing::Test {
 protected:
  /// Whole.
  void arrive(std::span<const std::byte> bytes) const {
    peer.say_bytes(bytes);
    for (int i = 0; i < 10; ++i) peer.engine->poll(false);
  }
  [[nodiscard]] std::uint64_t copied() const { return peer.engine->counters().copied.bytes; }

  test::RawPeer peer{{.procs_of_hosts = {{1}, {1}, {1}}, .values = {.datalen = kPacket}}};
};

TEST_F(ReadAhead, ARowTakesOneCallForTwoPackets) {
  constexpr std::size_t kPackets = 40;
  LongMessage message(peer, 1, (1 + kPackets) * kPacket);
  std::vector<std::byte> bytes;
  message.append_row(kPackets, bytes);
  const EngineCounters before = peer.engine->counters();
  peer.say_bytes(bytes);
  while (!message.has_arrived() && peer.engine->poll(false) > 0) {
  }
  ASSERT_TRUE(message.has_arrived());
  EXPECT_EQ(copied(), before.copied.bytes);
  // The first header; the first packet, with which no row has begun yet; what ends the two looks.
  EXPECT_LE(peer.engine->counters().receive_calls - before.receive_calls, 1 + 1 + kPackets / 2 + 4);
}

TEST_F(ReadAhead, ARowThatComesInPiecesIsNotCopied) {
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{127}, std::size_t{kPacket - 1}, std::size_t{kPacket + 129}}) {
    LongMessage message(peer, 1, 6 * kPacket + 5);
    std::vector<std::byte> bytes;
    message.append_row(6, bytes);
    const std::uint64_t before = copied();
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      peer.say_bytes(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_TRUE(message.has_arrived()) << piece;
    EXPECT_EQ(copied(), before) << piece;
  }
}

TEST_F(ReadAhead, WhatWasTakenForTheNextPacketGoesBackIfItIsAnother) {
  LongMessage message(peer, 1, 20 * kPacket);
  LongMessage other(peer, 2, 5 * kPacket);
  const ShortMessage brief(peer, 3);
  auto question = peer.header(PacketType::kCancel);
  question.srqid = 4711;
  std::vector<std::byte> control(kPacketHeaderSize);
  encode_packet_header(question, std::span(control).first<kPacketHeaderSize>());
  const std::vector<std::function<void(std::vector<std::byte>&)>> breaks = {
      [&](std::vector<std::byte>& bytes) { brief.append(bytes); },
      [&](std::vector<std::byte>& bytes) { other.append_next(bytes); },
      [&](std::vector<std::byte>& bytes) {
        bytes.insert(bytes.end(), control.begin(), control.end());
      },
      [&](std::vector<std::byte>& bytes) {
        message.append_next(bytes, 500);
      },  // as a foreign peer may
  };
  std::vector<std::byte> row;
  message.append_row(2, row);
  arrive(row);
  for (const auto& append_break : breaks) {
    std::vector<std::byte> bytes;
    message.append_row(3, bytes);  // the third one's successor is read ahead
    append_break(bytes);
    message.append_next(bytes);
    const std::uint64_t before = copied();
    arrive(bytes);
    EXPECT_GT(copied(), before) << "nothing was taken";
    ASSERT_EQ(peer.failure(), "");
  }
  std::vector<std::byte> rest;
  message.append_row(20, rest);
  other.append_row(20, rest);
  arrive(rest);
  EXPECT_TRUE(message.has_arrived());
  EXPECT_TRUE(other.has_arrived());
  EXPECT_TRUE(brief.has_arrived());
  const auto answer = peer.hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, PacketType::kCancelNo);
}

TEST_F(ReadAhead, AnyOrderInAnyPieces) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<LongMessage>> messages;
    for (const std::int32_t tag : {1, 2})
      messages.push_back(
          std::make_unique<LongMessage>(peer, tag, kPacket + 1 + random() % (10 * kPacket)));
    std::vector<std::unique_ptr<ShortMessage>> brief;
    std::vector<std::byte> bytes;
    while (!messages[0]->all_sent() || !messages[1]->all_sent()) {
      messages[random() % 2]->append_row(1 + random() % 5, bytes);
      if (random() % 4 != 0) continue;
      brief.push_back(
          std::make_unique<ShortMessage>(peer, 3 + static_cast<std::int32_t>(brief.size())));
      brief.back()->append(bytes);
    }
    while (!bytes.empty()) {
      const std::size_t size = 1 + random() % bytes.size();
      arrive(std::span(bytes).first(size));
      bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    }
    ASSERT_EQ(peer.failure(), "");
    for (const auto& each : messages) ASSERT_TRUE(each->has_arrived()) << round;
    for (const auto& each : brief) ASSERT_TRUE(each->has_arrived()) << round;
  }
}

TEST_F(ReadAhead, ALieInARowIsFound) {
  LongMessage message(peer, 1, 6 * kPacket + 10);
  std::vector<std::byte> bytes;
  message.append_row(5, bytes);
  const std::size_t at = bytes.size();
  auto header = message.next_header();
  header.len = 11;
  bytes.resize(at + kPacketHeaderSize + header.len);
  encode_packet_header(header, std::span(bytes).subspan(at).first<kPacketHeaderSize>());
  arrive(bytes);
  EXPECT_THAT(peer.failure(), testing::HasSubstr("more data than"));
}

}  // namespace
}  // namespace impishim::wire
