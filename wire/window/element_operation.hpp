// SPDX-License-Identifier: Apache-2.0
/// The operations that accumulates apply to the elements of a window (MPI-4.0 12.3.4, 6.9.2): every
/// predefined operation on every predefined type that has it. Pure functions on memory of any
/// alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/data/basic_type.hpp"

namespace impishim::wire {

/// What an element is to an operation. BasicType says how it is represented; operations need the
/// sign and the parts of it as well. The values travel in packets, so they never change.
enum class ElementKind : std::uint8_t {
  kByte = 0,
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kInt64 = 7,
  kUint64 = 8,
  kLong = 9,
  kUnsignedLong = 10,
  kFloat = 11,
  kDouble = 12,
  kLongDouble = 13,
  kFloatComplex = 14,
  kDoubleComplex = 15,
  kLongDoubleComplex = 16,
  kBool = 17,       ///< C's, of one byte
  kLogical8 = 18,   ///< Fortran's, of one byte
  kLogical16 = 19,  ///< of two
  kLogical32 = 20,  ///< of four
  kLogical64 = 21,  ///< of eight
  kFloatInt = 22,   ///< pairs of a value and its location
  kDoubleInt = 23,
  kLongInt = 24,
  kTwoInt = 25,
  kShortInt = 26,
  kLongDoubleInt = 27,
  kTwoFloat = 28,   ///< Fortran's 2REAL
  kTwoDouble = 29,  ///< Fortran's 2DOUBLE_PRECISION
  kCharacter = 30,  ///< only replaced and read: characters have no operation
  kWideCharacter = 31,
  kNumberOfKinds = 32,
};

/// The predefined operations. The values travel in packets.
enum class ElementOperation : std::uint8_t {
  kReplace = 0,
  kNoOperation = 1,
  kSum = 2,
  kProduct = 3,
  kMaximum = 4,
  kMinimum = 5,
  kLogicalAnd = 6,
  kLogicalOr = 7,
  kLogicalXor = 8,
  kBitAnd = 9,
  kBitOr = 10,
  kBitXor = 11,
  kMaximumLocation = 12,
  kMinimumLocation = 13,
  kNumberOfOperations = 14,
};

/// Returns the size in bytes of an element in this machine's memory, gaps inside it included.
[[nodiscard]] std::size_t element_bytes(ElementKind kind);

/// Combines `count` elements: target[i] = target[i] op operand[i], where the left operand of the
/// operation is the one in the window. Both are in this machine's representation.
using ElementFunction = void (*)(const std::byte* operand, std::byte* target, std::uint64_t count);

/// Returns the function of an operation on elements of a kind. Returns null if MPI does not define
/// the operation for it, or if a number is no such kind or operation.
[[nodiscard]] ElementFunction element_function(ElementOperation operation, ElementKind kind);

/// Returns true if MPI_Compare_and_swap is defined for elements of the kind: integers, logicals and
/// bytes, which are equal if their bytes are.
[[nodiscard]] bool may_compare(ElementKind kind);

}  // namespace impishim::wire
