/// IMPI packets: the 128-byte header that precedes every payload between hosts (IMPI 3.5, 3.6).
///
///      0       4       8                       24      32                      48      56      64
///     +-------+-------+-----------------------+-------+-----------------------+-------+-------+
///     | type  | len   | src host id           |src pid| dest host id          |dst pid| srqid |
///     +-------+-------+---+-------+-------+---+---+---+---+-------+-------+---+---+---+-------+
///     64      72          80      84      88      96          104     112         120     128
///     | drqid | msglen    | lsrank| tag   | cid   | seqnum    | count | dtype     | reserved  |
///
/// All integers are big-endian. Only DATA and DATASYNC carry a payload of pk_len bytes; in the
/// other types every field that the type does not use is ignored (peers fill them with anything).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// 16 bytes: an IPv6 address, or an IPv4 one as 12 zero bytes (or ::ffff:) and 4 bytes
/// (IMPI 1.2.3).
using HostId = std::array<std::byte, 16>;

/// A process as packets name it (IMPI 3.2): unique over the job.
struct ProcId {
  HostId host{};
  std::int64_t pid = 0;
  friend bool operator==(const ProcId& a, const ProcId& b) {
    // Asked for every packet: as one comparison, not one for each byte.
    return a.pid == b.pid && std::memcmp(a.host.data(), b.host.data(), sizeof(HostId)) == 0;
  }
};

enum class PacketType : std::uint32_t {
  kData = 0,       ///< short message, or the rest of a long one
  kDataSync = 1,   ///< synchronous message, or the first packet of a long one
  kProtoAck = 2,   ///< receiver took ackmark packets
  kSyncAck = 3,    ///< a DATASYNC message has matched
  kCancel = 4,     ///< asks to destroy an unmatched message
  kCancelYes = 5,  ///< it is destroyed
  kCancelNo = 6,   ///< it had matched
  kFini = 7,       ///< the sending host has no more traffic but acknowledgements
  /// Ours, sent only to clients that announced our label: the job is over. `tag` is the exit code,
  /// the payload a text.
  kAbort = 0x49530001,
  /// Ours, likewise, between neighbours on a route: `msglen` bytes of what was to be passed on have
  /// been.
  kRelayAck = 0x49530002,
};

[[nodiscard]] inline bool carries_message(PacketType type) {
  return type == PacketType::kData || type == PacketType::kDataSync;
}

inline constexpr std::size_t kPacketHeaderSize = 128;

/// Ours, in pk_reserved of a long message's first packet, which IMPI leaves unused: the send is not
/// synchronous, so that its receiver may answer by SYNCACK, and take all of it, before it has
/// matched. Sent only to clients that announced our label, and heeded only from them; without it
/// every long message waits for its match.
inline constexpr std::uint64_t kMayComeEarly = 1;

/// Those of a header's fields that differ between the packets of one process to another, in host
/// order; names are the specification's without pk_.
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

  /// Bytes that follow this header on the wire: `len` for DATA, DATASYNC and our ABORT, otherwise
  /// 0.
  [[nodiscard]] std::size_t payload_size() const {
    return carries_message(type) || type == PacketType::kAbort ? len : 0;
  }
};

/// Writes `header` to the wire form.
void encode_packet_header(const PacketHeader& header, std::span<std::byte, kPacketHeaderSize> out);

/// Overwrites these fields of a wire header, which keeps the others.
void encode_message_fields(const MessageFields& fields,
                           std::span<std::byte, kPacketHeaderSize> out);

/// Sets pk_reserved of a wire header to kMayComeEarly.
void allow_early(std::span<std::byte, kPacketHeaderSize> out);

/// Writes a packet in one piece to `place`, which has room for it: its header in wire form and its
/// payload.
inline void write_packet(std::span<const std::byte, kPacketHeaderSize> header,
                         std::span<const std::byte> payload, std::byte* place) {
  std::memcpy(place, header.data(), kPacketHeaderSize);
  if (!payload.empty()) std::memcpy(place + kPacketHeaderSize, payload.data(), payload.size());
}

/// Reads a wire header into `header`, of which nothing is told after an error. kProtocol: an
/// unknown type; a payload above `max_payload`; a payload longer than its message.
[[nodiscard]] Result<void> decode_packet_header(std::span<const std::byte, kPacketHeaderSize> in,
                                                std::uint32_t max_payload, PacketHeader& header);

}  // namespace impishim::wire
