// SPDX-License-Identifier: Apache-2.0
/// The result of `__distarray__` as values: version, buffer and dimension dictionaries of one
/// process's piece. Import and export do not copy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/interop/dap/buffer.hpp"
#include "darray/interop/dap/validate.hpp"

namespace impishim::darray::dap {

/// A valid export.
struct Export {
  std::string version{kVersion};
  Buffer buffer;
  std::vector<DimData> dim_data;

  bool operator==(const Export&) const = default;
};

/// An export as another library offers it. An unset member is a missing key.
struct ForeignExport {
  std::optional<Value> version;
  bool has_buffer = false;        ///< the key is present
  std::optional<Buffer> buffer;   ///< the key's value, if it is a buffer
  bool has_dim_data = false;      ///< the key is present
  bool dim_data_is_tuple = true;  ///< false: it is another kind of sequence
  std::optional<std::vector<Dictionary>>
      dim_data;                         ///< the key's value, if it is a sequence of dictionaries
  std::vector<std::string> other_keys;  ///< keys other than the three
};

/// Checks all rules that one process can check: DAP-01 to DAP-07, and those of validate() for
/// dictionaries. Returns the violations.
Violations validate(const ForeignExport& foreign, Level level);

/// Returns a valid foreign export as a value; its buffer keeps its address. Aliases (`{}`) stay as
/// they are. A cyclic `start` that was clamped to the size is restored (DAP-54). No communication.
/// Throws Error(kProtocol), with all violations in its text, if the export is invalid.
Export accept(const ForeignExport& foreign, Level level);

/// One process's piece of an imported array: a view of the whole buffer, and the dictionaries with
/// aliases replaced by full dictionaries.
template <class T>
struct Piece {
  std::vector<DimData> dim_data;
  StridedView<T> buffer;  ///< with communication padding
  StridedView<T> owned;   ///< without communication padding
};

/// Returns the part of the buffer that the process owns, one triplet for each axis.
Section owned_section(std::span<const DimData> dim_data);

/// Returns views of an export's memory with the same address; strided and Fortran-order buffers
/// stay as they are. Throws Error(kProtocol) if a lenient rule is broken; strict rules are not
/// checked again. Throws the errors of view_of().
template <class T>
Piece<T> piece_of(const Export& exported) {
  require_none(validate(exported.dim_data, exported.buffer.shape, Level::kLenient), "the export");
  Piece<T> piece;
  for (std::size_t axis = 0; axis < exported.dim_data.size(); ++axis)
    piece.dim_data.push_back(resolved(exported.dim_data[axis], exported.buffer.shape[axis]));
  piece.buffer = view_of<T>(exported.buffer);
  piece.owned = piece.buffer.section(owned_section(piece.dim_data));
  return piece;
}

/// The way to export replicated arrays, which the protocol does not have.
enum class Replicated { kRefuse, kExportEachCopy };

/// Returns the dimension dictionaries of a process's piece of a distribution.
///
/// Throws Error(kLayout) if the process holds nothing, or if the grid is not the protocol's
/// (DAP-24, DAP-26). The grid's dimensions must follow the axes in order, and the members must be
/// 0, 1, ... n-1.
///
/// Throws Error(kUnsupported) if the first block of a block-cyclic axis is not on part 0 (DAP-55);
/// the text names a solution. Also throws it if the array is replicated and `replicated` is
/// kRefuse, or if replicating dimensions do not come first.
///
/// Throws Error(kProtocol) if the protocol forbids the ghosts (DAP-37, DAP-38).
std::vector<DimData> dim_data_of(const Distribution& distribution, int rank,
                                 Replicated replicated = Replicated::kRefuse);

/// Returns an export of a process's local buffer, including ghosts, with the same address. Throws
/// Error(kShape) if the view's extents are not the local shape.
template <class T>
Export export_piece(const Distribution& distribution, int rank, const StridedView<T>& local,
                    Replicated replicated = Replicated::kRefuse);
Export export_piece(const Distribution& distribution, int rank, Buffer local,
                    Replicated replicated = Replicated::kRefuse);

template <class T>
Export export_piece(const Distribution& distribution, int rank, const StridedView<T>& local,
                    Replicated replicated) {
  return export_piece(distribution, rank, buffer_of(local), replicated);
}

/// Returns the distribution that the pieces of all processes describe together; the members are
/// ranks 0, 1, .... With `replicated`, an additional first grid dimension holds the copies. No
/// communication: collective.hpp gathers the pieces. Throws Error(kProtocol) if check_processes()
/// finds a violation. Throws Error(kUnsupported) if boundary paddings differ between processes of
/// equal grid rank. Throws Error(kLayout) if a label occurs twice in one process.
DistributionPtr distribution_of(std::span<const ProcessPiece> pieces, Level level,
                                bool replicated = false);

}  // namespace impishim::darray::dap
