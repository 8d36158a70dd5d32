// SPDX-License-Identifier: Apache-2.0
/// Random numbers whose sequence is the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace impishim::wire::test {

/// SplitMix64: a seed costs nothing, and neighbouring seeds give unrelated sequences.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  /// Returns a number below `bound`, which is not 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint64_t count) { return below(count) == 0; }
  /// Returns a number from 0 to `most`. Small and large ones are equally likely.
  std::uint64_t scaled(std::uint64_t most) {
    const auto bits = below(static_cast<std::uint64_t>(std::bit_width(most)) + 1);
    const std::uint64_t limit = bits >= 64 ? most : (std::uint64_t{1} << bits) - 1;
    return below((limit < most ? limit : most) + 1);
  }

 private:
  std::uint64_t state_;
};

}  // namespace impishim::wire::test
