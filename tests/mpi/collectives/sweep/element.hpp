// SPDX-License-Identifier: Apache-2.0
/// The basic types of MPI with values of their own, and what the predefined operations make of them
/// (MPI-3.1 5.9.2, 5.9.4).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sweep {

/// What is done to elements: they are moved, or combined.
enum class Op : std::uint8_t {
  kMove,
  kMax,
  kMin,
  kSum,
  kProd,
  kLand,
  kLor,
  kLxor,
  kBand,
  kBor,
  kBxor,
  kMinloc,
  kMaxloc,
  kUserSum,     ///< user-defined and commutative: sums modulo 2^32, component by component
  kUserAffine,  ///< user-defined and not commutative: x -> a x + b modulo 2^32, one after the other
};

/// A basic type: how its values are made and combined, which of its bytes count.
struct Basic {
  const char* name;
  MPI_Datatype handle;
  std::size_t size;                 ///< bytes from one element to the next
  std::vector<unsigned char> mask;  ///< 0 for bytes that hold nothing
  std::uint32_t operations;         ///< bit n: Op n is allowed
  /// Writes a value that `seed` names: any for kMove, one whose results are exact in any order for
  /// the others.
  void (*make)(std::byte* to, std::uint64_t seed, Op op);
  /// right = left op right.
  void (*combine)(Op op, const std::byte* left, std::byte* right);

  [[nodiscard]] bool allows(Op op) const {
    return (operations >> static_cast<unsigned>(op) & 1U) != 0;
  }
};

/// All that this MPI library has; made at the first call, after MPI_Init.
const std::vector<Basic>& basics();
/// That with this handle.
const Basic& basic(MPI_Datatype handle);

/// The handle of a predefined operation.
MPI_Op predefined(Op op);
const char* name(Op op);

/// Mixes two numbers into one: the same everywhere.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace sweep
