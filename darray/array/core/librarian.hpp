// SPDX-License-Identifier: Apache-2.0
/// Finds this process's piece of an array by the array's number (D2O-45, D2O-46).
#pragma once

#include <compare>
#include <cstdint>
#include <unordered_map>

#include "darray/local/combine.hpp"

namespace impishim::darray {

/// The name of an array, the same on every process of its communicator: the communicator's group
/// and the array's number on it. All processes create arrays together, so counting needs no
/// message. Each communicator has a different `group`.
struct ArrayId {
  std::uint64_t group = 0;
  std::uint64_t number = 0;
  auto operator<=>(const ArrayId&) const = default;
};

/// The registry of the existing arrays of a communicator. It refers to arrays and owns none.
/// Destroyed arrays are removed.
class ArrayRegistry {
 public:
  explicit ArrayRegistry(std::uint64_t group) : group_(group) {}

  /// Returns a name for a new array and registers it.
  ArrayId add(void* array, Scalar scalar) {
    const std::uint64_t number = next_++;
    arrays_.emplace(number, Entry{array, scalar});
    return {group_, number};
  }
  /// Records that the array has moved to another address.
  void moved(ArrayId id, void* array) { arrays_.at(id.number).array = array; }
  void remove(ArrayId id) { arrays_.erase(id.number); }

  /// Returns the array's address; null if it does not exist. Throws Error(kArgument) for an id of
  /// another communicator, and Error(kType) if its elements have another type.
  [[nodiscard]] void* find(ArrayId id, Scalar scalar) const;
  [[nodiscard]] std::size_t count() const { return arrays_.size(); }

 private:
  struct Entry {
    void* array;
    Scalar scalar;
  };
  std::uint64_t group_;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, Entry> arrays_;
};

}  // namespace impishim::darray
