/// The proof of membership with which each connection between processes of a job begins: both ends
/// show that they know the job's secret before a byte of the channel passes. State machines without
/// sockets; ProvingSocket drives them.
///
/// The connector (the higher host number; a proc that connects to its gateway) and the acceptor
/// exchange, in big-endian order:
///
///     connector   hello      number:Int4   magic:Uint4 (0x494d504d)   nonce_c:32 bytes proof(1):32
///     bytes acceptor    challenge  verdict:Uint4 (0)                        nonce_a:32 bytes
///     proof(2):32 bytes connector   answer     proof(3):32 bytes acceptor    welcome verdict:Uint4
///     (0)
///
/// In place of challenge or welcome the acceptor may send another verdict (Refusal) and close.
/// `number` is the connector's host number, which makes the first four bytes those of IMPI 2.3.8,
/// or its index in the host. With the job's secret as key,
///
///     proof(step) = HMAC-SHA-256("impishim link v1":16 bytes   purpose:Uint4   step:Uint4
///     connector:Int4   acceptor:Int4
///                                nonce_c:32 bytes   nonce_a:32 bytes, zeros in step 1)
///
/// where `connector` and `acceptor` are the numbers of the two ends. Both nonces are fresh for each
/// connection, so a recording of an earlier one proves nothing; the step, the purpose and the order
/// of the numbers keep a proof from being sent back or used elsewhere. The hello's own proof lets
/// the acceptor tell at once, without a further byte, who may be of the job, so that strangers
/// cannot push such a connection out; the acceptor takes each nonce_c only once.
///
/// The proof says who made the connection. It does not encrypt what follows: an attacker on the
/// path can still change that. A later encryption derives its keys from the same secret, numbers
/// and nonces.
///
/// A foreign IMPI implementation has no secret: the connector sends its number alone, as IMPI 2.3.8
/// has it.
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

/// Keeps the proofs of one kind of connections from being good for another.
enum class LinkPurpose : std::uint32_t {
  kHosts = 1,    ///< numbers are host numbers
  kGateway = 2,  ///< numbers are indices in the host
};

/// What both ends of a connection must know of each other.
struct LinkTerms {
  JobSecret secret;
  LinkPurpose purpose = LinkPurpose::kHosts;
  std::int32_t connector = 0;
  std::int32_t acceptor = 0;
};

/// Why an acceptor closes the connection of a process that may be of the job.
enum class Refusal : std::uint32_t {
  kNotAwaited = 1,    ///< its number does not connect here
  kWrongAddress = 2,  ///< it does not come from the address that its host has advertised
  kTaken = 3,         ///< a process with the same number and the right proof is connected already
  kNoProof = 4,       ///< it does not know this job's secret
  kRepeated = 5,      ///< its hello has been used before
};

/// One sentence for the connector's user.
[[nodiscard]] std::string refusal_text(Refusal refusal);

using LinkNonce = std::array<std::byte, 32>;

/// One end's part of the exchange. Read bytes into room() and no more than that: what follows
/// belongs to the channel.
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

  /// Where the next bytes of the peer belong; empty: it has none to send now.
  [[nodiscard]] std::span<std::byte> room() {
    return std::span(input_).subspan(received_, wanted_ - received_);
  }
  /// The first `count` bytes of room() have arrived. An error ends the connection, after output()
  /// has been sent: kAuthentication, the peer is not of this job, or not awaited; kAborted, the
  /// acceptor refuses; kSystem and kConfiguration as hmac_sha256().
  [[nodiscard]] Result<void> filled(std::size_t count);
  /// What is to be sent.
  [[nodiscard]] std::span<const std::byte> output() const { return output_; }
  void sent(std::size_t count) {
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  /// The exchange is over: the socket belongs to the channel.
  [[nodiscard]] bool done() const { return finished_ && output_.empty(); }

 protected:
  /// Called when all wanted bytes, the first `wanted_` of `input_`, are there.
  [[nodiscard]] virtual Result<void> step() = 0;
  /// Waits for as many bytes as `total`, counted from the beginning of `input_`; those that are
  /// there already count.
  void want(std::size_t total) { wanted_ = total; }
  /// Forgets the input and waits for `total` new bytes.
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
  /// Towards a foreign acceptor: says `number`, and that is all.
  explicit ConnectorHandshake(std::int32_t number);
  /// Towards a process of this job. Errors as fill_with_random() and hmac_sha256().
  [[nodiscard]] static Result<ConnectorHandshake> prove(const LinkTerms& terms);

 private:
  explicit ConnectorHandshake(const LinkTerms& terms);
  [[nodiscard]] Result<void> step() override;
  [[nodiscard]] Result<void> check_challenge();

  std::optional<LinkTerms> terms_;  ///< none towards a foreign acceptor
  LinkNonce nonce_{};
  bool answered_ = false;
};

/// What an acceptor thinks of a number that a connection claims.
struct LinkJudgement {
  enum class Kind : std::uint8_t {
    kTurnAway,  ///< without a word: no connection with this number is awaited
    kRefuse,    ///< with `refusal`, once its hello is there
    kTrust,     ///< a foreign implementation's: its number is all that it says
    kProve,     ///< one of this job's: after the proof
  };
  Kind kind = Kind::kProve;
  Refusal refusal = Refusal::kNotAwaited;
  std::string reason{};  ///< of kTurnAway and kRefuse, for the log
};

/// What an acceptor asks its owner.
struct LinkJudge {
  /// Asked when the number has arrived, and once more before the welcome.
  std::function<LinkJudgement(std::int32_t number)> claim;
  /// True: the hello with this nonce is the first one. Asked for hellos with the right proof only.
  std::function<bool(const LinkNonce& nonce)> is_new;
};

/// The accepting end.
class AcceptorHandshake final : public LinkHandshake {
 public:
  /// `terms`: the connector's number in them is not used; null where `judge` asks none for a proof.
  /// Both outlive this object.
  AcceptorHandshake(const LinkTerms* terms, const LinkJudge& judge)
      : terms_(terms), judge_(&judge) {
    want(kNumberSize);
  }
  /// The number that is claimed, once it has arrived.
  [[nodiscard]] std::int32_t number() const { return number_; }
  /// The number has arrived.
  [[nodiscard]] bool has_claimed() const { return stage_ != Stage::kNumber; }
  /// Its hello has shown that the connector knows the job's secret, or had done so when it was
  /// recorded.
  [[nodiscard]] bool has_greeted() const { return stage_ == Stage::kAnswer; }

 private:
  enum class Stage : std::uint8_t { kNumber, kHello, kAnswer };
  [[nodiscard]] Result<void> step() override;
  [[nodiscard]] Result<void> take_number();
  [[nodiscard]] Result<void> take_hello();
  [[nodiscard]] Result<void> take_answer();
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
