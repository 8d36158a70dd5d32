// SPDX-License-Identifier: Apache-2.0
// The heat equation on a square plate, solved by explicit steps on a distributed array with ghost
// cells. It shows a small simulation with darray. It runs on any number of processes, in one MPI
// system or several, and gives the same bits everywhere.
//
// Usage: heat [CELLS [STEPS [FILE.png]]], default 200 20000 heat.png
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "darray/darray.hpp"
#include "darray/examples/image.hpp"

namespace {

using namespace impishim::darray;

constexpr double kDiffusion =
    0.2;  // diffusivity * time step / cell size^2; explicit steps are stable up to 0.25
constexpr double kHot = 100;

/// This process's piece of the plate with a ring of ghosts around it, twice: for the present step
/// and for the next one.
class Plate {
 public:
  Plate(MPI_Comm comm, Index cells)
      : communicator_(comm),
        layout_(make_distribution(std::array{cells, cells}, communicator_.size(),
                                  {.kinds = "ee", .ghosts = {{0, {1, 1}}, {1, {1, 1}}}})),
        halo_(communicator_, *layout_, element_of<double>(), {.corners = false}),
        now_(static_cast<std::size_t>(layout_->local_size(communicator_.rank()))),
        next_(now_.size()) {
    const int rank = communicator_.rank();
    extents_ = layout_->owned_shape(rank);
    if (layout_->owned_size(rank) == 0) return;  // ghosts at most
    for (int axis = 0; axis < 2; ++axis)
      first_[static_cast<std::size_t>(axis)] = layout_->to_global(rank, {{0, 0}})[axis];
    heat();
    next_ = now_;
  }

  /// Computes one step. Cells that need no ghost are computed while the ghosts are on their way.
  void step() {
    const bool has_cells = extents_[0] > 0 && extents_[1] > 0;
    halo_.start(now_.data());
    if (has_cells) update(1, extents_[0] - 1, 1, extents_[1] - 1);
    halo_.wait();
    if (!has_cells) return;
    update(0, 1, 0, extents_[1]);
    if (extents_[0] > 1) update(extents_[0] - 1, extents_[0], 0, extents_[1]);
    update(1, extents_[0] - 1, 0, 1);
    if (extents_[1] > 1) update(1, extents_[0] - 1, extents_[1] - 1, extents_[1]);
    std::swap(now_, next_);
  }

  /// Returns the whole plate on rank 0, and nothing on the others.
  [[nodiscard]] std::vector<double> gathered() const {
    const DistributionPtr whole = make_on_one(layout_->shape(), 0);
    std::vector<double> all(static_cast<std::size_t>(whole->local_size(communicator_.rank())));
    remap(communicator_, {*whole}, all.data(), {*layout_}, now_.data(), element_of<double>());
    return all;
  }

  [[nodiscard]] const Distribution& layout() const { return *layout_; }
  [[nodiscard]] const Communicator& communicator() const { return communicator_; }
  [[nodiscard]] Statistics traffic() const { return total(communicator_, halo_.statistics()); }

 private:
  [[nodiscard]] StridedView<double> owned(std::vector<double>& buffer) const {
    const Index width = extents_[1] + 2;
    return {buffer.data() + width + 1, extents_, {width, 1}};
  }

  /// Keeps the edges of the plate at their temperature: the upper one hot, the others cold.
  [[nodiscard]] bool at_edge(Index row, Index column) const {
    const Index last = layout_->shape()[0] - 1;
    const Index global_row = first_[0] + row;
    const Index global_column = first_[1] + column;
    return global_row == 0 || global_row == last || global_column == 0 || global_column == last;
  }

  void heat() {
    const auto cells = owned(now_);
    for (Index row = 0; row < extents_[0]; ++row) {
      for (Index column = 0; column < extents_[1]; ++column)
        cells(row, column) = first_[0] + row == 0 ? kHot : 0;
    }
  }

  void update(Index first_row, Index end_row, Index first_column, Index end_column) {
    const auto from = owned(now_);
    const auto to = owned(next_);
    for (Index row = first_row; row < end_row; ++row) {
      for (Index column = first_column; column < end_column; ++column) {
        if (at_edge(row, column)) continue;
        const double here = from(row, column);
        const double around = from(row - 1, column) + from(row + 1, column) +
                              from(row, column - 1) + from(row, column + 1);
        to(row, column) = here + kDiffusion * (around - 4 * here);
      }
    }
  }

  Communicator communicator_;
  DistributionPtr layout_;
  HaloPlan halo_;
  std::vector<double> now_;
  std::vector<double> next_;
  std::vector<Index> extents_;
  std::array<Index, 2> first_{};
};

void run(Index cells, long steps, const std::string& file) {
  Plate plate(MPI_COMM_WORLD, cells);
  const double begin = MPI_Wtime();
  for (long i = 0; i < steps; ++i) plate.step();
  const double seconds = MPI_Wtime() - begin;
  const Statistics traffic = plate.traffic();
  const std::vector<double> all = plate.gathered();
  if (plate.communicator().rank() != 0) return;
  write_heat_map(file, all, cells, kHot);
  const auto& grid = plate.layout().grid();
  fmt::print(
      "heat: {0} x {0} cells, {1} steps on {2} processes ({3} x {4}) in {5} systems, {6:.2f} s\n",
      cells, steps, plate.communicator().size(), grid.extent(0), grid.extent(1),
      plate.communicator().systems().count(), seconds);
  fmt::print("heat: each step sends {} messages, {} of them to another system, {} of {} bytes\n",
             traffic.messages, traffic.crossing_messages, traffic.crossing_bytes, traffic.bytes);
  fmt::print("heat: {:.6f} degrees in the middle; {}\n",
             all[static_cast<std::size_t>(cells / 2 * cells + cells / 2)], file);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Index cells = argc > 1 ? std::atoll(argv[1]) : 200;
  const long steps = argc > 2 ? std::atol(argv[2]) : 20000;
  const std::string file = argc > 3 ? argv[3] : "heat.png";
  if (argc > 4 || cells < 3 || steps < 0) {
    fmt::print(stderr, "usage: heat [CELLS [STEPS [FILE.png]]], at least 3 cells\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  try {
    run(cells, steps, file);
  } catch (const std::exception& error) {
    fmt::print(stderr, "heat: {}\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
