/// From an array's number to this process's piece of it (D2O-45, D2O-46).
#pragma once

#include <compare>
#include <cstdint>
#include <unordered_map>

#include "darray/local/combine.hpp"

namespace impishim::darray {

/// The name of an array, the same on every process of its communicator: which communicator, and the
/// how-many-th array on it. Arrays are created by all processes together, so that counting needs no
/// message; those of other groups have another `group`.
struct ArrayId {
  std::uint64_t group = 0;
  std::uint64_t number = 0;
  auto operator<=>(const ArrayId&) const = default;
};

/// The arrays that are alive on a communicator. It refers to them, and holds none: an array that is
/// destroyed is forgotten.
class Librarian {
 public:
  explicit Librarian(std::uint64_t group) : group_(group) {}

  /// Names a new array.
  ArrayId add(void* array, Scalar scalar) {
    const std::uint64_t number = next_++;
    arrays_.emplace(number, Entry{array, scalar});
    return {group_, number};
  }
  /// The array has another address now.
  void moved(ArrayId id, void* array) { arrays_.at(id.number).array = array; }
  void remove(ArrayId id) { arrays_.erase(id.number); }

  /// The array's address; null if it is gone, or never was. @throws Error kArgument for an id of
  /// another communicator, kType if its elements are not of that type.
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
