// SPDX-License-Identifier: Apache-2.0
/// How far a call of MPI reaches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace impishim::wire {

enum class CallScope : std::uint8_t {
  kInside,   ///< messages and communicators of the process's own system
  kBetween,  ///< messages to or from another system, and communicators of several systems
  kOther,    ///< what names neither: windows, files
};

inline constexpr std::size_t kScopes = 3;
inline constexpr std::array<std::string_view, kScopes> kScopeNames = {"inside", "between", "other"};

template <class Value>
using ByScope = std::array<Value, kScopes>;

[[nodiscard]] constexpr std::size_t index_of(CallScope scope) {
  return static_cast<std::size_t>(scope);
}

}  // namespace impishim::wire
