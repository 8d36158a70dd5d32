// SPDX-License-Identifier: Apache-2.0
/// A hash that is the same on every machine, for fingerprints of settings. It does not withstand
/// anyone who looks for collisions.
#pragma once

#include <cstdint>
#include <string_view>

namespace impishim {

/// Returns the 64-bit FNV-1a hash of `text` (Fowler, Noll and Vo).
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace impishim
