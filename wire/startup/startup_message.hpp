// SPDX-License-Identifier: Apache-2.0
/// The messages between a client and the rendezvous server (IMPI 2.3): commands, labels and
/// framing. No sockets.
///
/// Every message consists of cmd:Int4, len:Int4 and len bytes. Only two are not framed: the
/// server's answer to AUTH (which:Int4, len:Int4, len bytes) and the client's key (Uint8).
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
  /// Our command, server to client: the reason as text, before the server closes the connection. It
  /// is the only one of our commands that is also sent to foreign clients.
  kSaid = 0x53414944,
  // Our commands that are used only between a server and a client that have announced themselves to
  // each other:
  /// The client's announcement, between authentication and IMPI; foreign servers skip it as an
  /// unknown command. Our server answers with the same command before its IMPI. The payload is
  /// empty, or in an answer the token of the server's relay (RelayToken).
  kHello = 0x49534849,
  kWaiting = 0x49535754,  ///< server to client while the server waits: a WaitingNotice
  kNote = 0x49534e54,     ///< server to client: text for the user of the client
  /// From the program that started a client's processes, after kHello and instead of IMPI: all of
  /// these processes have ended (see EndedLaunch). The server answers with the same command and
  /// closes the connection. The payload of the answer is a Uint4: 1 if the client has never joined,
  /// 0 if it has or if that is not certain.
  kEnded = 0x49534544,
  /// From a client whose connection was lost after DONE, after kHello and instead of IMPI: this
  /// connection replaces the lost one. The payload is the client's number, client:Int4. There is no
  /// answer; FINI may follow.
  kReturn = 0x49535254,
  /// From a client, after DONE: whether it goes on when another client is lost. The payload is a
  /// Uint4, 1 or 0. There is no answer. A client that has sent none does not go on.
  kGoesOn = 0x4953474f,
  /// From a process that can be asked while the job runs, after kHello and instead of IMPI: a
  /// MonitorHello. The server answers with the same command and no payload.
  kMonitor = 0x49534d4f,
  /// From a program that asks, after kHello and instead of IMPI, and again after kAnswered; from
  /// the server to each process: a MonitorQuestion.
  kQuestion = 0x49535155,
  /// From a process: the number of the question, and its ProcessState; to the program that asked:
  /// the state.
  kAnswer = 0x4953414e,
  kAnswered = 0x49534144,  ///< to the program that asked, behind all answers: a MonitorEnd
};

/// The labels of IMPI 2.3.5. Values are per client (0x1000), per host (0x2000) and per proc
/// (0x3000).
enum class StartupLabel : std::uint32_t {
  /// Our label, sent by `impirun -check` alone, as the first one: length:Uint4, and so many bytes
  /// with the system's report (wire/check/report/). Its answer precedes the other labels,
  /// so that systems of other versions can be named.
  kCheckReport = 0x0E00,
  /// Our label, the first that an impishim client sends. Its answer precedes the other labels,
  /// since
  /// the hosts depend on it: procs:Int4, host procs:Int4, most channels:Int4 and gateways:Uint4 (0
  /// or
  /// 1). See SystemSize in host_size.hpp.
  kSystemSize = 0x0F00,
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
  /// Our label, sent by each impishim client: "IMPISHIM", version:Uint4, two fingerprints:Uint8
  /// (representation, choice of collectives) and traits:Uint4 (docs/protocol.md). See Client in
  /// job_map.hpp.
  kImpishim = 0x49530001,
  /// Our label, sent by systems that have gateways: for each host of the system, the index of the
  /// gateway among its procs:Uint4.
  kGateways = 0x49530010,
  /// Our label, sent by each impishim client that has libfabric providers: required:Uint1,
  /// length:Uint2, and that many bytes with libfabric's names of the providers, separated by
  /// commas. See Client::fabrics.
  kFabrics = 0x49530020,
  /// Our label: for each host of a client, length:Uint1 and that many bytes (at most kMaxNodeName)
  /// with the name of its node, for messages to users.
  kNodeNames = 0x49530028,
  /// Our label, sent by systems whose hosts have several addresses: for each host of the system,
  /// count:Uint1 (at most kMostAddresses - 1) and that many addresses of 16 bytes. See
  /// Host::more_addresses.
  kMoreAddresses = 0x4953002c,
  /// Our label, sent by each impishim client: its random contribution to the job's secret,
  /// JobSecret::kSize bytes. See job_secret.hpp.
  kSecret = 0x49530030,
};

/// Returns true for the labels of the specification, which groups them in steps of 0x1000.
[[nodiscard]] constexpr bool is_standard(std::uint32_t label) {
  return label >= 0x1000 && label <= 0xFFFF;
}

inline constexpr std::int32_t kAuthNone = 0;
inline constexpr std::int32_t kAuthKey = 1;
inline constexpr std::size_t kMaxNodeName = 64;
inline constexpr std::size_t kMaxClients = 32;  ///< client_mask has 32 bits
/// A longer payload is rejected as garbage. The limit suffices for 1,000,000 procs of 16 bytes.
inline constexpr std::uint32_t kMaxStartupPayload = 16U << 20U;

struct StartupMessage {
  std::uint32_t command = 0;
  std::vector<std::byte> payload;
};

/// Returns the framed bytes of one message.
[[nodiscard]] std::vector<std::byte> encode_startup(StartupCommand command,
                                                    std::span<const std::byte> payload);
/// Returns a COLL command of a client, which contains a label and its data.
[[nodiscard]] std::vector<std::byte> encode_coll(std::uint32_t label,
                                                 std::span<const std::byte> data);

/// Converts bytes to messages. It also returns unframed bytes, where the protocol has them.
class StartupDecoder {
 public:
  void feed(std::span<const std::byte> bytes) {
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  }
  /// Returns the next complete message, or nothing if more bytes are needed. Fails with kProtocol
  /// if a payload is longer than `limit`.
  [[nodiscard]] Result<std::optional<StartupMessage>> next(
      std::uint32_t limit = kMaxStartupPayload);
  /// Returns true if the bytes of the next message so far are, or can become, `command` with at
  /// most `limit` bytes of payload.
  [[nodiscard]] bool may_be(StartupCommand command, std::uint32_t limit) const;
  /// Returns the next `count` unframed bytes, or nothing if they have not all arrived.
  [[nodiscard]] std::optional<std::vector<std::byte>> next_raw(std::size_t count);
  [[nodiscard]] std::size_t buffered() const { return pending_.size(); }

 private:
  std::deque<std::byte> pending_;
};

/// A label with the data of all clients that have sent it.
struct CollectedLabel {
  std::uint32_t label = 0;
  std::uint32_t client_mask = 0;
  std::vector<std::byte> data;  ///< in ascending client order
};

/// The decoded answer of a server to COLL.
struct CollAnswer {
  std::uint32_t label = 0;
  std::uint32_t client_mask = 0;
  std::span<const std::byte> data;
};
[[nodiscard]] Result<CollAnswer> parse_coll_answer(std::span<const std::byte> payload);

/// What an impishim server waits for, as it reports to the clients that wait with it: the payload
/// of kWaiting.
struct WaitingNotice {
  bool joined = false;  ///< true if all have joined, so the server waits for their labels and DONE
  std::uint32_t clients = 0;  ///< in the job, 1 to kMaxClients
  std::uint32_t missing = 0;  ///< one bit for each client that the server waits for
  bool operator==(const WaitingNotice&) const = default;
};
[[nodiscard]] std::vector<std::byte> encode_waiting(const WaitingNotice& notice);
/// Returns nothing if the payload is not a notice.
[[nodiscard]] std::optional<WaitingNotice> parse_waiting(std::span<const std::byte> payload);
/// The payload of kEnded to the server: the processes of a client have ended.
struct EndedLaunch {
  std::int32_t client = 0;
  /// Time since the processes were started, in ms. A server that is younger serves another job; the
  /// server of this job had the same address before.
  std::uint64_t age_ms = 0;
  bool operator==(const EndedLaunch&) const = default;
};
[[nodiscard]] std::vector<std::byte> encode_ended(const EndedLaunch& launch);
/// Returns nothing if the payload is too short. The payload of a later version may be longer.
[[nodiscard]] std::optional<EndedLaunch> parse_ended(std::span<const std::byte> payload);
[[nodiscard]] std::vector<std::byte> encode_ended_answer(bool never_joined);
/// Returns true if the client has never joined, or nothing if the payload is too short.
[[nodiscard]] std::optional<bool> parse_ended_answer(std::span<const std::byte> payload);
/// Returns a text such as "client 1 of 2" or "clients 0, 2 of 3".
[[nodiscard]] std::string describe_missing(const WaitingNotice& notice);

}  // namespace impishim::wire
