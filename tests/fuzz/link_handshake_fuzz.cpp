// SPDX-License-Identifier: Apache-2.0
// What the other end of a host channel may say before it is known: both ends of the handshake, fed
// with raw bytes, and a genuine exchange of which every byte can be changed on its way. Input: 1
// byte (what is fed), 1 byte (size of the pieces in which bytes arrive), then the bytes, or what
// genuine bytes are xored with.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/connect/link_handshake.hpp"

using impishim::JobSecret;
using impishim::fuzz::Input;
using namespace impishim::wire;

namespace {

constexpr std::int32_t kOurs = 1;
constexpr std::int32_t kForeign = 2;
constexpr std::int32_t kRefused = 3;

const LinkTerms& terms() {
  static const LinkTerms known{*JobSecret::random(), LinkPurpose::kHosts, kOurs, 0};
  return known;
}

LinkJudge judge() {
  return {[](std::int32_t number) -> LinkJudgement {
            using Kind = LinkJudgement::Kind;
            if (number == kOurs) return {Kind::kProve, {}, {}};
            if (number == kForeign) return {Kind::kTrust, {}, {}};
            if (number == kRefused) return {Kind::kRefuse, Refusal::kTaken, "taken"};
            return {Kind::kTurnAway, {}, "unknown"};
          },
          [](const LinkNonce&) { return true; }};
}

/// Fills the room of `handshake` with at most `piece` bytes of `input`. False: it has ended, or
/// wants none.
bool feed(LinkHandshake& handshake, Input& input, std::size_t piece) {
  const auto room = handshake.room();
  FUZZ_REQUIRE(room.size() <= LinkHandshake::kHelloSize);
  const auto bytes = input.bytes(std::min(piece, room.size()));
  if (bytes.empty()) return false;
  std::copy(bytes.begin(), bytes.end(), room.begin());
  return handshake.filled(bytes.size()).ok();
}

/// No bytes without the secret make an end believe.
void feed_acceptor(Input& input, std::size_t piece) {
  const LinkJudge asked = judge();
  AcceptorHandshake acceptor(&terms(), asked);
  while (feed(acceptor, input, piece)) FUZZ_REQUIRE(!acceptor.has_greeted());
  FUZZ_REQUIRE(!acceptor.done() || acceptor.number() == kForeign);
}

void feed_connector(Input& input, std::size_t piece) {
  auto connector = ConnectorHandshake::prove(terms());
  FUZZ_REQUIRE(connector.ok());
  connector->sent(connector->output().size());
  while (feed(*connector, input, piece)) FUZZ_REQUIRE(connector->output().empty());
  FUZZ_REQUIRE(!connector->done());
}

/// What has been changed on the way of an exchange.
struct Road {
  Input& changes;
  std::size_t piece;
  bool changed = false;

  /// Moves all that `from` has to say to `to`. False: `to` does not go on.
  bool carry(LinkHandshake& from, LinkHandshake& to) {
    while (!from.output().empty() && !to.room().empty()) {
      const auto room = to.room();
      const std::size_t size = std::min({piece, room.size(), from.output().size()});
      for (std::size_t i = 0; i < size; ++i) {
        const auto change = static_cast<std::byte>(changes.byte());
        changed = changed || change != std::byte{0};
        room[i] = from.output()[i] ^ change;
      }
      from.sent(size);
      if (!to.filled(size)) return false;
    }
    return true;
  }
};

/// An exchange succeeds if and only if nothing of it was changed.
void change_on_the_way(Input& input, std::size_t piece) {
  auto connector = ConnectorHandshake::prove(terms());
  FUZZ_REQUIRE(connector.ok());
  const LinkJudge asked = judge();
  AcceptorHandshake acceptor(&terms(), asked);
  Road road{input, piece};
  const bool greeted = road.carry(*connector, acceptor);
  if (acceptor.number() == kForeign) return;
  FUZZ_REQUIRE(greeted == !road.changed);
  const bool challenged = greeted && road.carry(acceptor, *connector);
  FUZZ_REQUIRE(challenged == !road.changed);
  const bool answered = challenged && road.carry(*connector, acceptor);
  FUZZ_REQUIRE(answered == !road.changed);
  const bool welcome = answered && road.carry(acceptor, *connector);
  FUZZ_REQUIRE(welcome == !road.changed);
  FUZZ_REQUIRE(connector->done() == welcome);
  FUZZ_REQUIRE(acceptor.done() == answered);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto what = input.byte() % 3;
  const std::size_t piece = 1U + input.byte();
  if (what == 0) feed_acceptor(input, piece);
  if (what == 1) feed_connector(input, piece);
  if (what == 2) change_on_the_way(input, piece);
  return 0;
}
