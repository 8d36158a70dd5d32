// SPDX-License-Identifier: Apache-2.0
/// Descriptions of block-cyclic arrays in the form of other libraries: ScaLAPACK's array
/// descriptor, and the arguments of MPI_Type_create_darray(). Conversion works in both directions.
/// Neither library is needed.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// The order in which a BLACS grid numbers its processes: the argument of blacs_gridinit().
enum class BlacsOrder : char { kRowMajor = 'R', kColumnMajor = 'C' };

/// The descriptor of a dense matrix (ScaLAPACK Users' Guide, "Array Descriptor for In-core Dense
/// Matrices") with its process grid.
struct BlacsLayout {
  /// DTYPE_ (1), CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_.
  std::array<int, 9> descriptor{};
  int rows = 1;  ///< process rows
  int columns = 1;
  BlacsOrder order = BlacsOrder::kRowMajor;

  bool operator==(const BlacsLayout&) const = default;
};

/// Returns a two-dimensional distribution as a ScaLAPACK descriptor; a distribution with one axis
/// becomes a column vector. The local matrix is column-major with this leading dimension; 0 means
/// the number of local rows, at least 1. The members of the grid must be the BLACS processes 0, 1,
/// ....
///
/// Throws Error(kUnsupported) if the layout is not block-cyclic, has ghosts, is replicated, has
/// another number of axes, or needs numbers beyond int. Throws Error(kLayout) if the leading
/// dimension is smaller than the number of local rows.
BlacsLayout to_blacs(const Distribution& distribution, int rank, int context,
                     int leading_dimension = 0);
/// Returns the distribution of a ScaLAPACK descriptor, on ranks 0 to rows * columns - 1. Throws
/// Error(kArgument) if DTYPE_ is not 1, an extent is negative, a block is smaller than 1, or a
/// source process is outside the grid.
DistributionPtr from_blacs(const BlacsLayout& layout);

/// The distribution of an axis in MPI_Type_create_darray(): MPI_DISTRIBUTE_NONE, _BLOCK or _CYCLIC.
enum class MpiDistribute { kNone, kBlock, kCyclic };
/// The order of the local array in memory: MPI_ORDER_C or MPI_ORDER_FORTRAN. The process grid is
/// row-major with both.
enum class MpiOrder { kC, kFortran };

/// The arguments of MPI_Type_create_darray() (MPI-3.1, 4.1.4) without the element type. An unset
/// entry of `dargs` means MPI_DISTRIBUTE_DFLT_DARG. The constants of mpi.h differ between MPI
/// libraries, so the caller must translate them.
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

/// Returns the arguments for a process. Every `darg` is set, except those of axes that are not
/// distributed. Throws Error(kUnsupported) if the layout is not block or block-cyclic starting at
/// process 0, or if the grid dimensions do not follow the axes in order. Also throws it if the
/// array is replicated, or if numbers exceed int. Throws Error(kLayout) if the process is outside
/// the grid, or if the members are not 0, 1, ....
MpiDarrayArguments to_mpi_darray(const Distribution& distribution, int rank,
                                 MpiOrder order = MpiOrder::kC);
/// Returns the distribution that the arguments describe on all processes; `rank` and `order`
/// concern the memory of one process only. Throws Error(kArgument) if MPI_Type_create_darray()
/// would refuse the arguments.
DistributionPtr from_mpi_darray(const MpiDarrayArguments& arguments);

}  // namespace impishim::darray
