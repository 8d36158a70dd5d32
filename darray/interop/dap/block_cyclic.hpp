// SPDX-License-Identifier: Apache-2.0
/// Descriptions of block-cyclic arrays by other libraries: ScaLAPACK's array descriptor, and the
/// arguments of MPI_Type_create_darray(). Both ways; neither library is needed.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// In which order a BLACS grid counts its processes: what blacs_gridinit() is told.
enum class BlacsOrder : char { kRowMajor = 'R', kColumnMajor = 'C' };

/// A dense matrix's descriptor (ScaLAPACK Users' Guide, "Array Descriptor for In-core Dense
/// Matrices") and its process grid.
struct BlacsLayout {
  /// DTYPE_ (1), CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_.
  std::array<int, 9> descriptor{};
  int rows = 1;  ///< of processes
  int columns = 1;
  BlacsOrder order = BlacsOrder::kRowMajor;

  bool operator==(const BlacsLayout&) const = default;
};

/// A two-dimensional distribution (one axis: a column vector) as ScaLAPACK sees it; the local
/// matrix is column-major with this leading dimension (0: the local rows, at least 1). Members of
/// the grid are to be the BLACS processes 0, 1, ... Error kUnsupported: a layout that is not
/// block-cyclic, ghosts, replication, another rank, numbers beyond int; kLayout: a leading
/// dimension below the local rows.
BlacsLayout to_blacs(const Distribution& distribution, int rank, int context,
                     int leading_dimension = 0);
/// The other way, on ranks 0 to rows * columns - 1. Error kArgument: another DTYPE_, a negative
/// extent, blocks below 1, a source process outside of the grid.
DistributionPtr from_blacs(const BlacsLayout& layout);

/// How MPI_Type_create_darray() distributes an axis: MPI_DISTRIBUTE_NONE, _BLOCK, _CYCLIC.
enum class MpiDistribute { kNone, kBlock, kCyclic };
/// In which order the local array lies in memory: MPI_ORDER_C, MPI_ORDER_FORTRAN. The process grid
/// is row-major with both.
enum class MpiOrder { kC, kFortran };

/// The arguments of MPI_Type_create_darray() (MPI-3.1, 4.1.4) but for the element type. An unset
/// entry of `dargs` is MPI_DISTRIBUTE_DFLT_DARG. The constants of mpi.h differ from library to
/// library, so that they are the caller's business.
struct MpiDarrayArguments {
  int size = 1;
  int rank = 0;
  std::vector<int> gsizes;
  std::vector<MpiDistribute> distribs;
  std::vector<std::optional<int>> dargs;
  std::vector<int> psizes;
  MpiOrder order = MpiOrder::kC;

  bool operator==(const MpiDarrayArguments&) const = default;
};

/// A process's arguments, with every `darg` set but those of undistributed axes. Error
/// kUnsupported: a layout that is not block or block-cyclic from process 0 on, grid dimensions that
/// do not follow the axes in their order, replication, numbers beyond int; kLayout: a process
/// outside of the grid, or members that are not 0, 1, ...
MpiDarrayArguments to_mpi_darray(const Distribution& distribution, int rank,
                                 MpiOrder order = MpiOrder::kC);
/// The distribution that the arguments describe on all processes (`rank` and `order` concern one
/// process's memory). Error kArgument: what MPI_Type_create_darray() refuses.
DistributionPtr from_mpi_darray(const MpiDarrayArguments& arguments);

}  // namespace impishim::darray
