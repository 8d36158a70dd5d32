// SPDX-License-Identifier: Apache-2.0
#include "tests/vectors/vectors.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace impishim::wire::test {

std::vector<std::byte> vector_file(const std::string& name) {
  std::ifstream file(std::string(IMPISHIM_VECTORS) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<RecordedPacket> packets_of(const std::vector<std::byte>& stream, std::size_t begin) {
  constexpr std::uint32_t kAgreed = 65536;
  std::vector<RecordedPacket> packets;
  auto rest = std::span(stream).subspan(begin);
  while (!rest.empty()) {
    if (rest.size() < kPacketHeaderSize) {
      ADD_FAILURE() << "a header is cut";
      break;
    }
    const auto wire = rest.first<kPacketHeaderSize>();
    PacketHeader header;
    const auto decoded = decode_packet_header(wire, kAgreed, header);
    if (!decoded || rest.size() < kPacketHeaderSize + header.payload_size()) {
      ADD_FAILURE() << (decoded ? "a payload is cut" : decoded.error().text);
      break;
    }
    const auto payload = rest.subspan(kPacketHeaderSize, header.payload_size());
    packets.push_back({{wire.begin(), wire.end()}, header, {payload.begin(), payload.end()}});
    rest = rest.subspan(kPacketHeaderSize + payload.size());
  }
  return packets;
}

}  // namespace impishim::wire::test
