// SPDX-License-Identifier: Apache-2.0
#include "wire/packet/packet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

// Offsets of IMPI 3.6, as drawn in packet.hpp.
constexpr std::size_t kTypeAt = 0;
constexpr std::size_t kLenAt = 4;
constexpr std::size_t kSrcAt = 8;
constexpr std::size_t kDestAt = 32;
constexpr std::size_t kSrqidAt = 56;
constexpr std::size_t kDrqidAt = 64;
constexpr std::size_t kMsglenAt = 72;
constexpr std::size_t kLsrankAt = 80;
constexpr std::size_t kTagAt = 84;
constexpr std::size_t kCidAt = 88;
constexpr std::size_t kSeqnumAt = 96;
constexpr std::size_t kCountAt = 104;
constexpr std::size_t kDtypeAt = 112;
constexpr std::size_t kReservedAt = 120;
static_assert(kReservedAt + sizeof(std::uint64_t) == kPacketHeaderSize);

void store_proc(std::byte* at, const ProcId& proc) {
  std::copy(proc.host.begin(), proc.host.end(), at);
  store_big_endian(at + proc.host.size(), proc.pid);
}

ProcId load_proc(const std::byte* at) {
  ProcId proc;
  std::copy_n(at, proc.host.size(), proc.host.begin());
  proc.pid = load_big_endian<std::int64_t>(at + proc.host.size());
  return proc;
}

}  // namespace

std::string_view name_of(PacketType type) {
  switch (type) {
    case PacketType::kData:
      return "DATA";
    case PacketType::kDataSync:
      return "DATASYNC";
    case PacketType::kProtoAck:
      return "PROTOACK";
    case PacketType::kSyncAck:
      return "SYNCACK";
    case PacketType::kCancel:
      return "CANCEL";
    case PacketType::kCancelYes:
      return "CANCELYES";
    case PacketType::kCancelNo:
      return "CANCELNO";
    case PacketType::kFini:
      return "FINI";
    case PacketType::kAbort:
      return "ABORT";
    case PacketType::kRelayAck:
      return "RELAYACK";
    case PacketType::kLost:
      return "LOST";
  }
  return "unknown packet";
}

void encode_message_fields(const MessageFields& fields,
                           std::span<std::byte, kPacketHeaderSize> out) {
  std::byte* at = out.data();
  store_big_endian(at + kTypeAt, static_cast<std::uint32_t>(fields.type));
  store_big_endian(at + kLenAt, fields.len);
  store_big_endian(at + kSrqidAt, fields.srqid);
  store_big_endian(at + kDrqidAt, fields.drqid);
  store_big_endian(at + kMsglenAt, fields.msglen);
  store_big_endian(at + kLsrankAt, fields.lsrank);
  store_big_endian(at + kTagAt, fields.tag);
  store_big_endian(at + kCidAt, fields.cid);
  store_big_endian(at + kCountAt, fields.count);
}

void allow_early(std::span<std::byte, kPacketHeaderSize> out) {
  store_big_endian(out.data() + kReservedAt, kMayComeEarly);
}

void encode_packet_header(const PacketHeader& header, std::span<std::byte, kPacketHeaderSize> out) {
  encode_message_fields(header, out);
  std::byte* at = out.data();
  store_proc(at + kSrcAt, header.src);
  store_proc(at + kDestAt, header.dest);
  store_big_endian(at + kSeqnumAt, header.seqnum);
  store_big_endian(at + kDtypeAt, header.dtype);
  store_big_endian(at + kReservedAt, header.reserved);
}

Result<void> decode_packet_header(std::span<const std::byte, kPacketHeaderSize> in,
                                  std::uint32_t max_payload, PacketHeader& header) {
  const std::byte* at = in.data();
  const auto type = load_big_endian<std::uint32_t>(at + kTypeAt);
  if (type > static_cast<std::uint32_t>(PacketType::kFini) &&
      type != static_cast<std::uint32_t>(PacketType::kAbort) &&
      type != static_cast<std::uint32_t>(PacketType::kRelayAck) &&
      type != static_cast<std::uint32_t>(PacketType::kLost)) {
    return Error{ErrorKind::kProtocol, fmt::format("a packet of unknown type {}", type)};
  }
  header.type = static_cast<PacketType>(type);
  header.len = load_big_endian<std::uint32_t>(at + kLenAt);
  header.src = load_proc(at + kSrcAt);
  header.dest = load_proc(at + kDestAt);
  header.srqid = load_big_endian<std::uint64_t>(at + kSrqidAt);
  header.drqid = load_big_endian<std::uint64_t>(at + kDrqidAt);
  header.msglen = load_big_endian<std::uint64_t>(at + kMsglenAt);
  header.lsrank = load_big_endian<std::int32_t>(at + kLsrankAt);
  header.tag = load_big_endian<std::int32_t>(at + kTagAt);
  header.cid = load_big_endian<std::uint64_t>(at + kCidAt);
  header.seqnum = load_big_endian<std::uint64_t>(at + kSeqnumAt);
  header.count = load_big_endian<std::uint64_t>(at + kCountAt);
  header.dtype = load_big_endian<std::uint64_t>(at + kDtypeAt);
  header.reserved = load_big_endian<std::uint64_t>(at + kReservedAt);
  if (header.payload_size() > max_payload) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a packet with {} payload bytes; at most {} were agreed on",
                             header.len, max_payload)};
  }
  if (header.payload_size() > header.msglen && header.type != PacketType::kAbort) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a packet with {} payload bytes of a message of {}", header.len,
                             header.msglen)};
  }
  return {};
}

}  // namespace impishim::wire
