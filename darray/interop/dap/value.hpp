// SPDX-License-Identifier: Apache-2.0
/// Values as a foreign exporter wrote them, before their kinds are known to be right. Neither JSON
/// nor Python is known here.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray::dap {

/// A one-dimensional buffer of integers: what `indices` must be. (A Python list or tuple of
/// integers is a Sequence instead.)
struct IntegerBuffer {
  std::vector<Index> values;
  bool operator==(const IntegerBuffer&) const = default;
};

/// Anything that no key of the protocol may hold; `what` names its type, for messages.
struct Other {
  std::string what;
  bool operator==(const Other&) const = default;
};

/// How deep values may be nested: more than any dictionary needs, and little enough for the stack.
inline constexpr int kDeepest = 64;

/// One value of a dimension dictionary.
struct Value {
  using Sequence = std::vector<Value>;
  using Dictionary = std::map<std::string, Value, std::less<>>;
  std::variant<std::monostate, bool, Index, double, std::string, Sequence, IntegerBuffer,
               Dictionary, Other>
      held;

  template <class T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&held);
  }
  bool operator==(const Value&) const = default;
};

/// A dimension dictionary as it was found.
using Dictionary = Value::Dictionary;

/// "true", "3", "a list of 2", "a str": for messages.
std::string describe(const Value& value);

}  // namespace impishim::darray::dap
