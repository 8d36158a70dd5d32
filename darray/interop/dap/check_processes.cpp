// SPDX-License-Identifier: Apache-2.0
// The rules that concern several processes at once.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "darray/interop/dap/validate.hpp"

namespace impishim::darray::dap {

namespace {

std::string text_of(const std::optional<Index>& value) {
  return value ? fmt::format("{}", *value) : "absent";
}
std::string text_of(const std::optional<DistType>& value) {
  return fmt::format("'{}'", static_cast<char>(*value));
}
std::string text_of(const std::optional<bool>& value) {
  return value ? (*value ? "true" : "false") : "absent";
}

/// The dictionaries of all processes, with aliases replaced by full dictionaries, and the rules
/// that apply to them together.
class Whole {
 public:
  Whole(std::span<const ProcessPiece> pieces, Level level, bool replicated)
      : level_(level), replicated_(replicated) {
    processes_.reserve(pieces.size());
    for (const ProcessPiece& piece : pieces) {
      auto& dimensions = processes_.emplace_back();
      for (std::size_t axis = 0; axis < piece.dimensions.size(); ++axis)
        dimensions.push_back(resolved(piece.dimensions[axis], piece.buffer_shape[axis]));
    }
  }

  Violations check() {
    if (!check_axes()) return violations_;
    for (std::size_t axis = 0; axis < axes_; ++axis) check_common_values(axis);
    if (!violations_.empty() || !check_grid()) return violations_;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      check_same_coordinate(axis);
      if (violations_.empty()) check_line(axis);
    }
    return violations_;
  }

 private:
  void report(std::optional<int> rank, std::size_t axis, std::string_view key,
              std::string_view rule, std::string detail) {
    violations_.push_back(
        {rank, static_cast<int>(axis), std::string(key), rule, std::move(detail)});
  }

  bool check_axes() {
    axes_ = processes_.empty() ? 0 : processes_.front().size();
    for (std::size_t rank = 0; rank < processes_.size(); ++rank)
      if (processes_[rank].size() != axes_)
        violations_.push_back({static_cast<int>(rank), std::nullopt, "dim_data",
                               "DAP-06 as many dimensions on every process",
                               fmt::format("{}, rank 0 has {}", processes_[rank].size(), axes_)});
    return violations_.empty();
  }

  template <class T>
  void require_common(std::size_t axis, std::optional<T> DimData::*member, std::optional<T> absent,
                      std::string_view key, std::string_view rule) {
    const auto value = [&](std::size_t rank) {
      const auto& held = processes_[rank][axis].*member;
      return held ? held : absent;
    };
    for (std::size_t rank = 1; rank < processes_.size(); ++rank)
      if (value(rank) != value(0))
        report(static_cast<int>(rank), axis, key, rule,
               fmt::format("{}, rank 0 has {}", text_of(value(rank)), text_of(value(0))));
  }

  void check_common_values(std::size_t axis) {
    require_common(axis, &DimData::dist_type, {}, "dist_type",
                   "DAP-74 one dist_type for the whole axis");
    require_common(axis, &DimData::size, {}, "size", "DAP-21 one size for the whole axis");
    require_common(axis, &DimData::proc_grid_size, {}, "proc_grid_size",
                   "DAP-23 one proc_grid_size for the whole axis");
    require_common(axis, &DimData::block_size, std::optional<Index>(1), "block_size",
                   "DAP-50 one block_size for the whole axis");
    require_common(axis, &DimData::periodic, std::optional(false), "periodic",
                   "DAP-40 periodic for the whole axis or not at all");
    require_common(axis, &DimData::one_to_one, std::optional(false), "one_to_one",
                   "DAP-62 one_to_one for the whole axis or not at all");
  }

  bool check_grid() {
    const auto processes = static_cast<Index>(processes_.size());
    Index grid = 1;
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      grid *= *processes_.front()[axis].proc_grid_size;
      if (grid > processes) break;  // stop before the product of the extents overflows
    }
    const bool fits = replicated_ ? grid <= processes && processes % grid == 0 : grid == processes;
    if (!fits) {
      violations_.push_back(
          {std::nullopt, std::nullopt, "proc_grid_size",
           "DAP-24 the product of all proc_grid_size is the number of processes",
           fmt::format("{}{}, {} processes{}", grid > processes ? "at least " : "", grid, processes,
                       !replicated_ && axes_ == 0
                           ? "; an array without axes lies on one, or is replicated"
                           : "")});
      return false;
    }
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      Index rest = static_cast<Index>(rank) % grid;
      for (std::size_t axis = axes_; axis-- > 0;) {
        const DimData& dimension = processes_[rank][axis];
        const Index expected = rest % *dimension.proc_grid_size;
        rest /= *dimension.proc_grid_size;
        if (*dimension.proc_grid_rank != expected)
          report(static_cast<int>(rank), axis, "proc_grid_rank",
                 "DAP-26 ranks lie on the grid in row-major order",
                 fmt::format("{}, expected {}", *dimension.proc_grid_rank, expected));
      }
    }
    return violations_.empty();
  }

  /// Checks that processes of equal grid rank have equal dictionaries; boundary padding may differ.
  /// Stores one process for each grid rank in line_.
  void check_same_coordinate(std::size_t axis) {
    line_.assign(static_cast<std::size_t>(*processes_.front()[axis].proc_grid_size), 0);
    std::vector<bool> seen(line_.size(), false);
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      const auto part = static_cast<std::size_t>(*processes_[rank][axis].proc_grid_rank);
      if (!seen[part]) {
        seen[part] = true;
        line_[part] = rank;
      } else if (!same_but_boundary(processes_[rank][axis], processes_[line_[part]][axis])) {
        report(static_cast<int>(rank), axis, "",
               "DAP-74 equal dictionaries on equal proc_grid_rank",
               fmt::format("differs from rank {}, both have proc_grid_rank {}", line_[part], part));
      }
    }
  }

  static bool same_but_boundary(const DimData& a, const DimData& b) {
    if (a.dist_type == DistType::kCyclic)
      return true;  // only start may still differ, because it may be clamped
    if (communication_padding(a) != communication_padding(b)) return false;
    return a.start == b.start && a.stop == b.stop && a.indices == b.indices;
  }

  [[nodiscard]] const DimData& in_line(std::size_t axis, std::size_t part) const {
    return processes_[line_[part]][axis];
  }

  /// Checks the processes along one axis together.
  void check_line(std::size_t axis) {
    const DistType type = *in_line(axis, 0).dist_type;
    if (type == DistType::kBlock)
      for (std::size_t part = 1; part < line_.size(); ++part)
        check_neighbours(axis, part - 1, part);
    if (type == DistType::kUnstructured && in_line(axis, 0).one_to_one.value_or(false))
      check_one_to_one(axis);
    if (!violations_.empty()) return;
    Index owned = 0;
    for (std::size_t part = 0; part < line_.size(); ++part)
      owned += owned_count(in_line(axis, part));
    if (owned != *in_line(axis, 0).size)
      report(std::nullopt, axis, "size", "DAP-22 size is the sum of the owned counts",
             fmt::format("size {}, sum {}", *in_line(axis, 0).size, owned));
  }

  void check_neighbours(std::size_t axis, std::size_t left, std::size_t right) {
    const DimData& a = in_line(axis, left);
    const DimData& b = in_line(axis, right);
    const Index upper = communication_padding(a)[1];
    const Index lower = communication_padding(b)[0];
    const auto rank = static_cast<int>(line_[right]);
    if (upper != lower) {
      report(rank, axis, "padding", "DAP-37 neighbouring communication paddings are equal",
             fmt::format("right padding {} of rank {} != left padding {} of rank {}", upper,
                         line_[left], lower, line_[right]));
      return;
    }
    if (*a.stop - upper != *b.start + lower)
      report(rank, axis, "start", "DAP-32 neighbours' owned indices touch",
             fmt::format("rank {} owns up to {}, rank {} from {}", line_[left], *a.stop - upper,
                         line_[right], *b.start + lower));
    if (level_ == Level::kLenient) return;
    if (lower > owned_count(a))
      report(rank, axis, "padding", "DAP-38 communication padding <= what the neighbour owns",
             fmt::format("left padding {}, rank {} owns {}", lower, line_[left], owned_count(a)));
    if (upper > owned_count(b))
      report(static_cast<int>(line_[left]), axis, "padding",
             "DAP-38 communication padding <= what the neighbour owns",
             fmt::format("right padding {}, rank {} owns {}", upper, line_[right], owned_count(b)));
  }

  void check_one_to_one(std::size_t axis) {
    std::unordered_map<Index, std::size_t> owner;
    for (std::size_t part = 0; part < line_.size(); ++part)
      for (const Index label : *in_line(axis, part).indices) {
        const auto [found, inserted] = owner.try_emplace(label, part);
        if (!inserted && found->second != part)
          report(static_cast<int>(line_[part]), axis, "indices",
                 "DAP-62 one_to_one: each label on one process",
                 fmt::format("label {} is on rank {}, too", label, line_[found->second]));
      }
  }

  Level level_;
  bool replicated_;
  std::vector<std::vector<DimData>> processes_;
  std::size_t axes_ = 0;
  std::vector<std::size_t> line_;
  Violations violations_;
};

}  // namespace

Violations check_processes(std::span<const ProcessPiece> pieces, Level level, bool replicated) {
  Violations violations;
  for (std::size_t rank = 0; rank < pieces.size(); ++rank)
    for (Violation& found : validate(pieces[rank].dimensions, pieces[rank].buffer_shape, level)) {
      found.rank = static_cast<int>(rank);
      violations.push_back(std::move(found));
    }
  if (!violations.empty()) return violations;
  return Whole(pieces, level, replicated).check();
}

}  // namespace impishim::darray::dap
