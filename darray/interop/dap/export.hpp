// SPDX-License-Identifier: Apache-2.0
/// What `__distarray__` gives: version, buffer and dimension dictionaries of one process's piece,
/// as values; in and out without copying.
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

/// An export as a foreign library offered it. Unset: the key is missing.
struct ForeignExport {
  std::optional<Value> version;
  bool has_buffer = false;        ///< the key is there
  std::optional<Buffer> buffer;   ///< what it holds, if that is a buffer
  bool has_dim_data = false;      ///< the key is there
  bool dim_data_is_tuple = true;  ///< false: another sequence
  std::optional<std::vector<Dictionary>>
      dim_data;                         ///< what it holds, if that is a sequence of dictionaries
  std::vector<std::string> other_keys;  ///< keys beyond the three
};

/// All rules that one process can check (DAP-01 to DAP-07 and those of validate() for
/// dictionaries).
Violations validate(const ForeignExport& foreign, Level level);

/// A valid foreign export as a value; its buffer keeps its address. Aliases (`{}`) stay as they
/// are; a cyclic `start` that came cut to the size is none any more (DAP-54). No communication.
/// Error kProtocol with everything that is wrong.
Export accept(const ForeignExport& foreign, Level level);

/// One process's piece of an imported array: the view over all of its buffer, and the dictionaries
/// with aliases spelt out.
template <class T>
struct Piece {
  std::vector<DimData> dim_data;
  StridedView<T> buffer;  ///< with communication padding
  StridedView<T> owned;   ///< without
};

/// The part of the buffer that the process owns, one triplet for each axis.
Section owned_section(std::span<const DimData> dim_data);

/// Views of an export's memory: same address, strided and Fortran-order buffers as they are. Error
/// kProtocol (strict rules are not checked again), and those of view_of().
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

/// How replicated arrays leave (the protocol knows none).
enum class Replicated { kRefuse, kExportEachCopy };

/// Dimension dictionaries of a process's piece of a distribution. Error kLayout: the process holds
/// nothing, or the grid is not the protocol's (its dimensions follow the axes in their order, the
/// members are 0, 1, ... n-1, DAP-24, DAP-26); kUnsupported: the first block of a block-cyclic axis
/// is not on part 0 (DAP-55; the text names the cure), a replicated array that is refused
/// (replicating dimensions must come first otherwise); kProtocol: ghosts that the protocol forbids
/// (DAP-37, DAP-38).
std::vector<DimData> dim_data_of(const Distribution& distribution, int rank,
                                 Replicated replicated = Replicated::kRefuse);

/// An export of a process's local buffer, ghosts included: same address. Error kShape: the view's
/// extents are not the local shape.
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

/// The distribution that all processes' pieces describe together; members are ranks 0, 1, ... With
/// `replicated`, an additional first grid dimension holds the copies. Error kProtocol:
/// check_processes() finds a violation; kUnsupported: boundary paddings that differ between
/// processes of equal grid rank; kLayout: a label twice in one process. No communication:
/// collective.hpp fetches the pieces.
DistributionPtr distribution_of(std::span<const ProcessPiece> pieces, Level level,
                                bool replicated = false);

}  // namespace impishim::darray::dap
