// SPDX-License-Identifier: Apache-2.0
/// Functions that the user gives to the vendor to call. MPI calls in them are the user's again,
/// though the vendor is on the stack (docs/architecture.md, Interposition). Each function is
/// replaced by a trampoline that resets the depth flag and calls the user's function.
///
/// Functions with an extra_state (attributes, generalized requests) share one trampoline, which
/// finds the user's function in the state. Functions without one (error handlers, reductions) get a
/// trampoline each, from a fixed number of trampolines; the same function always gets the same one.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// Provides trampolines for functions of type `Function*`, which return nothing and take no state.
/// `Function` may be variadic: the arguments after its named ones are the vendor's own (MPI-3.1
/// 8.3.1) and are not passed on.
template <class Tag, class... Arguments>
class TrampolinePool {
 public:
  using Function = void (*)(Arguments...);
  using VariadicFunction = void (*)(Arguments..., ...);

  /// Returns the trampoline of `function`. Returns `function` itself if it is null or all
  /// trampolines are taken; MPI calls in it then act on the system's own part of the job. Any
  /// thread.
  [[nodiscard]] static Function of(Function function) {
    return find_or_take(function,
                        [](std::size_t i) { return plain(std::make_index_sequence<kSize>{})[i]; });
  }
  [[nodiscard]] static VariadicFunction of_variadic(VariadicFunction function) {
    const auto taken = find_or_take(reinterpret_cast<Function>(function), [](std::size_t i) {
      return reinterpret_cast<Function>(variadic(std::make_index_sequence<kSize>{})[i]);
    });
    return reinterpret_cast<VariadicFunction>(taken);
  }

 private:
  static constexpr std::size_t kSize = 64;

  template <std::size_t kSlot>
  static void call(Arguments... arguments) {
    const InsideUserCallback user;
    functions_[kSlot](arguments...);
  }
  template <std::size_t kSlot>
  static void call_variadic(Arguments... arguments, ...) {
    const InsideUserCallback user;
    reinterpret_cast<VariadicFunction>(functions_[kSlot])(arguments...);
  }
  template <std::size_t... kSlots>
  static constexpr std::array<Function, kSize> plain(std::index_sequence<kSlots...> /*slots*/) {
    return {&call<kSlots>...};
  }
  template <std::size_t... kSlots>
  static constexpr std::array<VariadicFunction, kSize> variadic(
      std::index_sequence<kSlots...> /*slots*/) {
    return {&call_variadic<kSlots>...};
  }

  template <class Trampoline>
  static Function find_or_take(Function function, Trampoline&& trampoline) {
    if (function == nullptr) return function;
    const MutexLock lock(mutex_);
    for (std::size_t i = 0; i < kSize; ++i) {
      if (functions_[i] == nullptr) functions_[i] = function;
      if (functions_[i] == function) return trampoline(i);
    }
    return function;
  }

  // A trampoline has no state that could carry a pointer, so the table of functions must be static.
  static inline Mutex mutex_;
  /// Each entry is written once, under mutex_, before its trampoline is handed out.
  static inline std::array<Function, kSize> functions_{};
};

}  // namespace impishim::shim
