// SPDX-License-Identifier: Apache-2.0
/// Conversion of single basic elements between this machine's representation and the wire's
/// big-endian forms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/data/basic_type.hpp"

namespace impishim::wire {

/// Converts `count` consecutive native elements at `from` to `format` at `to`. Returns the number
/// of converted elements, which is less than `count` if the next value does not fit its wire form.
/// `format` must not be kNative.
[[nodiscard]] std::uint64_t elements_to_wire(BasicType type, Format format, const std::byte* from,
                                             std::byte* to, std::uint64_t count);

/// Converts in the opposite direction. Returns the number of converted elements, which is less than
/// `count` if the next value does not fit this machine's type.
[[nodiscard]] std::uint64_t elements_from_wire(BasicType type, Format format, const std::byte* from,
                                               std::byte* to, std::uint64_t count);

}  // namespace impishim::wire
