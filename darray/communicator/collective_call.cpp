// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/collective_call.hpp"

#include <algorithm>
#include <vector>

#include "darray/base/hash.hpp"

namespace impishim::darray {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

/// Returns the ranks as text: "rank 3", "ranks 0-2, 5".
std::string ranks_text(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first > 0) text += ", ";
    text += first == last ? fmt::format("{}", ranks[first])
                          : fmt::format("{}-{}", ranks[first], ranks[last]);
    first = last + 1;
  }
  return text;
}

std::string_view line_of(const Lines& lines, std::size_t number) {
  return number < lines.size() ? lines[number] : std::string_view("nothing");
}

/// Returns the values of one line as text, in the order of the first rank that has each value: "(0)
/// on ranks 0-2, (1) on rank 3".
std::string values_text(const std::vector<Lines>& all, std::size_t number) {
  std::string text;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string_view value = line_of(all[rank], number);
    std::vector<std::size_t> same;
    for (std::size_t other = 0; other < all.size(); ++other) {
      if (line_of(all[other], number) == value) same.push_back(other);
    }
    if (same.front() == rank)
      text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", value, ranks_text(same));
  }
  return text;
}

}  // namespace

CollectiveCall& CollectiveCall::with(std::string_view name, std::string_view word) {
  line("{}", name);
  const std::size_t start = text_.size();
  line("{}", word);
  // Each value takes exactly one line.
  std::replace(text_.begin() + static_cast<std::ptrdiff_t>(start), text_.end() - 1, '\n', ' ');
  return *this;
}

CollectiveCall& CollectiveCall::with(std::string_view name, const Element& element) {
  line("{}", name);
  line("{} bytes in {} items", element.size, element.items);
  return *this;
}

CollectiveCall& CollectiveCall::with(std::string_view name, const Distribution& distribution) {
  line("{}", name);
  line("shape ({}), layout {:016x}", fmt::join(distribution.shape(), ", "), distribution.hash());
  return *this;
}

CollectiveCall& CollectiveCall::with_hash(std::string_view name, std::uint64_t hash) {
  line("{}", name);
  line("{:016x}", hash);
  return *this;
}

std::uint64_t CollectiveCall::hash() const {
  Hasher hasher;
  std::uint64_t word = 0;
  std::size_t bytes = 0;
  for (const char each : text_) {
    word = word << 8 | static_cast<unsigned char>(each);
    if (++bytes % sizeof(word) == 0) hasher.add(word);
  }
  hasher.add(word);
  hasher.add(static_cast<Index>(bytes));
  return hasher.value();
}

std::string first_difference(std::span<const std::string> texts) {
  std::vector<Lines> all;
  std::size_t most = 0;
  for (const std::string& text : texts) {
    all.push_back(lines_of(text));
    most = std::max(most, all.back().size());
  }
  for (std::size_t number = 0; number < most; ++number) {
    const auto differs = [&](const Lines& lines) {
      return line_of(lines, number) != line_of(all.front(), number);
    };
    if (std::ranges::none_of(all, differs)) continue;
    const std::string values = values_text(all, number);
    if (number == 0) return fmt::format("the operation: {}", values);
    // Lines with odd numbers are argument names. If names differ, the ranks were given different
    // arguments.
    if (number % 2 == 1) return fmt::format("{}, its arguments: {}", all.front().front(), values);
    return fmt::format("{}, {}: {}", all.front().front(), all.front()[number - 1], values);
  }
  return {};
}

}  // namespace impishim::darray
