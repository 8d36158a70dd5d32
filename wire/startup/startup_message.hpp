/// What client and rendezvous server say to each other (IMPI 2.3): commands, labels, framing. No
/// sockets.
///
/// Every message is cmd:Int4, len:Int4 and len bytes; only the server's answer to AUTH (which:Int4,
/// len:Int4, len bytes) and the client's key (Uint8) are not framed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

enum class StartupCommand : std::uint32_t {
  kAuth = 0x41555448,
  kImpi = 0x494D5049,
  kColl = 0x434F4C4C,
  kDone = 0x444F4E45,
  kFini = 0x46494E49,
  /// Ours, server to client before it closes the connection: why, as text. Also sent to foreign
  /// clients, which are told nothing more.
  kSaid = 0x53414944,
  // Ours, only between a server and a client that have announced themselves to each other:
  /// The client's announcement, between authentication and IMPI; other servers skip it as a command
  /// that they do not know. The server answers it with the same before its IMPI. The payload is
  /// empty; later versions may send one, which is skipped.
  kHello = 0x49534849,
  kWaiting = 0x49535754,  ///< server to client while it waits: a WaitingNotice
  kNote = 0x49534e54,     ///< server to client: text for its user
  /// From what has started a client's processes, after kHello and instead of IMPI: all of them have
  /// ended, see EndedLaunch. The server answers with the same command, whether that client has
  /// never joined:Uint4 (0: it has, or that is not certain), and closes.
  kEnded = 0x49534544,
};

/// IMPI 2.3.5; values are per client (0x1000), per host (0x2000) and per proc (0x3000).
enum class StartupLabel : std::uint32_t {
  kVersion = 0x1000,
  kNHosts = 0x1100,
  kNProcs = 0x1200,
  kDataLen = 0x1300,
  kTagUb = 0x1400,
  kCollXSize = 0x1500,
  kCollMaxLinear = 0x1600,
  kHostIpv6 = 0x2000,
  kHostPort = 0x2100,
  kHostNProcs = 0x2200,
  kHostAckMark = 0x2300,
  kHostHiWater = 0x2400,
  kProcIpv6 = 0x3000,
  kProcPid = 0x3100,
  /// Ours: "IMPISHIM", version:Uint4, fingerprints of representation and choice of
  /// collectives:Uint8 each, concurrent:Uint4 (0 or 1), of each impishim client: see Client in
  /// job_map.hpp.
  kImpishim = 0x49530001,
  /// Ours, of the systems that have gateways: for each of their hosts, the index of the gateway
  /// among its procs:Uint4.
  kGateways = 0x49530010,
  /// Ours, of each impishim client that has any: required:Uint1, length:Uint2 and as many bytes,
  /// libfabric's names of providers between commas: see Client::fabrics.
  kFabrics = 0x49530020,
  /// Ours: for each of a client's hosts, length:Uint1 and as many bytes, the name of its node (at
  /// most kMaxNodeName bytes), which messages to users show.
  kNodeNames = 0x49530028,
  /// Ours, of each impishim client: its random contribution to the job's secret, JobSecret::kSize
  /// bytes: see job_secret.hpp.
  kSecret = 0x49530030,
};

/// Labels above this one are not the specification's, which groups its own by 0x1000.
inline constexpr std::uint32_t kLastStandardLabel = 0xFFFF;

inline constexpr std::int32_t kAuthNone = 0;
inline constexpr std::int32_t kAuthKey = 1;
inline constexpr std::size_t kMaxNodeName = 64;
inline constexpr std::size_t kMaxClients = 32;  ///< client_mask has 32 bits
/// A longer payload is garbage: 1,000,000 procs of 16 bytes fit.
inline constexpr std::uint32_t kMaxStartupPayload = 16U << 20U;

struct StartupMessage {
  std::uint32_t command = 0;
  std::vector<std::byte> payload;
};

/// The framed bytes of one message.
[[nodiscard]] std::vector<std::byte> encode_startup(StartupCommand command,
                                                    std::span<const std::byte> payload);
/// A COLL command of a client: label and data.
[[nodiscard]] std::vector<std::byte> encode_coll(std::uint32_t label,
                                                 std::span<const std::byte> data);

/// Bytes in, messages out. Also hands out unframed bytes where the protocol has them.
class StartupDecoder {
 public:
  void feed(std::span<const std::byte> bytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  }
  /// The next whole message; nothing: more bytes are needed. kProtocol: a payload longer than
  /// `limit`.
  [[nodiscard]] Result<std::optional<StartupMessage>> next(
      std::uint32_t limit = kMaxStartupPayload);
  /// What has come of the next message is, or can become, `command` with at most `limit` bytes of
  /// payload.
  [[nodiscard]] bool may_be(StartupCommand command, std::uint32_t limit) const;
  /// The next `count` unframed bytes, or nothing yet.
  [[nodiscard]] std::optional<std::vector<std::byte>> next_raw(std::size_t count);
  [[nodiscard]] std::size_t buffered() const { return pending_.size(); }

 private:
  std::deque<std::byte> pending_;
};

/// A server's answer to COLL, taken apart.
struct CollAnswer {
  std::uint32_t label = 0;
  std::uint32_t client_mask = 0;
  std::span<const std::byte> data;
};
[[nodiscard]] Result<CollAnswer> parse_coll_answer(std::span<const std::byte> payload);

/// What a server of ours waits for, as it tells the clients that wait with it: kWaiting's payload.
struct WaitingNotice {
  bool joined = false;        ///< all have joined; their labels and DONE are awaited
  std::uint32_t clients = 0;  ///< of the job, 1 to kMaxClients
  std::uint32_t missing = 0;  ///< a bit for each client that is awaited
  bool operator==(const WaitingNotice&) const = default;
};
[[nodiscard]] std::vector<std::byte> encode_waiting(const WaitingNotice& notice);
/// Returns nothing for a payload that is no notice.
[[nodiscard]] std::optional<WaitingNotice> parse_waiting(std::span<const std::byte> payload);
/// The processes of a client have ended: kEnded's payload to the server.
struct EndedLaunch {
  std::int32_t client = 0;
  /// How long ago they were started, in ms. A server that is younger serves another job: its
  /// predecessor had the same address.
  std::uint64_t age_ms = 0;
  bool operator==(const EndedLaunch&) const = default;
};
[[nodiscard]] std::vector<std::byte> encode_ended(const EndedLaunch& launch);
/// Returns nothing for a payload that is too short; a later version's may be longer.
[[nodiscard]] std::optional<EndedLaunch> parse_ended(std::span<const std::byte> payload);
[[nodiscard]] std::vector<std::byte> encode_ended_answer(bool never_joined);
/// Returns whether the client has never joined; nothing for a payload that is too short.
[[nodiscard]] std::optional<bool> parse_ended_answer(std::span<const std::byte> payload);
/// "client 1 of 2", "clients 0, 2 of 3".
[[nodiscard]] std::string describe_missing(const WaitingNotice& notice);

}  // namespace impishim::wire
