// SPDX-License-Identifier: Apache-2.0
/// The exceptions of the library: a kind that a program can act on, and a text that names axis,
/// rank, value and the broken rule.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace impishim::darray {

enum class ErrorKind : std::uint8_t {
  kArgument,     ///< a parameter that is never valid
  kShape,        ///< extents that do not fit each other
  kKey,          ///< an index, slice or section outside of its axis
  kLayout,       ///< a map, grid or distribution that contradicts itself or another one
  kProtocol,     ///< a description of the distributed array protocol that breaks its rules
  kType,         ///< an element type that the operation does not know
  kMpi,          ///< an MPI call failed
  kUnsupported,  ///< valid, but not implemented
};

/// The type of all exceptions of this library.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

namespace detail {
[[noreturn]] void raise(ErrorKind kind, fmt::string_view format, fmt::format_args arguments);
}  // namespace detail

/// Throws an Error with the formatted text.
template <class... Arguments>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Arguments...> format,
                       Arguments&&... arguments) {
  detail::raise(kind, format, fmt::make_format_args(arguments...));
}

}  // namespace impishim::darray
