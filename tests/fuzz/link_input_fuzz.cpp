// SPDX-License-Identifier: Apache-2.0
// The decoder of a link's input. Input: 2 bytes (largest payload), 1 byte (seed of the reads and of
// the places), 1 byte (kind), then the stream: as it is, or 4 bytes for each packet.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/wire/link/decoded_stream.hpp"
#include "wire/packet/packet.hpp"

namespace {

using impishim::fuzz::Input;
using impishim::wire::PacketHeader;
using impishim::wire::PacketType;

/// Returns a stream of valid packets. Neighbours often belong to the same message.
std::vector<std::byte> valid_stream(Input& input, std::uint32_t max_payload) {
  constexpr std::uint32_t kMostPackets = 64;
  std::vector<std::byte> stream;
  for (std::uint32_t i = 0; i < kMostPackets && !input.empty(); ++i) {
    PacketHeader header;
    header.type = static_cast<PacketType>(input.byte() % 8);
    header.drqid = input.byte() % 3;
    header.msglen = 4 * std::uint64_t{max_payload};
    const std::uint32_t high = input.byte();
    const std::uint32_t size = (high << 8U | input.byte()) % (max_payload + 1);
    impishim::wire::test::append_packet(stream, header, size, i);
  }
  return stream;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto high = static_cast<std::uint32_t>(input.byte());
  const std::uint32_t max_payload = high << 8U | input.byte();
  const unsigned seed = input.byte();
  std::vector<std::byte> stream;
  if (input.byte() % 2 == 0) {
    stream = valid_stream(input, max_payload);
  } else {
    const auto rest = input.rest();
    stream.assign(rest.begin(), rest.end());
  }
  impishim::wire::test::DecodedStream decoded(stream, max_payload, seed);
  FUZZ_REQUIRE(!decoded.run());
  return 0;
}
