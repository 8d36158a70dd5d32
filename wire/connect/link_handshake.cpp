// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/link_handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"

namespace impishim::wire {
namespace {

constexpr std::string_view kVersion = "impishim link v1";
constexpr std::uint32_t kGoOn = 0;

enum class Step : std::uint32_t { kHello = 1, kChallenge = 2, kAnswer = 3 };

/// Returns the proof for `step` of the connection of `connector`, which chose `nonce_c`.
Result<Digest> proof_of(Step step, const LinkTerms& terms, std::int32_t connector,
                        const LinkNonce& nonce_c, const LinkNonce& nonce_a) {
  ByteWriter text;
  text.put_bytes(std::as_bytes(std::span(kVersion)));
  text.put(static_cast<std::uint32_t>(terms.purpose));
  text.put(static_cast<std::uint32_t>(step));
  text.put(connector);
  text.put(terms.acceptor);
  text.put_bytes(nonce_c);
  text.put_bytes(nonce_a);
  return hmac_sha256(terms.secret.bytes(), text.bytes());
}

void copy_nonce(std::span<const std::byte> from, LinkNonce& nonce) {
  std::copy_n(from.begin(), nonce.size(), nonce.begin());
}

Error stranger(const std::string& reason) { return {ErrorKind::kAuthentication, reason}; }

}  // namespace

std::string refusal_text(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNotAwaited:
      return "it does not await this process";
    case Refusal::kTaken:
      return "another connection has taken this process's place";
    case Refusal::kNoProof:
      return "it does not take this process for one of its job: another job's process listens "
             "there";
    case Refusal::kRepeated:
      return "it has seen this connection's first message before: a recorded connection is being "
             "replayed";
  }
  return fmt::format("it refuses this process (reason {})", static_cast<std::uint32_t>(refusal));
}

Result<void> LinkHandshake::filled(std::size_t count) {
  received_ += count;
  return received_ == wanted_ ? step() : Result<void>();
}

void LinkHandshake::say(std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, std::back_inserter(output_));
}

ConnectorHandshake::ConnectorHandshake(std::int32_t number) {
  std::array<std::byte, kNumberSize> bytes;
  store_big_endian(bytes.data(), number);
  say(bytes);
  finish();
}

ConnectorHandshake::ConnectorHandshake(const LinkTerms& terms) : terms_(terms) {
  want(kVerdictSize);
}

Result<ConnectorHandshake> ConnectorHandshake::prove(const LinkTerms& terms) {
  ConnectorHandshake made(terms);
  auto filled = fill_with_random(made.nonce_);
  if (!filled) return filled.error();
  auto proof = proof_of(Step::kHello, terms, terms.connector, made.nonce_, LinkNonce{});
  if (!proof) return proof.error();
  ByteWriter hello;
  hello.put(terms.connector);
  hello.put(kMagic);
  hello.put_bytes(made.nonce_);
  hello.put_bytes(*proof);
  made.say(hello.bytes());
  return made;
}

Result<void> ConnectorHandshake::step() {
  const auto verdict = load_big_endian<std::uint32_t>(input().data());
  if (verdict != kGoOn) {
    refusal_ = static_cast<Refusal>(verdict);
    return Error{ErrorKind::kAborted, refusal_text(*refusal_)};
  }
  if (input().size() == kChallengeSize) return check_challenge();
  if (!answered_) {
    want(kChallengeSize);
  } else if (terms_->reversed) {
    must_decide_ = true;
    want_new(0);
  } else {
    finish();
  }
  return {};
}

void ConnectorHandshake::keep() {
  std::array<std::byte, kVerdictSize> decision;
  store_big_endian(decision.data(), kGoOn);
  say(decision);
  must_decide_ = false;
  finish();
}

Result<void> ConnectorHandshake::check_challenge() {
  LinkNonce nonce_a;
  copy_nonce(input().subspan(kVerdictSize), nonce_a);
  auto expected = proof_of(Step::kChallenge, *terms_, terms_->connector, nonce_, nonce_a);
  if (!expected) return expected.error();
  if (!equal_in_constant_time(*expected, input().last(kProofSize))) {
    return stranger("what listens there does not know this job's secret");
  }
  auto answer = proof_of(Step::kAnswer, *terms_, terms_->connector, nonce_, nonce_a);
  if (!answer) return answer.error();
  say(*answer);
  answered_ = true;
  want_new(kVerdictSize);
  return {};
}

Error AcceptorHandshake::refuse(Refusal refusal, const std::string& reason) {
  std::array<std::byte, kVerdictSize> bytes;
  store_big_endian(bytes.data(), static_cast<std::uint32_t>(refusal));
  say(bytes);
  return stranger(reason);
}

Result<void> AcceptorHandshake::step() {
  switch (stage_) {
    case Stage::kNumber:
      return take_number();
    case Stage::kHello:
      return take_hello();
    case Stage::kAnswer:
      return take_answer();
    case Stage::kDecision:
      break;
  }
  return take_decision();
}

Result<void> AcceptorHandshake::take_number() {
  number_ = load_big_endian<std::int32_t>(input().data());
  stage_ = Stage::kHello;
  judgement_ = judge_->claim(number_);
  if (judgement_.kind == LinkJudgement::Kind::kTurnAway) return stranger(judgement_.reason);
  if (judgement_.kind == LinkJudgement::Kind::kTooEarly)
    return Error{ErrorKind::kConnection, judgement_.reason};
  if (judgement_.kind == LinkJudgement::Kind::kTrust)
    finish();
  else
    want(kHelloSize);
  return {};
}

Result<void> AcceptorHandshake::take_hello() {
  if (load_big_endian<std::uint32_t>(input().data() + kNumberSize) != kMagic) {
    return stranger(fmt::format("it claims to be number {} and gives no proof", number_));
  }
  copy_nonce(input().subspan(kNumberSize + 4), connector_nonce_);
  auto expected = proof_of(Step::kHello, *terms_, number_, connector_nonce_, LinkNonce{});
  if (!expected) return expected.error();
  if (!equal_in_constant_time(*expected, input().last(kProofSize))) {
    return refuse(
        Refusal::kNoProof,
        fmt::format("it claims to be number {} and does not know this job's secret", number_));
  }
  if (judgement_.kind == LinkJudgement::Kind::kRefuse) {
    const Error refused = refuse(judgement_.refusal, judgement_.reason);
    // A process of the job that has another connection is no stranger.
    return judgement_.refusal == Refusal::kTaken ? Error{ErrorKind::kConnection, refused.text}
                                                 : refused;
  }
  if (!judge_->is_new(connector_nonce_)) {
    return refuse(Refusal::kRepeated,
                  fmt::format("it repeats a recorded message of number {}", number_));
  }
  auto filled = fill_with_random(nonce_);
  if (!filled) return filled.error();
  auto proof = proof_of(Step::kChallenge, *terms_, number_, connector_nonce_, nonce_);
  if (!proof) return proof.error();
  ByteWriter challenge;
  challenge.put(kGoOn);
  challenge.put_bytes(nonce_);
  challenge.put_bytes(*proof);
  say(challenge.bytes());
  stage_ = Stage::kAnswer;
  want_new(kProofSize);
  return {};
}

Result<void> AcceptorHandshake::take_answer() {
  auto expected = proof_of(Step::kAnswer, *terms_, number_, connector_nonce_, nonce_);
  if (!expected) return expected.error();
  if (!equal_in_constant_time(*expected, input())) {
    return refuse(
        Refusal::kNoProof,
        fmt::format("it claims to be number {} and does not know this job's secret", number_));
  }
  const LinkJudgement again = judge_->claim(number_);
  if (again.kind == LinkJudgement::Kind::kRefuse) return refuse(again.refusal, again.reason);
  std::array<std::byte, kVerdictSize> welcome;
  store_big_endian(welcome.data(), kGoOn);
  say(welcome);
  if (again.reversed) {
    stage_ = Stage::kDecision;
    want_new(kVerdictSize);
  } else {
    finish();
  }
  return {};
}

Result<void> AcceptorHandshake::take_decision() {
  if (load_big_endian<std::uint32_t>(input().data()) != kGoOn)
    return stranger(fmt::format("number {} does not keep the connection", number_));
  finish();
  return {};
}

}  // namespace impishim::wire
