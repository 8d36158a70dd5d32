// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace impishim::wire {

/// Number of packets, and their bytes with headers.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  void count(std::uint64_t size) {
    ++packets;
    bytes += size;
  }
};

}  // namespace impishim::wire
