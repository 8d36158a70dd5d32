// SPDX-License-Identifier: Apache-2.0
/// Message contents that can be made and checked from a few numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace impishim_test {

/// A small generator of pseudo-random numbers that is the same on every machine (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31);
  }

  /// A number from 0 to bound - 1.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// The numbers from 0 to count - 1 in an order that `random` chooses.
inline std::vector<std::size_t> shuffled(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = i;
    std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

/// The byte at `position` of the content that `seed` names: shifted, cut or mixed contents differ.
inline unsigned char content_byte(std::uint64_t seed, std::size_t position) {
  return static_cast<unsigned char>((seed * 0x9E3779B97F4A7C15U >> 32) + position * 131 +
                                    (position >> 8) * 7 + (position >> 16) * 3);
}

inline void fill(unsigned char* bytes, std::size_t size, std::uint64_t seed) {
  for (std::size_t i = 0; i < size; ++i) bytes[i] = content_byte(seed, i);
}

inline bool holds(const unsigned char* bytes, std::size_t size, std::uint64_t seed) {
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != content_byte(seed, i)) return false;
  }
  return true;
}

inline std::vector<unsigned char> content(std::size_t size, std::uint64_t seed) {
  std::vector<unsigned char> bytes(size);
  fill(bytes.data(), size, seed);
  return bytes;
}

}  // namespace impishim_test
