// SPDX-License-Identifier: Apache-2.0
/// The map of an axis to parts by lists of labels (DAP's 'u').
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Part p owns the labels labels[p], in that order. A label is any number; negative labels do not
/// count from the end (DAP-61). Several parts may have the same label, unless the map is one-to-one
/// (DAP-62). The extent is the sum of the lengths of the lists (DAP-64).
class UnstructuredMap {
 public:
  /// @throws Error kLayout if a part has a label twice, or if one_to_one is set and two parts have
  /// the same label.
  UnstructuredMap(std::vector<std::vector<Index>> labels, bool one_to_one);

  [[nodiscard]] Index extent() const { return table_->extent; }
  [[nodiscard]] int parts() const { return static_cast<int>(table_->labels.size()); }
  [[nodiscard]] bool one_to_one() const { return table_->one_to_one; }
  [[nodiscard]] Index owned(int part) const { return static_cast<Index>(labels(part).size()); }
  [[nodiscard]] std::span<const Index> labels(int part) const {
    return table_->labels[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] Index global(int part, Index local) const {
    return labels(part)[static_cast<std::size_t>(local)];
  }
  [[nodiscard]] bool contains(Index label) const { return !holders(label).empty(); }
  /// Returns the lowest part that has the label. Some part must have it.
  [[nodiscard]] int owner(Index label) const { return holders(label).front().part; }
  [[nodiscard]] std::vector<int> owners(Index label) const;
  /// Returns the local index, or -1 if the part does not have the label.
  [[nodiscard]] Index local(int part, Index label) const;
  /// Returns the lowest and the highest label, or nothing if there is no label.
  [[nodiscard]] std::optional<std::pair<Index, Index>> label_range() const;
  [[nodiscard]] std::uint64_t hash() const { return table_->hash; }
  bool operator==(const UnstructuredMap& other) const;

 private:
  struct Holder {
    Index label;
    Index local;
    int part;
  };
  struct Table {
    std::vector<std::vector<Index>> labels;
    bool one_to_one = false;
    Index extent = 0;
    std::vector<Holder> holders;  // by label, then part
    std::uint64_t hash = 0;
  };
  /// Returns all parts that have the label, the lowest first.
  [[nodiscard]] std::span<const Holder> holders(Index label) const;

  std::shared_ptr<const Table> table_;
};

}  // namespace impishim::darray
