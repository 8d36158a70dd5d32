// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "darray/array/keys/key_part.hpp"

namespace impishim::darray {
namespace {

// Selects one copy of each element, or all copies.
enum class Which : std::uint8_t { kNearest, kAll };

// The contribution of each position along a dimension to the locations of its elements. Each
// position has one or more entries (grid place, local index for each axis of the dimension). The
// places of all dimensions are added.
struct Table {
  std::vector<int> axes;
  std::vector<std::size_t> first{0};  // index of each position's first entry, and the end
  std::vector<int> places;
  IndexList locals;  // axes.size() for each entry
};

// Calls visit(number of the element, location) for the elements of a key, in row-major order of
// positions.
class Locator {
 public:
  Locator(const Layout& layout, const ResolvedKey& key, const Positions& positions, Which which)
      : layout_(layout), distribution_(layout.distribution()), key_(key), which_(which) {
    if (distribution_.is_member(layout.rank()))
      here_ = distribution_.grid().place_of(layout.rank());
    locals_.resize(static_cast<std::size_t>(distribution_.dimensions()));
    buffers_.resize(static_cast<std::size_t>(distribution_.grid().size()));
    for (std::size_t dimension = 0; dimension < positions.size(); ++dimension)
      tables_.push_back(table(static_cast<int>(dimension), positions[dimension]));
    const IndexList anywhere{0};
    gone_ = table(ResolvedKey::kNoDimension, anywhere);
    find_copies();
  }

  template <class Visit>
  void run(Visit visit) {
    Index number = 0;
    tables_.push_back(std::move(gone_));
    element(0, 0, number, visit);
  }

 private:
  // Returns the parts of an axis that have an index, and its local index there.
  std::vector<std::pair<int, Index>> holders(int axis, Index index) const {
    const DimMap& map = distribution_.axis(axis).map;
    if (map.kind() == DimMap::Kind::kUnstructured) {
      if (which_ == Which::kAll) {
        std::vector<std::pair<int, Index>> all;
        for (const int part : map.owners(index))
          all.emplace_back(part, map.local(part, index).value());
        return all;
      }
      if (here_) {
        const int mine = distribution_.part(layout_.rank(), axis);
        if (const std::optional<Index> local = map.local(mine, index)) return {{mine, *local}};
      }
    }
    const int part = map.owner(index);
    return {{part, map.local(part, index).value()}};
  }

  Table table(int dimension, const IndexList& positions) {
    Table table;
    for (int axis = 0; axis < distribution_.dimensions(); ++axis) {
      if (key_.axes()[static_cast<std::size_t>(axis)].dimension == dimension)
        table.axes.push_back(axis);
    }
    std::vector<Index> locals(table.axes.size());
    for (const Index position : positions) {
      const auto add = [&](const auto& self, std::size_t k, int place) -> void {
        if (k == table.axes.size()) {
          table.places.push_back(place);
          table.locals.insert(table.locals.end(), locals.begin(), locals.end());
          return;
        }
        const int axis = table.axes[k];
        const int grid_dimension = distribution_.axis(axis).grid_dimension;
        const int stride =
            grid_dimension == kNotDistributed ? 0 : distribution_.grid().stride(grid_dimension);
        for (const auto& [part, local] : holders(axis, key_.index_of(axis, position))) {
          locals[k] = local;
          self(self, k + 1, place + part * stride);
        }
      };
      add(add, 0, 0);
      table.first.push_back(table.places.size());
    }
    return table;
  }

  // Finds the contributions to a place from grid dimensions that no axis follows: this process's
  // own coordinates, or all.
  void find_copies() {
    const ProcessGrid& grid = distribution_.grid();
    copies_ = {0};
    for (int dimension = 0; dimension < grid.dimensions(); ++dimension) {
      bool followed = false;
      for (const Axis& axis : distribution_.axes())
        followed = followed || axis.grid_dimension == dimension;
      if (followed) continue;
      std::vector<int> more;
      for (const int copy : copies_) {
        if (which_ == Which::kNearest) {
          more.push_back(copy +
                         (here_ ? grid.coordinate(*here_, dimension) * grid.stride(dimension) : 0));
        } else {
          for (int k = 0; k < grid.extent(dimension); ++k)
            more.push_back(copy + k * grid.stride(dimension));
        }
      }
      copies_ = std::move(more);
    }
  }

  template <class Visit>
  void element(std::size_t dimension, int place, Index& number, Visit& visit) {
    // Removed axes come last and do not count elements.
    const Table& table = tables_[dimension];
    const bool last = dimension + 1 == tables_.size();
    for (std::size_t position = 0; position + 1 < table.first.size(); ++position) {
      const Index before = number;
      for (std::size_t entry = table.first[position]; entry < table.first[position + 1]; ++entry) {
        number = before;
        for (std::size_t k = 0; k < table.axes.size(); ++k)
          locals_[static_cast<std::size_t>(table.axes[k])] =
              table.locals[entry * table.axes.size() + k];
        if (!last) {
          element(dimension + 1, place + table.places[entry], number, visit);
        } else {
          for (const int copy : copies_)
            visit(number, location(place + table.places[entry] + copy));
        }
      }
    }
    if (last) ++number;
  }

  Location location(int place) {
    std::optional<Buffer>& buffer_there = buffers_[static_cast<std::size_t>(place)];
    if (!buffer_there) buffer_there.emplace(distribution_, place);
    const Buffer& buffer = *buffer_there;
    Index offset = buffer.first;
    for (std::size_t axis = 0; axis < locals_.size(); ++axis)
      offset += locals_[axis] * buffer.strides[axis];
    return {buffer.rank, offset};
  }

  // The layout of the local buffer of a grid place.
  struct Buffer {
    Buffer(const Distribution& distribution, int place)
        : rank(distribution.grid().rank_at(place)),
          strides(StridedView<char>::row_major(distribution.local_shape(rank))) {
      const std::vector<Index> offsets = distribution.owned_offset(rank);
      for (std::size_t axis = 0; axis < offsets.size(); ++axis)
        first += offsets[axis] * strides[axis];
    }
    int rank;
    std::vector<Index> strides;
    Index first = 0;
  };

  const Layout& layout_;
  const Distribution& distribution_;
  const ResolvedKey& key_;
  Which which_;
  std::optional<int> here_;
  std::vector<Table> tables_;
  Table gone_;
  std::vector<int> copies_;
  std::vector<Index> locals_;
  std::vector<std::optional<Buffer>> buffers_;  // by place
};

}  // namespace

std::vector<Location> locate(const Layout& layout, const ResolvedKey& key,
                             const Positions& positions) {
  std::vector<Location> places;
  places.reserve(static_cast<std::size_t>(count_of(positions)));
  Locator(layout, key, positions, Which::kNearest).run([&](Index, const Location& place) {
    places.push_back(place);
  });
  return places;
}

Copies locate_copies(const Layout& layout, const ResolvedKey& key, const Positions& positions) {
  Copies all;
  Locator(layout, key, positions, Which::kAll).run([&](Index number, const Location& place) {
    all.places.push_back(place);
    all.numbers.push_back(number);
  });
  if (key.is_section()) return all;
  std::map<std::pair<int, Index>, Index> last;
  for (std::size_t k = 0; k < all.places.size(); ++k)
    last[{all.places[k].rank, all.places[k].offset}] = all.numbers[k];
  Copies kept;
  for (std::size_t k = 0; k < all.places.size(); ++k) {
    if (last.at({all.places[k].rank, all.places[k].offset}) != all.numbers[k]) continue;
    kept.places.push_back(all.places[k]);
    kept.numbers.push_back(all.numbers[k]);
  }
  return kept;
}

}  // namespace impishim::darray
