// SPDX-License-Identifier: Apache-2.0
// What comes to the relay of the rendezvous server, and what the relay answers.
#include <algorithm>
#include <array>
#include <cstddef>

#include "tests/fuzz/fuzz.hpp"
#include "wire/relay/relay_hello.hpp"

using namespace impishim::wire;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto hello = decode_relay_hello(bytes);
  if (hello && hello->has_value()) {
    FUZZ_REQUIRE(bytes.size() >= kRelayHelloSize);
    FUZZ_REQUIRE(check_relay_ends((*hello)->ends).ok());
    FUZZ_REQUIRE(std::ranges::equal(encode_relay_hello(**hello), bytes.first(kRelayHelloSize)));
  } else if (hello) {
    FUZZ_REQUIRE(bytes.size() < kRelayHelloSize);
  }
  if (bytes.size() >= kRelayAnswerSize) {
    const auto first = bytes.first<kRelayAnswerSize>();
    FUZZ_REQUIRE(check_relay_answer(first).ok() ==
                 std::ranges::equal(first, encode_relay_answer()));
  }
  return 0;
}
