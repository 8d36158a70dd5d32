// SPDX-License-Identifier: Apache-2.0
/// A hash that is the same on every machine, for fingerprints. An attacker can find collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace impishim {

/// The 64-bit hash FNV-1a (Fowler, Noll and Vo) of what is added, in its order.
class Fnv1a {
 public:
  /// Adds a byte, or a number as a whole.
  constexpr void add(std::uint64_t value) { value_ = (value_ ^ value) * 1099511628211ULL; }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037ULL;
};

/// Returns the hash of the bytes of `text`.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  Fnv1a hash;
  for (const char c : text) hash.add(static_cast<unsigned char>(c));
  return hash.value();
}

}  // namespace impishim
