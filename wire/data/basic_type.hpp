// SPDX-License-Identifier: Apache-2.0
/// The basic types of MPI data, and their sizes in each representation.
///
/// Sources: MPI-3.1 13.5.2 / MPI-4.1 15.5.2 (external32), IMPI 1.2.2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace impishim::wire {

/// The representation of the elements in a message's payload. All formats pack elements without
/// gaps.
enum class Format : std::uint8_t {
  kNative,      ///< the sender's own representation, unconverted
  kExternal32,  ///< MPI's external32: big-endian IEEE; LONG 4 bytes, WCHAR 2
  kWide,        ///< like external32, but lossless: LONG and UNSIGNED_LONG 8 bytes, WCHAR 4
};

/// Classes of elements with the same conversion. The compiler gives their sizes on this machine.
enum class BasicType : std::uint8_t {
  kByte,           ///< never converted: BYTE, PACKED, CHAR, CHARACTER, C_BOOL of one byte ...
  kInt16,          ///< SHORT, UNSIGNED_SHORT, INT16_T, UINT16_T, INTEGER2
  kInt32,          ///< INT, UNSIGNED, INT32_T, UINT32_T, INTEGER, LOGICAL of four bytes
  kInt64,          ///< LONG_LONG, INT64_T, UINT64_T, AINT, COUNT, OFFSET, INTEGER8
  kSignedLong,     ///< LONG: 4 bytes in external32, 8 in wide
  kUnsignedLong,   ///< UNSIGNED_LONG: 4 bytes in external32, 8 in wide
  kWideChar,       ///< WCHAR: 2 bytes in external32, 4 in wide
  kFloat,          ///< FLOAT, REAL: IEEE binary32
  kDouble,         ///< DOUBLE, DOUBLE_PRECISION: IEEE binary64
  kLongDouble,     ///< LONG_DOUBLE: IEEE binary128 on the wire, x87's 80 bits here
  kQuad,           ///< REAL16: IEEE binary128 on both sides
  kNumberOfTypes,  ///< number of values above
};

/// Returns the size in bytes of one element of `type` in `format` (kNative: on this machine).
[[nodiscard]] std::size_t element_size(BasicType type, Format format);

/// Returns a hash of this machine's representation: byte order, sizes and floating-point formats of
/// every BasicType. Two systems with equal fingerprints exchange data in Format::kNative. The value
/// is stable across releases.
[[nodiscard]] std::uint64_t representation_fingerprint();

/// Returns the format called `name`: native, external32 or wide. Returns nothing for unknown names
/// and for "auto", which is not a format.
[[nodiscard]] std::optional<Format> format_from_name(std::string_view name);
[[nodiscard]] std::string_view format_name(Format format);

}  // namespace impishim::wire
