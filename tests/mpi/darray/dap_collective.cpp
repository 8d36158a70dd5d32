// SPDX-License-Identifier: Apache-2.0
// The protocol's rules over all processes, asked by the processes themselves: every one gets the
// same answer, or the same error. And the arguments for MPI_Type_create_darray(), given to it.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "darray/base/error.hpp"
#include "darray/index/make_distribution.hpp"
#include "darray/interop/collective/collective.hpp"
#include "darray/interop/dap/block_cyclic.hpp"
#include "tests/support/check.hpp"
#include "tests/unit/darray/interop/pieces.hpp"

namespace {

using namespace impishim::darray;
using dap::test::labels;
using dap::test::piece;
using dap::test::text_of;
using impishim_test::rank_in;
using impishim_test::size_of;

int me() { return rank_in(MPI_COMM_WORLD); }
int processes() { return size_of(MPI_COMM_WORLD); }

/// Blocks of 4, 5, 6, ... elements: `size` of them all, and where a process's begin.
Index begin_of(int rank) { return 4 * Index{rank} + Index{rank} * (rank - 1) / 2; }

dap::ProcessPiece block(Index lower = 0, Index upper = 0) {
  const Index start = begin_of(me()) - (me() > 0 ? lower : 0);
  const Index stop = begin_of(me() + 1) + (me() + 1 < processes() ? upper : 0);
  return piece({dap::test::block(begin_of(processes()), processes(), me(), start, stop,
                                 dap::Padding{lower, upper})});
}

/// Prints what all processes have alike; whoever has something else ends the test.
void print_same(const std::string& text) {
  std::uint64_t hash = std::hash<std::string>()(text);
  std::uint64_t first = hash;
  MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  REQUIRE(hash == first);
  if (me() == 0) std::printf("%s\n", text.c_str());
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// What all processes are told, which names the rule that is broken. One process has no neighbour
/// to break rules with.
void print_same(const std::string& title, const std::string& text, const char* rule) {
  REQUIRE(processes() == 1 || text.find(rule) != std::string::npos);
  print_same(title + ": " + text);
}

void check_blocks() {
  const DistributionPtr layout =
      dap::import_distribution(MPI_COMM_WORLD, block(2, 2), dap::Level::kStrict);
  std::string text = "bounds";
  for (int rank = 0; rank < processes(); ++rank) {
    REQUIRE_EQUAL(layout->owned_shape(rank)[0], begin_of(rank + 1) - begin_of(rank));
    text += " " + std::to_string(layout->axis(0).map.block_of(rank).second);
  }
  print_same(text);
  REQUIRE_EQUAL(layout->local_shape(me())[0], block(2, 2).buffer_shape[0]);
  const auto again = dap::dim_data_of(*layout, me());
  REQUIRE(again[0].start == block(2, 2).dimensions[0].start);
  REQUIRE(again[0].stop == block(2, 2).dimensions[0].stop);
}

void check_violations() {
  dap::ProcessPiece mine = block(1, 1);
  if (me() == 1) mine.dimensions[0].padding = dap::Padding{0, 1};
  const auto found = [](const dap::ProcessPiece& offered, dap::Level level) {
    return text_of(dap::check_collectively(MPI_COMM_WORLD, offered, level));
  };
  print_same("unequal paddings", found(mine, dap::Level::kStrict),
             "rank 1: dimension 0: 'padding': DAP-37");
  print_same("an import of them",
             error_of([&] { dap::import_distribution(MPI_COMM_WORLD, mine, dap::Level::kStrict); }),
             "DAP-37");
  mine = block();
  if (me() == processes() - 1) mine.buffer_shape[0] += 1;
  const std::string too_long = found(mine, dap::Level::kLenient);
  REQUIRE(too_long.find("DAP-34") != std::string::npos);
  print_same("a buffer too long: " + too_long);
}

void check_labels() {
  const dap::ProcessPiece mine =
      piece({labels(2 * processes(), processes(), me(), {-me(), 100 + me() / 2})});
  const DistributionPtr layout =
      dap::import_distribution(MPI_COMM_WORLD, mine, dap::Level::kStrict);
  REQUIRE_EQUAL(layout->axis(0).map.owner(1 - processes()), processes() - 1);
  REQUIRE_EQUAL(layout->axis(0).map.owners(100).size(), processes() > 1 ? 2 : 1);
  dap::ProcessPiece unique = mine;
  unique.dimensions[0].one_to_one = true;
  print_same("labels twice",
             text_of(dap::check_collectively(MPI_COMM_WORLD, unique, dap::Level::kStrict)),
             "DAP-62");
}

void check_scalars() {
  const dap::ProcessPiece scalar;
  print_same("scalars",
             text_of(dap::check_collectively(MPI_COMM_WORLD, scalar, dap::Level::kStrict)),
             "DAP-24");
  const DistributionPtr layout =
      dap::import_distribution(MPI_COMM_WORLD, scalar, dap::Level::kStrict, /*replicated=*/true);
  REQUIRE_EQUAL(layout->replicas(), processes());
  dap::ProcessPiece alias;
  alias.dimensions = {{}, block().dimensions[0]};
  alias.buffer_shape = {7, block().buffer_shape[0]};
  REQUIRE_EQUAL(dap::import_distribution(MPI_COMM_WORLD, alias, dap::Level::kStrict)->shape()[0],
                7);
}

/// What the type selects of a whole array whose elements are numbered in memory order.
std::vector<int> selected(const MpiDarrayArguments& arguments) {
  std::vector<int> distributions;
  std::vector<int> dargs;
  int size = 1;
  for (std::size_t axis = 0; axis < arguments.gsizes.size(); ++axis) {
    size *= arguments.gsizes[axis];
    const MpiDistribute kind = arguments.distribs[axis];
    distributions.push_back(kind == MpiDistribute::kNone    ? MPI_DISTRIBUTE_NONE
                            : kind == MpiDistribute::kBlock ? MPI_DISTRIBUTE_BLOCK
                                                            : MPI_DISTRIBUTE_CYCLIC);
    dargs.push_back(arguments.dargs[axis].value_or(MPI_DISTRIBUTE_DFLT_DARG));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int order = arguments.order == MpiOrder::kC ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Type_create_darray(arguments.size, arguments.rank, static_cast<int>(arguments.gsizes.size()),
                         arguments.gsizes.data(), distributions.data(), dargs.data(),
                         arguments.psizes.data(), order, MPI_INT, &type);
  MPI_Type_commit(&type);
  std::vector<int> whole(static_cast<std::size_t>(size));
  std::iota(whole.begin(), whole.end(), 0);
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  std::vector<int> piece(static_cast<std::size_t>(bytes) / sizeof(int));
  MPI_Sendrecv(whole.data(), 1, type, 0, 0, piece.data(), static_cast<int>(piece.size()), MPI_INT,
               0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  return piece;
}

/// The same from the distribution.
std::vector<int> owned(const Distribution& layout, int rank, MpiOrder order) {
  std::vector<int> piece;
  const auto shape = layout.owned_shape(rank);
  const std::size_t axes = shape.size();
  // The axes from the one that varies fastest in memory on.
  const auto fast = [&](std::size_t k) { return order == MpiOrder::kC ? axes - 1 - k : k; };
  for (Index number = 0; number < layout.owned_size(rank); ++number) {
    std::vector<Index> local(axes);
    Index rest = number;
    for (std::size_t k = 0; k < axes; ++k) {
      local[fast(k)] = rest % shape[fast(k)];
      rest /= shape[fast(k)];
    }
    const auto global = layout.to_global(rank, local);
    Index flat = 0;
    for (std::size_t k = axes; k-- > 0;) flat = flat * layout.shape()[fast(k)] + global[fast(k)];
    piece.push_back(static_cast<int>(flat));
  }
  return piece;
}

/// DAP-26: the ranks of a grid are those of MPI_Cart_create() without reordering.
void check_rank_order() {
  if (processes() != 4) return;
  const int extents[] = {2, 2};
  const int periods[] = {0, 0};
  MPI_Comm cartesian = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, extents, periods, /*reorder=*/0, &cartesian);
  const ProcessGrid grid({2, 2});
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<int> coordinates(2);
    MPI_Cart_coords(cartesian, rank, 2, coordinates.data());
    REQUIRE(grid.coordinates_of(rank) == coordinates);
    REQUIRE_EQUAL(grid.rank_of(coordinates), rank);
  }
  MPI_Comm_free(&cartesian);
}

void check_mpi_darray() {
  const std::vector<DistributionPtr> layouts{
      make_distribution(std::array<Index, 2>{7, 11}, 6,
                        {.kinds = "bc", .grid = {2, 3}, .block_sizes = {{1, 2}}}),
      make_distribution(std::array<Index, 3>{5, 4, 6}, 6,
                        {.kinds = "cnb", .grid = {3, 1, 2}, .block_sizes = {{0, 2}}}),
      make_distribution(std::array<Index, 1>{9}, 4, {.kinds = "b"})};
  for (const DistributionPtr& layout : layouts)
    for (int rank = 0; rank < layout->grid().size(); ++rank)
      for (const MpiOrder order : {MpiOrder::kC, MpiOrder::kFortran}) {
        const MpiDarrayArguments arguments = to_mpi_darray(*layout, rank, order);
        REQUIRE(selected(arguments) == owned(*layout, rank, order));
        REQUIRE(from_mpi_darray(arguments)->same_pieces(*layout));
      }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_blocks();
  check_violations();
  check_labels();
  check_scalars();
  check_rank_order();
  check_mpi_darray();
  print_same("done");
  MPI_Finalize();
  return 0;
}
