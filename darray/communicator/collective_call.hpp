// SPDX-License-Identifier: Apache-2.0
/// A description of the collective operation that a rank was called for, as text that ranks can
/// compare.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "darray/communicator/element.hpp"
#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// The name of a collective operation, and the arguments that must be the same on all ranks.
/// agreed() compares it.
class CollectiveCall {
 public:
  explicit CollectiveCall(std::string_view operation) { line("{}", operation); }

  /// Adds an argument. Returns *this. Values are compared by their text.
  CollectiveCall& with(std::string_view name, std::string_view word);
  CollectiveCall& with(std::string_view name, const char* word) {
    return with(name, std::string_view(word));
  }
  CollectiveCall& with(std::string_view name, bool value) {
    return with(name, std::string_view(value ? "yes" : "no"));
  }
  CollectiveCall& with(std::string_view name, std::integral auto value) {
    line("{}", name);
    line("{}", value);
    return *this;
  }
  /// Adds a floating-point argument. All bits of the value are compared.
  CollectiveCall& with(std::string_view name, double value) {
    line("{}", name);
    line("{}", value);
    return *this;
  }
  template <std::integral T>
  CollectiveCall& with(std::string_view name, std::span<const T> list) {
    line("{}", name);
    line("({})", fmt::join(list, ", "));
    return *this;
  }
  CollectiveCall& with(std::string_view name, const Element& element);
  /// Adds a distribution: its shape as text, and a hash of the rest.
  CollectiveCall& with(std::string_view name, const Distribution& distribution);
  /// Adds an argument that has no short text, by a hash of its content.
  CollectiveCall& with_hash(std::string_view name, std::uint64_t hash);

  /// Returns a hash that is the same in every process.
  [[nodiscard]] std::uint64_t hash() const;
  /// Returns the operation, then the name and the value of each argument, each on a separate line.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }

  std::string text_;
};

/// Describes the first difference between the calls of the ranks: "sum, axes: (0) on ranks 0-2, (1)
/// on rank 3". texts[k] is the text() of rank k's call. Returns an empty string if there is no
/// difference.
[[nodiscard]] std::string first_difference(std::span<const std::string> texts);

}  // namespace impishim::darray
