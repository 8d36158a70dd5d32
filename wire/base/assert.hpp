// SPDX-License-Identifier: Apache-2.0
/// An assertion that stays on in release builds.
#pragma once

namespace impishim {

/// Prints the condition and its place on standard error, and ends the process (abort(3)).
[[noreturn]] [[gnu::cold]] void assertion_failed(const char* condition, const char* file,
                                                 int line) noexcept;

}  // namespace impishim

/// Ends the process if `condition` is false: a defect of this library, never of its input. Costs a
/// compare and a branch; use it at the borders of layers, not in loops over bytes.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the condition's text is needed.
#define IMPISHIM_ASSERT(condition)    \
  ((condition) ? static_cast<void>(0) \
               : ::impishim::assertion_failed(#condition, __FILE__, __LINE__))
