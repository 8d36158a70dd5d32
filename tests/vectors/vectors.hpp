// SPDX-License-Identifier: Apache-2.0
/// The recorded streams of data/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wire/packet/packet.hpp"

namespace impishim::wire::test {

[[nodiscard]] std::vector<std::byte> vector_file(const std::string& name);

/// A packet as it was recorded.
struct RecordedPacket {
  std::vector<std::byte> wire;  ///< the header's 128 bytes
  PacketHeader header;
  std::vector<std::byte> payload;
};

/// The packets of a host's stream from byte `begin` on; ends a test if they are none.
[[nodiscard]] std::vector<RecordedPacket> packets_of(const std::vector<std::byte>& stream,
                                                     std::size_t begin);

}  // namespace impishim::wire::test
