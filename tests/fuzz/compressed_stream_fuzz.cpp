// SPDX-License-Identifier: Apache-2.0
// What a peer may say in a compressed stream. Input: 1 byte (size of what comes at once), 1 byte
// (size of a call's room), then pieces, one byte and its arguments each: plain ones, genuine
// compressed ones, one of which a byte is changed, and bytes that are none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/wire/compress/compress_support.hpp"
#include "wire/base/result.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/piece_decoder.hpp"
#include "wire/compress/piece_encoder.hpp"

using impishim::ErrorKind;
using impishim::fuzz::Input;
using namespace impishim::wire;
using test::Bytes;

namespace {

/// What the peer says, and what a decoder must make of its genuine part.
struct Speech {
  Bytes stream;
  Bytes expected;
  bool genuine = true;  ///< all of it
};

void say_compressed(Speech& speech, PieceEncoder& encoder, Input& input) {
  constexpr std::size_t kRepeats = 16;
  const auto pattern = input.bytes(1U + input.byte());
  Bytes bytes;
  for (std::size_t i = 0; i < kRepeats; ++i) test::append(bytes, pattern);
  if (bytes.empty() || !test::append_compressed(speech.stream, encoder, bytes)) return;
  if (speech.genuine) test::append(speech.expected, bytes);
}

Speech speech_of(Input& input) {
  Speech speech;
  PieceEncoder encoder;
  while (!input.empty()) {
    const std::size_t begin = speech.stream.size();
    switch (input.byte() % 5) {
      case 0: {
        const auto bytes = input.bytes(input.byte());
        if (bytes.empty()) break;
        test::append_plain(speech.stream, bytes);
        if (speech.genuine) test::append(speech.expected, bytes);
        break;
      }
      case 1:
      case 2:
        say_compressed(speech, encoder, input);
        break;
      case 3: {
        const std::size_t before = speech.expected.size();
        say_compressed(speech, encoder, input);
        if (speech.stream.size() == begin) break;
        const auto change = static_cast<std::byte>(1U + input.byte() % 255U);
        speech.stream[begin + input.byte() % (speech.stream.size() - begin)] ^= change;
        speech.expected.resize(before);
        speech.genuine = false;
        break;
      }
      default:
        test::append(speech.stream, input.bytes(input.byte()));
        speech.genuine = false;
    }
  }
  return speech;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t at_once = 1U + input.byte() * std::size_t{16};
  Bytes memory(1U + input.byte() * std::size_t{16});
  const Speech speech = speech_of(input);
  PieceDecoder decoder;
  std::span<const std::byte> rest = speech.stream;
  const iovec piece{memory.data(), memory.size()};
  Bytes all;
  for (;;) {
    auto got = decoder.read(std::span(&piece, 1));
    if (!got) {
      FUZZ_REQUIRE(got.error().kind == ErrorKind::kProtocol);
      FUZZ_REQUIRE(!speech.genuine);
      break;
    }
    FUZZ_REQUIRE(*got <= memory.size());
    test::append(all, std::span(memory).first(*got));
    if (*got > 0) continue;
    if (rest.empty()) break;
    const auto room = decoder.input_room();
    FUZZ_REQUIRE(!room.empty());
    const std::size_t taken = std::min({at_once, room.size(), rest.size()});
    std::ranges::copy(rest.first(taken), room.begin());
    decoder.add_input(taken);
    rest = rest.subspan(taken);
  }
  const std::size_t common = std::min(all.size(), speech.expected.size());
  FUZZ_REQUIRE(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(common),
                          speech.expected.begin()));
  if (speech.genuine) FUZZ_REQUIRE(all == speech.expected && decoder.between_pieces());
  return 0;
}
