// SPDX-License-Identifier: Apache-2.0
// The 128 bytes of IMPI 3.6, written by hand.
#include "wire/packet/packet.hpp"

#include <gmock/gmock.h>

#include <string>

namespace impishim::wire {
namespace {

using testing::HasSubstr;
using Wire = std::array<std::byte, kPacketHeaderSize>;

/// Hexadecimal digits as bytes; blanks are skipped.
Wire wire(const std::string& digits) {
  Wire bytes{};
  std::size_t nibble = 0;
  for (const char digit : digits) {
    if (digit == ' ') continue;
    const unsigned value = static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    bytes.at(nibble / 2) |= static_cast<std::byte>(nibble % 2 == 0 ? value << 4U : value);
    ++nibble;
  }
  EXPECT_EQ(nibble, 2 * kPacketHeaderSize);
  return bytes;
}

/// A header in which every byte of the wire is different from its neighbours.
const std::string kDigits =
    "00000001 00000010"                                    // DATASYNC, 16 bytes
    "0000000000000000000000000a4d0001 00000000000003df"    // from 10.77.0.1, pid 991
    "20010db8000000000000000000000002 fffffffffffffffe"    // to 2001:db8::2, pid -2
    "1112131415161718 2122232425262728 0000000000030d40"   // srqid, drqid, message of 200000 bytes
    "00000007 fffffffd 4142434445464748 5152535455565758"  // lsrank 7, tag -3, cid, seqnum
    "6162636465666768 7172737475767778 8182838485868788";  // count, dtype, reserved

PacketHeader sample() {
  PacketHeader header;
  header.type = PacketType::kDataSync;
  header.len = 16;
  header.src.host[12] = std::byte{10};
  header.src.host[13] = std::byte{77};
  header.src.host[15] = std::byte{1};
  header.src.pid = 991;
  header.dest.host = {std::byte{0x20}, std::byte{0x01}, std::byte{0x0d}, std::byte{0xb8}};
  header.dest.host[15] = std::byte{2};
  header.dest.pid = -2;
  header.srqid = 0x1112131415161718;
  header.drqid = 0x2122232425262728;
  header.msglen = 200000;
  header.lsrank = 7;
  header.tag = -3;
  header.cid = 0x4142434445464748;
  header.seqnum = 0x5152535455565758;
  header.count = 0x6162636465666768;
  header.dtype = 0x7172737475767778;
  header.reserved = 0x8182838485868788;
  return header;
}

Result<PacketHeader> decode(const Wire& in, std::uint32_t max_payload) {
  PacketHeader header;
  auto decoded = decode_packet_header(in, max_payload, header);
  if (!decoded) return decoded.error();
  return header;
}

TEST(Packet, EncodesToTheByte) {
  Wire out;
  out.fill(std::byte{0xAA});
  encode_packet_header(sample(), out);
  EXPECT_EQ(out, wire(kDigits));
}

TEST(Packet, DecodesEveryField) {
  const Wire in = wire(kDigits);
  auto header = decode(in, 16);
  ASSERT_TRUE(header.ok()) << header.error().text;
  const PacketHeader expected = sample();
  EXPECT_EQ(header->type, expected.type);
  EXPECT_EQ(header->len, expected.len);
  EXPECT_EQ(header->src, expected.src);
  EXPECT_EQ(header->dest, expected.dest);
  EXPECT_EQ(header->srqid, expected.srqid);
  EXPECT_EQ(header->drqid, expected.drqid);
  EXPECT_EQ(header->msglen, expected.msglen);
  EXPECT_EQ(header->lsrank, expected.lsrank);
  EXPECT_EQ(header->tag, expected.tag);
  EXPECT_EQ(header->cid, expected.cid);
  EXPECT_EQ(header->seqnum, expected.seqnum);
  EXPECT_EQ(header->count, expected.count);
  EXPECT_EQ(header->dtype, expected.dtype);
  EXPECT_EQ(header->reserved, expected.reserved);
}

TEST(Packet, AllowingAnEarlyAnswerChangesTheReservedFieldAlone) {
  Wire out;
  encode_packet_header(sample(), out);
  allow_early(out);
  PacketHeader expected = sample();
  expected.reserved = kMayComeEarly;
  Wire whole;
  encode_packet_header(expected, whole);
  EXPECT_EQ(out, whole);
}

TEST(Packet, NumbersOfTheTypes) {
  const std::array types = {PacketType::kData,     PacketType::kDataSync, PacketType::kProtoAck,
                            PacketType::kSyncAck,  PacketType::kCancel,   PacketType::kCancelYes,
                            PacketType::kCancelNo, PacketType::kFini};
  for (std::size_t i = 0; i < types.size(); ++i) {
    PacketHeader header;
    header.type = types[i];
    Wire out;
    encode_packet_header(header, out);
    EXPECT_EQ(out[3], static_cast<std::byte>(i));
    auto back = decode(out, 0);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->type, types[i]);
  }
}

TEST(Packet, OnlyDataCarriesAPayload) {
  PacketHeader header;
  header.len = 128;
  for (const auto& [type, size] :
       {std::pair(PacketType::kData, 128U), std::pair(PacketType::kDataSync, 128U),
        std::pair(PacketType::kProtoAck, 0U), std::pair(PacketType::kSyncAck, 0U),
        std::pair(PacketType::kCancel, 0U), std::pair(PacketType::kCancelYes, 0U),
        std::pair(PacketType::kCancelNo, 0U), std::pair(PacketType::kFini, 0U)}) {
    header.type = type;
    EXPECT_EQ(header.payload_size(), size);
  }
}

TEST(Packet, JunkInUnusedFieldsIsNobodysBusiness) {
  for (std::uint8_t type = 2; type <= 7; ++type) {
    Wire in;
    in.fill(std::byte{0xff});
    in[0] = in[1] = in[2] = std::byte{0};
    in[3] = std::byte{type};
    auto header = decode(in, 1);
    ASSERT_TRUE(header.ok()) << int{type};
    EXPECT_EQ(header->payload_size(), 0U);
  }
}

/// The sample with its first two integers and its message length replaced.
Result<PacketHeader> decoded(std::uint32_t type, std::uint32_t len, std::uint64_t msglen,
                             std::uint32_t max_payload) {
  PacketHeader header = sample();
  header.type = static_cast<PacketType>(type);
  header.len = len;
  header.msglen = msglen;
  Wire out;
  encode_packet_header(header, out);
  return decode(out, max_payload);
}

void expect_refused(const Result<PacketHeader>& header, const std::string& text) {
  ASSERT_FALSE(header.ok()) << text;
  EXPECT_EQ(header.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(header.error().text, HasSubstr(text));
}

TEST(Packet, UnknownTypesAreRefused) {
  for (const std::uint32_t type :
       {8U, 255U, 0x01000000U, 0x47455420U, 0x49530000U, 0x49530004U, 0xFFFFFFFFU}) {
    expect_refused(decoded(type, 0, 0, 65536), "a packet of unknown type " + std::to_string(type));
  }
  EXPECT_TRUE(decoded(0x49530001, 5, 5, 65536).ok());
  EXPECT_TRUE(decoded(0x49530002, 0, 5, 65536).ok());
  EXPECT_TRUE(decoded(0x49530003, 0, 0, 65536).ok());
}

TEST(Packet, PayloadIsBoundedByWhatWasAgreedOn) {
  for (const std::uint32_t type : {0U, 1U, 0x49530001U}) {
    EXPECT_TRUE(decoded(type, 65536, 65536, 65536).ok());
    expect_refused(decoded(type, 65537, 65537, 65536),
                   "65537 payload bytes; at most 65536 were agreed on");
    expect_refused(decoded(type, 0xFFFFFFFF, ~0ULL, 65536), "at most 65536 were agreed on");
  }
}

TEST(Packet, PayloadIsNoLongerThanItsMessage) {
  for (const std::uint32_t type : {0U, 1U}) {
    EXPECT_TRUE(decoded(type, 100, 100, 65536).ok());
    EXPECT_TRUE(decoded(type, 100, ~0ULL, 65536).ok());
    expect_refused(decoded(type, 101, 100, 65536), "101 payload bytes of a message of 100");
  }
  EXPECT_TRUE(decoded(2, 101, 100, 65536).ok());
}

}  // namespace
}  // namespace impishim::wire
