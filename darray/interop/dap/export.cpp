// SPDX-License-Identifier: Apache-2.0
// The import and validation of exports, and the conversion of distributions to and from dimension
// dictionaries.
#include "darray/interop/dap/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace impishim::darray::dap {

namespace {

void require_key(Violations& violations, bool present, const char* key) {
  if (!present)
    violations.push_back(
        {std::nullopt, std::nullopt, key, "DAP-01 an export has this key", "it is missing"});
}

/// Checks that the grid of a distribution is a grid of the protocol.
void check_grid(const Distribution& distribution, Replicated replicated) {
  const ProcessGrid& grid = distribution.grid();
  for (int place = 0; place < grid.size(); ++place)
    if (grid.rank_at(place) != place)
      fail(ErrorKind::kLayout,
           "DAP-26: place {} of the grid is rank {}: the protocol counts processes in row-major "
           "order; use a communicator of "
           "the "
           "grid's members in their order",
           place, grid.rank_at(place));
  std::vector<bool> followed(static_cast<std::size_t>(grid.dimensions()), false);
  int first_followed = grid.dimensions();
  int last = -1;
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    const int dimension = distribution.axis(axis).grid_dimension;
    if (dimension == kNotDistributed || grid.extent(dimension) == 1) continue;
    if (dimension < last)
      fail(ErrorKind::kLayout,
           "DAP-26: axis {} follows grid dimension {}, the axis before it {}: the grid's "
           "dimensions must follow "
           "the axes in their order",
           axis, dimension, last);
    last = dimension;
    first_followed = std::min(first_followed, dimension);
    followed[static_cast<std::size_t>(dimension)] = true;
  }
  if (!distribution.is_replicated()) return;
  if (replicated == Replicated::kRefuse)
    fail(ErrorKind::kUnsupported,
         "DAP-24: {} processes hold each piece, and the protocol knows no replicated arrays; "
         "export each "
         "copy explicitly, or remap first",
         distribution.replicas());
  for (int dimension = first_followed; dimension < grid.dimensions(); ++dimension)
    if (!followed[static_cast<std::size_t>(dimension)] && grid.extent(dimension) > 1)
      fail(ErrorKind::kUnsupported,
           "DAP-26: grid dimension {} replicates, and stands behind a distributed one: each copy's "
           "processes "
           "must have consecutive ranks",
           dimension);
}

/// Checks that ghosts are valid communication padding. They must equal the neighbour's and be no
/// wider than its piece, and none may lie outside the array.
void check_ghosts(const Axis& axis, int number) {
  if (axis.ghosts.empty()) return;
  const auto last = axis.ghosts.size() - 1;
  if (axis.ghosts[0].lower != 0 || axis.ghosts[last].upper != 0)
    fail(ErrorKind::kUnsupported,
         "DAP-36: axis {} has ghosts outside of the array ({} below, {} above), which the protocol "
         "would count "
         "in its size; export the section without ghosts",
         number, axis.ghosts[0].lower, axis.ghosts[last].upper);
  for (std::size_t part = 1; part <= last; ++part) {
    const Index upper = axis.ghosts[part - 1].upper;
    const Index lower = axis.ghosts[part].lower;
    if (upper != lower)
      fail(ErrorKind::kProtocol,
           "DAP-37: axis {}: {} ghosts above part {}, {} below part {}: the protocol wants equal "
           "ones",
           number, upper, part - 1, lower, part);
    for (const std::size_t neighbour : {part - 1, part})
      if (const Index owned = axis.map.owned(static_cast<int>(neighbour)); lower > owned)
        fail(ErrorKind::kProtocol,
             "DAP-38: axis {}: {} ghosts, but their owner, part {}, has {}: the protocol allows no "
             "more",
             number, lower, neighbour, owned);
  }
}

DimData block_of(const Axis& axis, int part) {
  DimData dimension;
  dimension.dist_type = DistType::kBlock;
  const bool first = part == 0;
  const bool last = part == axis.map.parts() - 1;
  const Ghosts ghosts =
      axis.ghosts.empty() ? Ghosts{} : axis.ghosts[static_cast<std::size_t>(part)];
  const auto [begin, end] = axis.map.block_of(part);
  dimension.start = begin - ghosts.lower;
  dimension.stop = end + ghosts.upper;
  const Padding padding{first ? axis.boundary.lower : ghosts.lower,
                        last ? axis.boundary.upper : ghosts.upper};
  if (padding != Padding{}) dimension.padding = padding;
  if (axis.periodic) dimension.periodic = true;
  return dimension;
}

DimData dimension_of(const Axis& axis, int number, int part) {
  DimData dimension;
  switch (axis.map.kind()) {
    case DimMap::Kind::kCollapsed:
    case DimMap::Kind::kBlock:
      check_ghosts(axis, number);
      dimension = block_of(axis, part);
      break;
    case DimMap::Kind::kBlockCyclic:
      if (axis.map.first_part() != 0)
        fail(ErrorKind::kUnsupported,
             "DAP-55: the first block of axis {} is on part {}: the protocol begins at 0; rotate "
             "the grid's "
             "members along that dimension",
             number, axis.map.first_part());
      dimension.dist_type = DistType::kCyclic;
      dimension.start = part * axis.map.block_size();
      if (axis.map.block_size() != 1) dimension.block_size = axis.map.block_size();
      break;
    case DimMap::Kind::kUnstructured: {
      dimension.dist_type = DistType::kUnstructured;
      const auto labels = axis.map.labels().labels(part);
      dimension.indices.emplace(labels.begin(), labels.end());
      if (axis.map.labels().one_to_one()) dimension.one_to_one = true;
      break;
    }
  }
  dimension.size = axis.map.extent();
  dimension.proc_grid_size = axis.map.parts();
  dimension.proc_grid_rank = part;
  return dimension;
}

/// Returns the axis that the dictionaries of its parts describe together.
Axis axis_of(const std::vector<const DimData*>& parts, int number) {
  const DimData& first = *parts.front();
  const auto count = static_cast<int>(parts.size());
  if (first.dist_type == DistType::kCyclic) {
    if (count == 1) return {DimMap::collapsed(*first.size)};
    // A block longer than the axis holds the whole axis. Its length is kept unless the index layer
    // cannot count that far.
    Index block = first.block_size.value_or(1);
    if (block > kMaximumExtent / count) block = std::max<Index>(*first.size, 1);
    return {DimMap::block_cyclic(*first.size, count, block)};
  }
  if (first.dist_type == DistType::kUnstructured) {
    std::vector<std::vector<Index>> labels;
    for (const DimData* part : parts) labels.push_back(*part->indices);
    return {DimMap::unstructured(std::move(labels), first.one_to_one.value_or(false))};
  }
  std::vector<Index> bounds{0};
  std::vector<Ghosts> ghosts;
  bool has_ghosts = false;
  for (const DimData* part : parts) {
    const auto [lower, upper] = communication_padding(*part);
    bounds.push_back(*part->stop - upper);
    ghosts.push_back({lower, upper});
    has_ghosts = has_ghosts || lower != 0 || upper != 0;
  }
  Axis axis{count == 1 ? DimMap::collapsed(*first.size) : DimMap::bounded(std::move(bounds))};
  if (has_ghosts) axis.ghosts = std::move(ghosts);
  axis.boundary = {boundary_padding(first)[0], boundary_padding(*parts.back())[1]};
  if (axis.boundary.lower > owned_count(first) || axis.boundary.upper > owned_count(*parts.back()))
    fail(ErrorKind::kUnsupported,
         "axis {}: a boundary padding that reaches into a neighbour's piece", number);
  axis.periodic = first.periodic.value_or(false);
  return axis;
}

/// Returns the unclamped start of a cyclic axis on a process (DAP-54). A start beyond 2^63 - 1
/// stays clamped.
Index uncut_start(const DimData& dimension) {
  Index start = 0;
  const bool fits =
      !__builtin_mul_overflow(*dimension.proc_grid_rank, dimension.block_size.value_or(1), &start);
  return fits ? start : *dimension.start;
}

}  // namespace

Violations validate(const ForeignExport& foreign, Level level) {
  Violations violations;
  require_key(violations, foreign.version.has_value(), "__version__");
  require_key(violations, foreign.has_buffer, "buffer");
  require_key(violations, foreign.has_dim_data, "dim_data");
  for (const std::string& key : foreign.other_keys)
    violations.push_back({std::nullopt, std::nullopt, key, "DAP-01 an export has no further keys",
                          "not one of the three"});
  if (foreign.version) {
    const auto* text = foreign.version->as<std::string>();
    if (text == nullptr) {
      violations.push_back(
          {std::nullopt, std::nullopt, "__version__", "DAP-02 a text", describe(*foreign.version)});
    } else {
      for (Violation& found : validate_version(*text, level))
        violations.push_back(std::move(found));
    }
  }
  if (foreign.has_buffer && !foreign.buffer)
    violations.push_back({std::nullopt, std::nullopt, "buffer",
                          "DAP-04 an object that offers the buffer protocol", "it does not"});
  if (foreign.has_dim_data && !foreign.dim_data)
    violations.push_back({std::nullopt, std::nullopt, "dim_data", "DAP-05 a tuple of dictionaries",
                          "something else"});
  if (foreign.dim_data && !foreign.dim_data_is_tuple && level == Level::kStrict)
    violations.push_back({std::nullopt, std::nullopt, "dim_data", "DAP-05 a tuple of dictionaries",
                          "another sequence"});
  if (foreign.dim_data && foreign.buffer)
    for (Violation& found : validate(*foreign.dim_data, foreign.buffer->shape, level))
      violations.push_back(std::move(found));
  return violations;
}

Export accept(const ForeignExport& foreign, Level level) {
  require_none(validate(foreign, level), "the export");
  Export accepted{*foreign.version->as<std::string>(), *foreign.buffer,
                  read(*foreign.dim_data, level).dimensions};
  for (DimData& dimension : accepted.dim_data) {
    if (dimension.dist_type == DistType::kCyclic) dimension.start = uncut_start(dimension);
  }
  return accepted;
}

Section owned_section(std::span<const DimData> dim_data) {
  Section section;
  for (const DimData& dimension : dim_data) section.push_back(owned_part(dimension));
  return section;
}

std::vector<DimData> dim_data_of(const Distribution& distribution, int rank,
                                 Replicated replicated) {
  if (!distribution.is_member(rank))
    fail(ErrorKind::kLayout, "rank {} is not in the grid: it has no piece to export", rank);
  check_grid(distribution, replicated);
  std::vector<DimData> dimensions;
  for (int axis = 0; axis < distribution.dimensions(); ++axis)
    dimensions.push_back(
        dimension_of(distribution.axis(axis), axis, distribution.part(rank, axis)));
  return dimensions;
}

Export export_piece(const Distribution& distribution, int rank, Buffer local,
                    Replicated replicated) {
  Export exported;
  exported.dim_data = dim_data_of(distribution, rank, replicated);
  if (local.shape.size() != exported.dim_data.size())
    fail(ErrorKind::kShape, "DAP-06: a buffer of {} dimensions for an array of {}",
         local.shape.size(), exported.dim_data.size());
  const auto expected = distribution.local_shape(rank);
  for (std::size_t axis = 0; axis < expected.size(); ++axis)
    if (local.shape[axis] != expected[axis])
      fail(ErrorKind::kShape, "DAP-34: axis {}: the buffer has extent {}, rank {}'s piece {}", axis,
           local.shape[axis], rank, expected[axis]);
  exported.buffer = std::move(local);
  return exported;
}

DistributionPtr distribution_of(std::span<const ProcessPiece> pieces, Level level,
                                bool replicated) {
  if (pieces.empty()) fail(ErrorKind::kArgument, "no process, no array");
  require_none(check_processes(pieces, level, replicated), "the distributed array");
  const std::size_t count = pieces.front().dimensions.size();
  std::vector<int> extents;
  Index grid = 1;
  std::vector<Axis> axes;
  for (std::size_t axis = 0; axis < count; ++axis) {
    std::vector<DimData> all;
    for (const ProcessPiece& piece : pieces)
      all.push_back(resolved(piece.dimensions[axis], piece.buffer_shape[axis]));
    std::vector<const DimData*> parts(static_cast<std::size_t>(*all.front().proc_grid_size),
                                      nullptr);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const DimData*& part = parts[static_cast<std::size_t>(*all[rank].proc_grid_rank)];
      if (part == nullptr) part = &all[rank];
      if (all[rank].dist_type == DistType::kBlock &&
          boundary_padding(all[rank]) != boundary_padding(*part))
        fail(ErrorKind::kUnsupported,
             "axis {}: rank {} has another boundary padding than the process before it with the "
             "same "
             "proc_grid_rank",
             axis, rank);
    }
    axes.push_back(axis_of(parts, static_cast<int>(axis)));
    if (parts.size() > 1) {
      axes.back().grid_dimension = static_cast<int>(extents.size());
      extents.push_back(static_cast<int>(parts.size()));
      grid *= static_cast<Index>(parts.size());
    }
  }
  if (const auto processes = static_cast<Index>(pieces.size()); processes > grid) {
    extents.insert(extents.begin(), static_cast<int>(processes / grid));
    for (Axis& axis : axes)
      if (axis.grid_dimension != kNotDistributed) ++axis.grid_dimension;
  }
  return Distribution::make(extents.empty() ? ProcessGrid() : ProcessGrid(std::move(extents)),
                            std::move(axes));
}

}  // namespace impishim::darray::dap
