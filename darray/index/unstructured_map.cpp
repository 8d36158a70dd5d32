// SPDX-License-Identifier: Apache-2.0
#include "darray/index/unstructured_map.hpp"

#include <algorithm>
#include <tuple>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"

namespace impishim::darray {

UnstructuredMap::UnstructuredMap(std::vector<std::vector<Index>> labels, bool one_to_one) {
  Table table;
  table.labels = std::move(labels);
  table.one_to_one = one_to_one;
  Hasher hasher;
  hasher.add(one_to_one ? 1 : 0);
  for (std::size_t part = 0; part < table.labels.size(); ++part) {
    const std::vector<Index>& list = table.labels[part];
    table.extent += static_cast<Index>(list.size());
    hasher.add(static_cast<Index>(list.size()));
    for (std::size_t local = 0; local < list.size(); ++local) {
      table.holders.push_back({list[local], static_cast<Index>(local), static_cast<int>(part)});
      hasher.add(list[local]);
    }
  }
  table.hash = hasher.value();
  std::sort(table.holders.begin(), table.holders.end(), [](const Holder& a, const Holder& b) {
    return std::tie(a.label, a.part, a.local) < std::tie(b.label, b.part, b.local);
  });
  for (std::size_t i = 1; i < table.holders.size(); ++i) {
    const Holder& one = table.holders[i - 1];
    const Holder& other = table.holders[i];
    if (one.label != other.label) continue;
    if (one.part == other.part) {
      fail(ErrorKind::kLayout,
           "label {} stands at the local indices {} and {} of part {}: a part has a label once",
           one.label, one.local, other.local, one.part);
    }
    if (one_to_one) {
      fail(ErrorKind::kLayout,
           "label {} is both part {}'s and part {}'s, though the map is said to be one-to-one",
           one.label, one.part, other.part);
    }
  }
  table_ = std::make_shared<const Table>(std::move(table));
}

std::span<const UnstructuredMap::Holder> UnstructuredMap::holders(Index label) const {
  const auto& all = table_->holders;
  const auto begin = std::ranges::lower_bound(all, label, {}, &Holder::label);
  const auto end = std::ranges::upper_bound(begin, all.end(), label, {}, &Holder::label);
  return {begin, end};
}

std::vector<int> UnstructuredMap::owners(Index label) const {
  std::vector<int> parts;
  for (const Holder& holder : holders(label)) parts.push_back(holder.part);
  return parts;
}

Index UnstructuredMap::local(int part, Index label) const {
  const auto all = holders(label);
  const auto mine = std::ranges::lower_bound(all, part, {}, &Holder::part);
  return mine == all.end() || mine->part != part ? -1 : mine->local;
}

std::optional<std::pair<Index, Index>> UnstructuredMap::label_range() const {
  if (table_->holders.empty()) return std::nullopt;
  return std::pair(table_->holders.front().label, table_->holders.back().label);
}

bool UnstructuredMap::operator==(const UnstructuredMap& other) const {
  if (table_ == other.table_) return true;
  return table_->hash == other.table_->hash && table_->one_to_one == other.table_->one_to_one &&
         table_->labels == other.table_->labels;
}

}  // namespace impishim::darray
