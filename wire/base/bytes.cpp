// SPDX-License-Identifier: Apache-2.0
#include "wire/base/bytes.hpp"
#include <cstddef>
#include <span>

namespace impishim {

void ByteWriter::put_bytes(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

}  // namespace impishim
