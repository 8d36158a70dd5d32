// SPDX-License-Identifier: Apache-2.0
// What strangers may say to either end of an encrypted connection: no bytes without the key
// complete a handshake or give plaintext. Input: 1 byte (which end, and whether the genuine hello
// of a client is changed on its way), 1 byte (size of the pieces), then bytes, or what the hello is
// xored with.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/tls/tls_session.hpp"

using impishim::fuzz::Input;
using namespace impishim::wire;

namespace {

std::unique_ptr<TlsSession> session(TlsRole role) {
  TlsTerms terms;
  terms.role = role;
  terms.identity = "fuzz";
  terms.key.fill(std::byte{7});
  auto made = TlsSession::make(terms);
  FUZZ_REQUIRE(made.ok());
  return std::move(*made);
}

/// Feeds the bytes piece by piece until the session ends.
void feed(TlsSession& session, std::span<const std::byte> bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const std::size_t taken = session.feed(bytes.first(std::min(piece, bytes.size())));
    bytes = bytes.subspan(taken);
    if (!session.advance_handshake()) return;
    FUZZ_REQUIRE(taken > 0);
    FUZZ_REQUIRE(!session.done());
  }
}

std::vector<std::byte> changed_hello(Input& input) {
  auto client = session(TlsRole::kClient);
  FUZZ_REQUIRE(client->advance_handshake().ok());
  std::vector<std::byte> hello(client->output().begin(), client->output().end());
  for (std::byte& each : hello) each ^= static_cast<std::byte>(input.byte());
  return hello;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto what = input.byte() % 3;
  const std::size_t piece = 1U + input.byte();
  auto end = session(what == 0 ? TlsRole::kClient : TlsRole::kServer);
  if (what == 0) FUZZ_REQUIRE(end->advance_handshake().ok());
  if (what == 2) {
    const auto hello = changed_hello(input);
    feed(*end, hello, piece);
  }
  feed(*end, input.rest(), piece);
  FUZZ_REQUIRE(!end->done());
  return 0;
}
