// SPDX-License-Identifier: Apache-2.0
// The rules that one process can check by itself.
#include "darray/interop/dap/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <unordered_set>
#include <utility>

#include "darray/base/error.hpp"

namespace impishim::darray::dap {

namespace {

constexpr Index kMostProcesses = std::numeric_limits<int>::max();

/// The rules of one axis. A rule whose value is missing is skipped, because the missing key is
/// already reported as a violation.
class AxisRules {
 public:
  AxisRules(const DimData& dimension, int number, Index extent, Level level, Violations& violations)
      : dimension_(dimension),
        number_(number),
        extent_(extent),
        level_(level),
        violations_(violations) {}

  void check() {
    require_key(dimension_.dist_type, "dist_type", "DAP-20 dist_type is one of 'b', 'c', 'u'");
    require_key(dimension_.size, "size", "DAP-21 size is required");
    require_key(dimension_.proc_grid_size, "proc_grid_size", "DAP-23 proc_grid_size is required");
    require_key(dimension_.proc_grid_rank, "proc_grid_rank", "DAP-25 proc_grid_rank is required");
    if (!dimension_.dist_type) return;
    require_type_keys();
    const std::size_t before = violations_.size();
    check_grid();
    check_values();
    if (violations_.size() == before && is_complete()) check_piece();
  }

 private:
  void report(std::string_view key, std::string_view rule, std::string detail) {
    violations_.push_back({std::nullopt, number_, std::string(key), rule, std::move(detail)});
  }

  template <class T>
  void require_key(const std::optional<T>& member, std::string_view key, std::string_view rule) {
    if (!member) report(key, rule, "the key is missing");
  }

  void require_at_least(const std::optional<Index>& member, Index least, std::string_view key,
                        std::string_view rule) {
    if (member && *member < least) report(key, rule, fmt::format("{}", *member));
  }

  [[nodiscard]] bool is(DistType type) const { return dimension_.dist_type == type; }

  void require_type_keys() {
    if (is(DistType::kBlock)) {
      require_key(dimension_.start, "start", "DAP-30 'b' requires start");
      require_key(dimension_.stop, "stop", "DAP-30 'b' requires stop");
    } else if (is(DistType::kCyclic)) {
      require_key(dimension_.start, "start", "DAP-50 'c' requires start");
    } else {
      require_key(dimension_.indices, "indices", "DAP-60 'u' requires indices");
    }
  }

  void check_grid() {
    require_at_least(dimension_.size, 0, "size", "DAP-21 size >= 0");
    require_at_least(dimension_.proc_grid_size, 1, "proc_grid_size", "DAP-23 proc_grid_size >= 1");
    if (dimension_.proc_grid_size > kMostProcesses)
      report("proc_grid_size",
             "DAP-23 proc_grid_size counts processes, of which there are fewer than 2^31",
             fmt::format("{}", *dimension_.proc_grid_size));
    if (dimension_.size > kMaximumExtent)
      report("size", "DAP-21 size <= 2^62: this library's limit",
             fmt::format("{}", *dimension_.size));
    require_at_least(dimension_.proc_grid_rank, 0, "proc_grid_rank",
                     "DAP-25 0 <= proc_grid_rank < proc_grid_size");
    if (dimension_.proc_grid_rank && dimension_.proc_grid_size &&
        *dimension_.proc_grid_rank >= *dimension_.proc_grid_size)
      report("proc_grid_rank", "DAP-25 0 <= proc_grid_rank < proc_grid_size",
             fmt::format("{} of {}", *dimension_.proc_grid_rank, *dimension_.proc_grid_size));
  }

  void check_values() {
    require_at_least(dimension_.start, 0, "start",
                     is(DistType::kBlock) ? "DAP-30 start >= 0" : "DAP-50 start >= 0");
    require_at_least(dimension_.block_size, 1, "block_size", "DAP-50 block_size >= 1");
    if (is(DistType::kCyclic) && dimension_.size && dimension_.proc_grid_size > 0 &&
        std::min(dimension_.block_size.value_or(1), *dimension_.size) >
            kMaximumExtent / *dimension_.proc_grid_size)
      report("block_size",
             "DAP-50 block_size (or size, if that is less) * proc_grid_size <= 2^62: this "
             "library's limit",
             fmt::format("block_size {}, proc_grid_size {}", dimension_.block_size.value_or(1),
                         *dimension_.proc_grid_size));
    if (dimension_.padding && ((*dimension_.padding)[0] < 0 || (*dimension_.padding)[1] < 0))
      report("padding", "DAP-35 both paddings >= 0",
             fmt::format("({}, {})", (*dimension_.padding)[0], (*dimension_.padding)[1]));
    if (dimension_.start && dimension_.stop && *dimension_.stop < *dimension_.start)
      report("stop", "DAP-30 start <= stop",
             fmt::format("start {}, stop {}", *dimension_.start, *dimension_.stop));
    if (dimension_.stop && dimension_.size && *dimension_.stop > *dimension_.size)
      report("stop", "DAP-30 stop <= size",
             fmt::format("stop {}, size {}", *dimension_.stop, *dimension_.size));
  }

  [[nodiscard]] bool is_complete() const {
    const bool has_own = is(DistType::kBlock)    ? dimension_.start && dimension_.stop
                         : is(DistType::kCyclic) ? dimension_.start.has_value()
                                                 : dimension_.indices.has_value();
    return dimension_.size && dimension_.proc_grid_size && dimension_.proc_grid_rank && has_own;
  }

  void check_piece() {
    if (is(DistType::kBlock)) check_block();
    if (is(DistType::kCyclic)) check_cyclic();
    if (is(DistType::kUnstructured)) check_labels();
  }

  void check_block() {
    const Index start = *dimension_.start;
    const Index stop = *dimension_.stop;
    if (*dimension_.proc_grid_rank == 0 && start != 0)
      report("start", "DAP-31 the first grid rank starts at 0", fmt::format("{}", start));
    if (level_ == Level::kStrict && *dimension_.proc_grid_rank == *dimension_.proc_grid_size - 1 &&
        stop != *dimension_.size)
      report("stop", "DAP-22 the last grid rank stops at size",
             fmt::format("stop {}, size {}", stop, *dimension_.size));
    if (stop - start != extent_)
      report("stop", "DAP-34 stop - start is the buffer's extent",
             fmt::format("{} - {}, extent {}", stop, start, extent_));
    const Padding padding = dimension_.padding.value_or(Padding{});
    // The sum of the paddings could overflow, so it is not formed.
    if (padding[0] > stop - start || padding[1] > stop - start - padding[0])
      report("padding", "DAP-35 the paddings lie in the buffer: their sum <= stop - start",
             fmt::format("({}, {}), stop - start {}", padding[0], padding[1], stop - start));
  }

  void check_cyclic() {
    const Index rank = *dimension_.proc_grid_rank;
    const Index block = dimension_.block_size.value_or(1);
    const bool fits = rank == 0 || block <= std::numeric_limits<Index>::max() / rank;
    const bool clamped =
        *dimension_.start == *dimension_.size && (!fits || rank * block > *dimension_.size);
    if (!clamped && (!fits || *dimension_.start != rank * block))
      report("start", "DAP-54 start is proc_grid_rank * block_size (or size, if that is less)",
             fmt::format("start {}, proc_grid_rank {}, block_size {}", *dimension_.start, rank,
                         block));
    const Index owned = owned_count(dimension_);
    if (owned != extent_)
      report("block_size", "DAP-52 the buffer holds the blocks dealt to this grid rank",
             fmt::format("{} elements, extent {}", owned, extent_));
  }

  void check_labels() {
    const auto& labels = *dimension_.indices;
    const auto count = static_cast<Index>(labels.size());
    if (count != extent_)
      report("indices", "DAP-63 one label for each element of the buffer",
             fmt::format("{} labels, extent {}", count, extent_));
    if (count > *dimension_.size)
      report("indices", "DAP-64 size is the sum of all label counts",
             fmt::format("{} labels, size {}", count, *dimension_.size));
    if (level_ == Level::kStrict && *dimension_.proc_grid_size == 1 && count < *dimension_.size)
      report("indices", "DAP-64 size is the sum of all label counts",
             fmt::format("{} labels on the only process, size {}", count, *dimension_.size));
    if (level_ == Level::kLenient) return;
    std::unordered_set<Index> seen;
    for (const Index label : labels)
      if (!seen.insert(label).second) {
        report("indices", "DAP-61 labels are unique within a process",
               fmt::format("{} occurs twice", label));
        return;
      }
  }

  const DimData& dimension_;
  int number_;
  Index extent_;
  Level level_;
  Violations& violations_;
};

bool is_pep440_or_semver_suffix(std::string_view rest) {
  constexpr std::array<std::string_view, 7> kBeginnings{"-", "+", ".dev", ".post", "a", "b", "rc"};
  for (const std::string_view beginning : kBeginnings)
    if (rest.starts_with(beginning) && rest.size() > beginning.size())
      return std::all_of(rest.begin() + 1, rest.end(), [](char letter) {
        return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
               (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '-' || letter == '+';
      });
  return false;
}

/// Returns the major number of "major.minor.patch", or nothing if the text has another form.
std::optional<int> major_of(std::string_view version, Level level) {
  std::array<int, 3> numbers{};
  std::string_view rest = version;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) {
      if (!rest.starts_with('.')) return std::nullopt;
      rest.remove_prefix(1);
    }
    if (rest.starts_with('-')) return std::nullopt;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), numbers[i]);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || (length > 1 && rest.front() == '0')) return std::nullopt;
    rest.remove_prefix(length);
  }
  const bool accepted =
      rest.empty() || (level == Level::kLenient && is_pep440_or_semver_suffix(rest));
  return accepted ? std::optional(numbers[0]) : std::nullopt;
}

}  // namespace

std::string Violation::message() const {
  std::string text;
  if (rank) text += fmt::format("rank {}: ", *rank);
  if (dimension) text += fmt::format("dimension {}: ", *dimension);
  if (!key.empty()) text += fmt::format("'{}': ", key);
  return text + fmt::format("{} ({})", rule, detail);
}

Violations validate(std::span<const DimData> dimensions, std::span<const Index> buffer_shape,
                    Level level) {
  Violations violations;
  if (dimensions.size() != buffer_shape.size()) {
    violations.push_back(
        {std::nullopt, std::nullopt, "dim_data",
         "DAP-06 one dictionary for each dimension of the buffer",
         fmt::format("{} dictionaries, {} dimensions", dimensions.size(), buffer_shape.size())});
    return violations;
  }
  for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
    const DimData dimension = resolved(dimensions[axis], buffer_shape[axis]);
    AxisRules(dimension, static_cast<int>(axis), buffer_shape[axis], level, violations).check();
  }
  return violations;
}

Violations validate(std::span<const Dictionary> dictionaries, std::span<const Index> buffer_shape,
                    Level level) {
  auto [dimensions, violations] = read(dictionaries, level);
  const std::size_t kinds = violations.size();
  for (Violation& found : validate(dimensions, buffer_shape, level)) {
    const auto end = violations.begin() + static_cast<std::ptrdiff_t>(kinds);
    const bool known = std::any_of(violations.begin(), end, [&found](const Violation& kind) {
      return kind.dimension == found.dimension && kind.key == found.key;
    });
    if (!known) violations.push_back(std::move(found));
  }
  return violations;
}

Violations validate_version(std::string_view version, Level level) {
  const auto major = major_of(version, level);
  const auto own = major_of(kVersion, Level::kStrict);
  if (!major)
    return {{std::nullopt, std::nullopt, "__version__", "DAP-02 the form major.minor.patch",
             fmt::format("'{}'", version)}};
  if (major != own)
    return {{std::nullopt, std::nullopt, "__version__", "DAP-03 the same major version",
             fmt::format("'{}' is offered, '{}' is supported", version, kVersion)}};
  return {};
}

void require_none(const Violations& violations, std::string_view what) {
  if (violations.empty()) return;
  std::string text;
  for (const Violation& violation : violations)
    text += fmt::format("{}{}", text.empty() ? "" : "; ", violation.message());
  fail(ErrorKind::kProtocol, "{} is not valid: {}", what, text);
}

}  // namespace impishim::darray::dap
