// SPDX-License-Identifier: Apache-2.0
/// A hash of a value's content. It is the same in every process, so that processes can compare
/// their values.
#pragma once

#include <cstdint>

namespace impishim::darray {

/// Mixes 64-bit words one after another (the finalizer of splitmix64 after each).
class Hasher {
 public:
  void add(std::uint64_t word) {
    state_ += 0x9e3779b97f4a7c15U + word;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9U;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebU;
    state_ ^= state_ >> 31;
  }
  void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
  void add(int word) { add(static_cast<std::int64_t>(word)); }

  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace impishim::darray
