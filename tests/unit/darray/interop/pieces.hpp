// SPDX-License-Identifier: Apache-2.0
/// Short ways to write dimension dictionaries down.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "darray/interop/dap/export.hpp"

namespace impishim::darray::dap::test {

inline DimData block(Index size, int parts, int part, Index start, Index stop,
                     std::optional<Padding> padding = std::nullopt,
                     std::optional<bool> periodic = std::nullopt) {
  DimData dimension;
  dimension.dist_type = DistType::kBlock;
  dimension.size = size;
  dimension.proc_grid_size = parts;
  dimension.proc_grid_rank = part;
  dimension.start = start;
  dimension.stop = stop;
  dimension.padding = padding;
  dimension.periodic = periodic;
  return dimension;
}

inline DimData cyclic(Index size, int parts, int part,
                      std::optional<Index> block_size = std::nullopt) {
  DimData dimension;
  dimension.dist_type = DistType::kCyclic;
  dimension.size = size;
  dimension.proc_grid_size = parts;
  dimension.proc_grid_rank = part;
  dimension.start = part * block_size.value_or(1);
  dimension.block_size = block_size;
  return dimension;
}

inline DimData labels(Index size, int parts, int part, std::vector<Index> indices,
                      std::optional<bool> one_to_one = std::nullopt) {
  DimData dimension;
  dimension.dist_type = DistType::kUnstructured;
  dimension.size = size;
  dimension.proc_grid_size = parts;
  dimension.proc_grid_rank = part;
  dimension.indices = std::move(indices);
  dimension.one_to_one = one_to_one;
  return dimension;
}

/// Dictionaries with the buffer shape that they ask for.
inline ProcessPiece piece(std::vector<DimData> dimensions) {
  ProcessPiece piece;
  for (const DimData& dimension : dimensions)
    piece.buffer_shape.push_back(buffer_extent(dimension));
  piece.dimensions = std::move(dimensions);
  return piece;
}

/// A piece of one axis of each process.
inline std::vector<ProcessPiece> pieces(const std::vector<DimData>& parts) {
  std::vector<ProcessPiece> all;
  for (const DimData& part : parts) all.push_back(piece({part}));
  return all;
}

/// The four processes of the specification's padding table (T3).
inline std::vector<DimData> padded() {
  return {block(30, 4, 0, 0, 9, Padding{4, 1}), block(30, 4, 1, 7, 16, Padding{1, 2}),
          block(30, 4, 2, 12, 24, Padding{2, 3}), block(30, 4, 3, 18, 30, Padding{3, 0})};
}

/// Five rows and nine columns on 2 x 2 processes, both by labels (T6).
inline std::vector<ProcessPiece> labelled_on_both_axes() {
  const std::vector<Index> rows[] = {{3, 0}, {4, 2, 1}};
  const std::vector<Index> columns[] = {{2, 3, 7, 1}, {6, 5, 8, 0, 4}};
  std::vector<ProcessPiece> all;
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 2; ++column)
      all.push_back(
          piece({labels(5, 2, row, rows[row], true), labels(9, 2, column, columns[column], true)}));
  return all;
}

/// "rank 1: dimension 0: 'padding': DAP-37 ..." one after the other; empty: valid.
inline std::string text_of(const Violations& violations) {
  std::string text;
  for (const Violation& violation : violations) text += violation.message() + "\n";
  return text;
}

/// All owned global indices of a piece's axis.
inline std::vector<Index> owned_indices(const DimData& dimension) {
  std::vector<Index> found;
  const Triplet owned = owned_part(dimension);
  for (Index k = 0; k < owned.count; ++k) found.push_back(to_global(dimension, owned.at(k)));
  return found;
}

}  // namespace impishim::darray::dap::test
