// SPDX-License-Identifier: Apache-2.0
/// IMPI packets: the 128-byte header that precedes every payload between hosts (IMPI 3.5, 3.6).
///
///      0       4       8                       24      32                      48      56      64
///     +-------+-------+-----------------------+-------+-----------------------+-------+-------+
///     | type  | len   | src host id           |src pid| dest host id          |dst pid| srqid |
///     +-------+-------+---+-------+-------+---+---+---+---+-------+-------+---+---+---+-------+
///     64      72          80      84      88      96          104     112         120     128
///     | drqid | msglen    | lsrank| tag   | cid   | seqnum    | count | dtype     | reserved  |
///
/// All integers are big-endian. Only DATA and DATASYNC carry a payload of pk_len bytes. In the
/// other types, receivers ignore every field that the type does not use; peers may fill these
/// fields with anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// An IP address in 16 bytes: an IPv6 address, or an IPv4 address as 12 zero bytes (or ::ffff:) and
/// 4 bytes (IMPI 1.2.3).
using HostId = std::array<std::byte, 16>;

/// The identity of a process in packets (IMPI 3.2). It is unique in the job.
struct ProcId {
  HostId host{};
  std::int64_t pid = 0;
  friend bool operator==(const ProcId& a, const ProcId& b) {
    // This runs for every packet, so it compares all bytes at once and not one by one.
    return a.pid == b.pid && std::memcmp(a.host.data(), b.host.data(), sizeof(HostId)) == 0;
  }
};

/// The values of pk_type (IMPI 3.5, 3.6). kAbort, kRelayAck and
/// kLost are our own extensions.
enum class PacketType : std::uint32_t {
  kData = 0,       ///< short message, or the rest of a long one
  kDataSync = 1,   ///< synchronous message, or the first packet of a long one
  kProtoAck = 2,   ///< the receiver has taken ackmark packets
  kSyncAck = 3,    ///< a DATASYNC message has matched
  kCancel = 4,     ///< asks to destroy an unmatched message
  kCancelYes = 5,  ///< the message is destroyed
  kCancelNo = 6,   ///< the message had already matched
  kFini = 7,       ///< the sending host has no more traffic except acknowledgements
  /// Our own type, sent only to clients that announced our label: the job has been aborted. `tag`
  /// is the exit code, the payload is a text.
  kAbort = 0x49530001,
  /// Our own type, sent only to such clients, between neighbours on a route. The sender has relayed
  /// `msglen` bytes of the data that it had to relay.
  kRelayAck = 0x49530002,
  /// Our own type, sent only to such clients, between neighbours on a route. The client with the
  /// number `tag` is lost, and the sender goes on without it.
  kLost = 0x49530003,
};

/// Returns the name of a type, as IMPI's text or docs/protocol.md has it.
[[nodiscard]] std::string_view name_of(PacketType type);

[[nodiscard]] inline bool carries_message(PacketType type) {
  return type == PacketType::kData || type == PacketType::kDataSync;
}

/// Returns true if packets of this type are exchanged by the two ends of a channel, and name no
/// process.
[[nodiscard]] inline bool concerns_link(PacketType type) {
  return type == PacketType::kFini || type == PacketType::kRelayAck || type == PacketType::kAbort ||
         type == PacketType::kLost;
}

inline constexpr std::size_t kPacketHeaderSize = 128;

/// Our own flag in pk_reserved of a long message's first packet, a field that IMPI does not use. It
/// means that the send is not synchronous. The receiver may then answer with SYNCACK, and take the
/// whole message, before it has matched. The flag is sent only to clients that announced our label,
/// and is evaluated only from them. Without it every long message waits for its match.
inline constexpr std::uint64_t kMayComeEarly = 1;

/// Header fields that change from packet to packet between two processes, in host byte order. The
/// names are those of the specification without pk_.
struct MessageFields {
  PacketType type = PacketType::kData;
  std::uint32_t len = 0;
  std::uint64_t srqid = 0;
  std::uint64_t drqid = 0;
  std::uint64_t msglen = 0;
  std::int32_t lsrank = 0;
  std::int32_t tag = 0;
  std::uint64_t cid = 0;
  std::uint64_t count = 0;
};

/// All fields of a header.
struct PacketHeader : MessageFields {
  ProcId src;
  ProcId dest;
  std::uint64_t seqnum = 0;
  std::uint64_t dtype = 0;
  std::uint64_t reserved = 0;

  /// Returns the number of bytes that follow this header on the wire: `len` for DATA, DATASYNC and
  /// our ABORT, otherwise 0.
  [[nodiscard]] std::size_t payload_size() const {
    return carries_message(type) || type == PacketType::kAbort ? len : 0;
  }
};

/// Writes `header` in wire form.
void encode_packet_header(const PacketHeader& header, std::span<std::byte, kPacketHeaderSize> out);

/// Overwrites these fields of a wire header and leaves the others unchanged.
void encode_message_fields(const MessageFields& fields,
                           std::span<std::byte, kPacketHeaderSize> out);

/// Sets pk_reserved of a wire header to kMayComeEarly.
void allow_early(std::span<std::byte, kPacketHeaderSize> out);

/// Writes a packet in one piece to `place`, which must have room for it: the header in wire form,
/// then the payload.
inline void write_packet(std::span<const std::byte, kPacketHeaderSize> header,
                         std::span<const std::byte> payload, std::byte* place) {
  std::memcpy(place, header.data(), kPacketHeaderSize);
  if (!payload.empty()) std::memcpy(place + kPacketHeaderSize, payload.data(), payload.size());
}

/// Reads a wire header into `header`, whose contents are unspecified after an error. Fails with
/// kProtocol for an unknown type, a payload above `max_payload`, or a payload longer than its
/// message.
[[nodiscard]] Result<void> decode_packet_header(std::span<const std::byte, kPacketHeaderSize> in,
                                                std::uint32_t max_payload, PacketHeader& header);

}  // namespace impishim::wire
