// SPDX-License-Identifier: Apache-2.0
// A host's stream of packets. Input: 2 bytes (most payload bytes agreed on), then the stream.
#include <algorithm>
#include <array>

#include "tests/fuzz/fuzz.hpp"
#include "wire/packet/packet.hpp"

using impishim::fuzz::Input;
using impishim::wire::decode_packet_header;
using impishim::wire::encode_packet_header;
using impishim::wire::kPacketHeaderSize;
using impishim::wire::PacketType;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto high = static_cast<std::uint32_t>(input.byte());
  const std::uint32_t agreed = high << 8U | input.byte();
  for (auto wire = input.bytes(kPacketHeaderSize); wire.size() == kPacketHeaderSize;
       wire = input.bytes(kPacketHeaderSize)) {
    impishim::wire::PacketHeader header;
    const auto decoded = decode_packet_header(wire.first<kPacketHeaderSize>(), agreed, header);
    if (!decoded) {
      FUZZ_REQUIRE(decoded.error().kind == impishim::ErrorKind::kProtocol);
      break;
    }
    FUZZ_REQUIRE(header.payload_size() <= agreed);
    FUZZ_REQUIRE(header.payload_size() <= header.msglen || header.type == PacketType::kAbort);
    // Nothing is lost: the header goes out as it came in.
    std::array<std::byte, kPacketHeaderSize> again;
    encode_packet_header(header, again);
    FUZZ_REQUIRE(std::equal(again.begin(), again.end(), wire.begin()));
    if (input.bytes(header.payload_size()).size() < header.payload_size()) break;
  }
  return 0;
}
