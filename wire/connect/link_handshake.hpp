// SPDX-License-Identifier: Apache-2.0
/// The proof of membership at the beginning of each connection between processes of a job. Both
/// ends show that they know the job's secret before a byte of the channel is sent. The classes are
/// state machines without sockets; link_socket.hpp and link_acceptor.hpp drive them.
///
/// The connector is usually the host with the higher number, or a proc that connects to its
/// gateway. It exchanges these messages with the acceptor, in big-endian order. Each nonce and each
/// proof has 32 bytes.
///
///     connector  hello      number:Int4  magic:Uint4 (0x494d504d)  nonce_c  proof(1)
///     acceptor   challenge  verdict:Uint4 (0)  nonce_a  proof(2)
///     connector  answer     proof(3)
///     acceptor   welcome    verdict:Uint4 (0)
///
/// If the connector is the host with the lower number (a reversed connection), it decides whether
/// the connection is kept, because a connection in the other direction may be complete first:
///
///     connector  decision   verdict:Uint4 (0)
///
/// Without a decision the connector closes. Instead of challenge or welcome the acceptor may send
/// another verdict (Refusal) and close. `number` is the connector's host number, with that of the
/// lane (host_mesh.hpp), or its index in the host. On the first lane the first four bytes are
/// therefore those of IMPI 2.3.8. With the job's secret as key,
///
///     proof(step) = HMAC-SHA-256("impishim link v1":16 bytes  purpose:Uint4  step:Uint4
///                                connector:Int4  acceptor:Int4
///                                nonce_c:32 bytes  nonce_a:32 bytes, zeros in step 1)
///
/// where `connector` and `acceptor` are the numbers of the two ends. Both nonces are new for each
/// connection, so a recording of an earlier connection proves nothing. Because of the step, the
/// purpose and the order of the numbers, a proof cannot be sent back or used elsewhere. The proof
/// in the hello lets the acceptor recognise a possible member of the job at once, without a further
/// byte. So strangers cannot displace such a connection. The acceptor takes each nonce_c only once.
///
/// The proof shows which process made the connection. It does not encrypt the following bytes, so
/// an attacker on the path can still change them. A later encryption can derive its keys from the
/// same secret, numbers and nonces.
///
/// A foreign IMPI implementation has no secret. To such an acceptor the connector sends its number
/// alone, as IMPI 2.3.8 defines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"

namespace impishim::wire {

/// The kind of a connection. It prevents the use of a proof for another kind of connection.
enum class LinkPurpose : std::uint32_t {
  kHosts = 1,    ///< numbers are host numbers
  kGateway = 2,  ///< numbers are indices in the host
  kPort = 3,     ///< of MPI_Open_port: the acceptor is 0, the connector 1
  kResume = 4,   ///< as kHosts, of a connection that replaces a lost one
};

/// The data that both ends of a connection must know about each other.
struct LinkTerms {
  JobSecret secret;
  LinkPurpose purpose = LinkPurpose::kHosts;
  std::int32_t connector = 0;
  std::int32_t acceptor = 0;
  bool reversed = false;  ///< true if the connector decides whether the connection is kept
};

/// Reasons why an acceptor closes a connection whose process may belong to the job.
enum class Refusal : std::uint32_t {
  kNotAwaited = 1,  ///< a process with its number does not connect here
  kTaken = 3,       ///< a process with the same number and the right proof is connected already
  kNoProof = 4,     ///< it does not know the job's secret
  kRepeated = 5,    ///< its hello was used before
};

/// Returns one sentence for the connector's user.
[[nodiscard]] std::string refusal_text(Refusal refusal);

using LinkNonce = std::array<std::byte, 32>;

/// One end of the exchange. The owner reads bytes into room(), and no more than fit, because the
/// following bytes belong to the channel.
class LinkHandshake {
 public:
  static constexpr std::uint32_t kMagic = 0x494d504d;
  static constexpr std::size_t kNumberSize = 4;
  static constexpr std::size_t kVerdictSize = 4;
  static constexpr std::size_t kProofSize = 32;
  static constexpr std::size_t kHelloSize = kNumberSize + 4 + sizeof(LinkNonce) + kProofSize;
  static constexpr std::size_t kChallengeSize = kVerdictSize + sizeof(LinkNonce) + kProofSize;

  LinkHandshake() = default;
  LinkHandshake(LinkHandshake&&) = default;
  LinkHandshake& operator=(LinkHandshake&&) = default;
  LinkHandshake(const LinkHandshake&) = delete;
  LinkHandshake& operator=(const LinkHandshake&) = delete;
  virtual ~LinkHandshake() = default;

  /// Returns the place for the next bytes of the peer. It is empty if the peer has nothing to send
  /// now.
  [[nodiscard]] std::span<std::byte> room() {
    return std::span(input_).subspan(received_, wanted_ - received_);
  }
  /// Reports that the first `count` bytes of room() have arrived. An error ends the connection
  /// after output() has been sent. Fails with kAuthentication if the peer does not belong to this
  /// job or is not expected, with kAborted if the acceptor refuses, and with kSystem and
  /// kConfiguration as hmac_sha256() does.
  [[nodiscard]] Result<void> filled(std::size_t count);
  /// Returns the bytes to send.
  [[nodiscard]] std::span<const std::byte> output() const { return output_; }
  void sent(std::size_t count) {
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  /// Returns true if the exchange is complete and the socket belongs to the channel.
  [[nodiscard]] bool done() const { return finished_ && output_.empty(); }

 protected:
  /// Handles the wanted bytes, the first `wanted_` bytes of `input_`. Called when all of them have
  /// arrived.
  [[nodiscard]] virtual Result<void> step() = 0;
  /// Waits for `total` bytes, counted from the beginning of `input_`. Bytes that have already
  /// arrived count.
  void want(std::size_t total) { wanted_ = total; }
  /// Drops the input and waits for `total` new bytes.
  void want_new(std::size_t total) {
    received_ = 0;
    wanted_ = total;
  }
  void say(std::span<const std::byte> bytes);
  void finish() {
    finished_ = true;
    want_new(0);
  }
  [[nodiscard]] std::span<const std::byte> input() const {
    return std::span(input_).first(wanted_);
  }

 private:
  std::array<std::byte, kHelloSize> input_{};
  std::size_t received_ = 0;
  std::size_t wanted_ = 0;
  std::vector<std::byte> output_;
  bool finished_ = false;
};

/// The connecting end.
class ConnectorHandshake final : public LinkHandshake {
 public:
  /// Connects to a foreign acceptor, and sends only `number`.
  explicit ConnectorHandshake(std::int32_t number);
  /// Connects to a process of this job. Fails as fill_with_random() and hmac_sha256() do.
  [[nodiscard]] static Result<ConnectorHandshake> prove(const LinkTerms& terms);
  /// Returns the acceptor's reason if it has refused.
  [[nodiscard]] std::optional<Refusal> refusal() const { return refusal_; }
  /// Returns true if the acceptor of a reversed connection waits for the decision.
  [[nodiscard]] bool must_decide() const { return must_decide_; }
  /// Tells the acceptor that the connection is kept. Only if must_decide().
  void keep();

 private:
  explicit ConnectorHandshake(const LinkTerms& terms);
  [[nodiscard]] Result<void> step() override;
  [[nodiscard]] Result<void> check_challenge();

  std::optional<LinkTerms> terms_;  ///< nothing if the acceptor is foreign
  LinkNonce nonce_{};
  bool answered_ = false;
  bool must_decide_ = false;
  std::optional<Refusal> refusal_;
};

/// An acceptor's decision about the number that a connection claims.
struct LinkJudgement {
  enum class Kind : std::uint8_t {
    kTurnAway,  ///< close without an answer: no connection with this number is expected
    kTooEarly,  ///< close without an answer: it will be expected soon
    kRefuse,    ///< send `refusal` when the hello has arrived
    kTrust,     ///< a foreign implementation, which sends only its number
    kProve,     ///< a process of this job, which must prove that
  };
  Kind kind = Kind::kProve;
  Refusal refusal = Refusal::kNotAwaited;
  std::string reason{};   ///< of kTurnAway and kRefuse, for the log
  bool reversed = false;  ///< true if the connector decides whether the connection is kept
};

/// The questions of an acceptor to its owner.
struct LinkJudge {
  /// Called when the number has arrived, and again before the welcome.
  std::function<LinkJudgement(std::int32_t number)> claim;
  /// Returns true if the hello with this nonce is the first one. Called only for hellos with a
  /// valid proof.
  std::function<bool(const LinkNonce& nonce)> is_new;
};

/// The accepting end.
class AcceptorHandshake final : public LinkHandshake {
 public:
  /// The connector's number in `terms` is not used. `terms` may be null if `judge` never requires a
  /// proof. Both arguments must outlive this object.
  AcceptorHandshake(const LinkTerms* terms, const LinkJudge& judge)
      : terms_(terms), judge_(&judge) {
    want(kNumberSize);
  }
  /// Returns the claimed number, after it has arrived.
  [[nodiscard]] std::int32_t number() const { return number_; }
  /// Returns true if the number has arrived.
  [[nodiscard]] bool has_claimed() const { return stage_ != Stage::kNumber; }
  /// Returns true if the hello has shown that the connector knows the job's secret, or knew it when
  /// the hello was recorded.
  [[nodiscard]] bool has_greeted() const { return stage_ >= Stage::kAnswer; }

 private:
  enum class Stage : std::uint8_t { kNumber, kHello, kAnswer, kDecision };
  [[nodiscard]] Result<void> step() override;
  [[nodiscard]] Result<void> take_number();
  [[nodiscard]] Result<void> take_hello();
  [[nodiscard]] Result<void> take_answer();
  [[nodiscard]] Result<void> take_decision();
  [[nodiscard]] Error refuse(Refusal refusal, const std::string& reason);

  const LinkTerms* terms_;
  const LinkJudge* judge_;
  LinkJudgement judgement_;
  Stage stage_ = Stage::kNumber;
  std::int32_t number_ = -1;
  LinkNonce connector_nonce_{};
  LinkNonce nonce_{};
};

}  // namespace impishim::wire
