// SPDX-License-Identifier: Apache-2.0
/// Values as another library exported them, before their kinds are checked. This file depends on
/// neither JSON nor Python.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray::dap {

/// A one-dimensional buffer of integers, which `indices` must be. A Python list or tuple of
/// integers is a Sequence instead.
struct IntegerBuffer {
  std::vector<Index> values;
  bool operator==(const IntegerBuffer&) const = default;
};

/// A value of a type that no key of the protocol may hold. `what` names the type, for messages.
struct Other {
  std::string what;
  bool operator==(const Other&) const = default;
};

/// The deepest nesting of values. It is more than any dictionary needs, and small enough for the
/// stack.
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

/// A dimension dictionary before its values are checked.
using Dictionary = Value::Dictionary;

/// Returns a description for messages: "3", "the boolean true", "a sequence of 2".
std::string describe(const Value& value);

}  // namespace impishim::darray::dap
