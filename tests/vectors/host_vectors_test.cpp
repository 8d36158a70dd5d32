// SPDX-License-Identifier: Apache-2.0
// Packets as recorded between two hosts: what they say, and that our encoder writes the same 128
// bytes for each.
#include <gmock/gmock.h>

#include "tests/vectors/vectors.hpp"
#include "wire/base/bytes.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;

constexpr auto kData = PacketType::kData;
constexpr auto kDataSync = PacketType::kDataSync;
constexpr auto kFini = PacketType::kFini;

std::vector<test::RecordedPacket> from_host0() {
  return test::packets_of(test::vector_file("host0-to-host1.bin"), 0);
}
std::vector<test::RecordedPacket> from_host1() {
  return test::packets_of(test::vector_file("host1-to-host0.bin"), 4);
}

ProcId proc(std::uint8_t host, std::int64_t pid) {
  ProcId id;
  id.host[12] = std::byte{10};
  id.host[13] = std::byte{77};
  id.host[15] = std::byte{host};
  id.pid = pid;
  return id;
}

template <class Value, class Fields>
std::vector<Value> each(const std::vector<test::RecordedPacket>& packets, Value Fields::*member) {
  std::vector<Value> values;
  for (const auto& packet : packets) values.push_back(packet.header.*member);
  return values;
}

TEST(HostVectors, ConnectingHostSendsItsRank) {
  const auto stream = test::vector_file("host1-to-host0.bin");
  EXPECT_EQ(load_big_endian<std::uint32_t>(stream.data()), 1U);
}

TEST(HostVectors, EncoderWritesTheRecordedBytes) {
  const auto first = from_host0();
  const auto second = from_host1();
  ASSERT_EQ(first.size(), 10U);
  ASSERT_EQ(second.size(), 4U);
  for (const auto* packets : {&first, &second}) {
    for (const auto& packet : *packets) {
      std::array<std::byte, kPacketHeaderSize> wire;
      encode_packet_header(packet.header, wire);
      EXPECT_THAT(wire, testing::ElementsAreArray(packet.wire));
    }
  }
}

TEST(HostVectors, ShortMessages) {
  const auto packets = from_host0();
  EXPECT_THAT(each(packets, &PacketHeader::type), ElementsAre(kData, kData, kData, kDataSync, kData,
                                                              kData, kData, kData, kData, kFini));
  for (const auto& [index, tag, size] :
       {std::tuple(0U, 5, 4U), std::tuple(1U, 6, 8U), std::tuple(2U, 7, 8U)}) {
    const auto& packet = packets[index];
    EXPECT_EQ(packet.header.src, proc(1, 991));
    EXPECT_EQ(packet.header.dest, proc(2, 992));
    EXPECT_EQ(packet.header.tag, tag);
    EXPECT_EQ(packet.header.lsrank, 0);
    EXPECT_EQ(packet.header.cid, 0U);
    EXPECT_EQ(packet.header.msglen, size);
    EXPECT_EQ(packet.payload.size(), size);
  }
  EXPECT_THAT(each(packets, &PacketHeader::seqnum), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

TEST(HostVectors, LongMessage) {
  const auto packets = from_host0();
  std::vector<std::byte> message;
  for (std::size_t i = 3; i < 7; ++i) {
    EXPECT_EQ(packets[i].header.msglen, 200000U);
    EXPECT_EQ(packets[i].header.srqid, 1U);
    EXPECT_EQ(packets[i].header.drqid, i == 3 ? 0U : 1U);
    EXPECT_EQ(packets[i].header.tag, 8);
    message.insert(message.end(), packets[i].payload.begin(), packets[i].payload.end());
  }
  EXPECT_EQ(packets[3].payload.size(), 65536U);
  ASSERT_EQ(message.size(), 200000U);
  for (std::size_t i = 0; i < message.size(); ++i)
    ASSERT_EQ(message[i], static_cast<std::byte>(i % 251)) << i;

  const PacketHeader ack = from_host1()[0].header;
  EXPECT_EQ(ack.type, PacketType::kSyncAck);
  EXPECT_EQ(ack.src, proc(2, 992));
  EXPECT_EQ(ack.dest, proc(1, 991));
  EXPECT_EQ(ack.srqid, 1U);
  EXPECT_EQ(ack.drqid, 1U);
}

TEST(HostVectors, BarriersGoOnTheCollectiveContext) {
  const auto there = from_host0();
  const auto back = from_host1();
  for (const auto* packet : {&there[7], &there[8], &back[1], &back[2]}) {
    EXPECT_EQ(packet->header.type, kData);
    EXPECT_EQ(packet->header.cid, 1U);
    EXPECT_EQ(packet->header.tag, 110);
    EXPECT_EQ(packet->header.msglen, 0U);
    EXPECT_TRUE(packet->payload.empty());
  }
}

TEST(HostVectors, HeaderOnlyPacketsHaveNoPayloadWhateverTheyClaim) {
  for (const auto& packet : {from_host1()[0], from_host1()[3], from_host0()[9]}) {
    EXPECT_EQ(packet.header.len, 128U);
    EXPECT_EQ(packet.header.payload_size(), 0U);
  }
  EXPECT_EQ(from_host1()[3].header.type, kFini);
}

}  // namespace
}  // namespace impishim::wire
