// SPDX-License-Identifier: Apache-2.0
/// Datatypes of the target side, as an origin sends them (MPI-4.0 12.3).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::wire {

/// Appends a layout to `bytes`. Offsets and extents are those of the target: both systems compute
/// them from the same calls.
void encode_layout(const TypeLayout& layout, std::vector<std::byte>& bytes);

/// Returns the number of bytes that encode_layout() appends.
[[nodiscard]] std::size_t encoded_bytes(const TypeLayout& layout);

/// Decodes a layout that fills all of `bytes`. Fails with kProtocol if the bytes are no layout, or
/// if it is so large that its bytes and distances cannot be counted safely.
[[nodiscard]] Result<std::shared_ptr<const TypeLayout>> decode_layout(
    std::span<const std::byte> bytes);

}  // namespace impishim::wire
