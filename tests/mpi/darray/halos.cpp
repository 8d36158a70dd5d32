// SPDX-License-Identifier: Apache-2.0
// Halo exchanges, shifts and skews, run on the ranks that there are.
#include <array>
#include <vector>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/halo/halo.hpp"
#include "darray/plan/shift/shift.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/unit/darray/plan/simulation.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;
using impishim_test::buffer_of;
using impishim_test::Buffers;
using impishim_test::Chance;
using impishim_test::filled;
using impishim_test::flat;
using impishim_test::random_layout;
using impishim_test::Simulation;

HaloOptions random_options(Chance& chance, std::size_t axes) {
  const HaloMode modes[] = {HaloMode::kAuto, HaloMode::kEdge, HaloMode::kCyclic, HaloMode::kNone,
                            HaloMode::kFill};
  HaloOptions options;
  for (std::size_t axis = 0; axis < axes; ++axis)
    options.axes.push_back({modes[chance.small(0, 4)]});
  options.corners = chance.once_in(2);
  options.fill = -9.0;
  return options;
}

/// Against the simulated ranks, which the unit tests compare with a serial halo.
void random_halos() {
  const Communicator communicator(MPI_COMM_WORLD);
  for (unsigned seed = 0; seed < 30; ++seed) {
    Chance chance(seed);
    std::vector<Index> shape;
    for (int axis = chance.small(1, 3); axis > 0; --axis) shape.push_back(chance.number(0, 7));
    const auto layout = random_layout(chance, shape, size, {.blocks_only = true});
    HaloOptions options = random_options(chance, shape.size());
    if (seed % 3 == 1) options.schedule.chunk_bytes = 32;
    const Simulation ranks(size, [&](int each) { return plan_halo(each, *layout, options); });
    const Buffers before =
        filled(*layout, size, [&](const auto& global) { return flat(global, shape); });
    Buffers after = before;
    ranks.run(before, after, -9);
    HaloPlan plan(communicator, *layout, element_of<double>(), options);
    for (int again = 0; again < 2; ++again) {
      std::vector<double> data = buffer_of<double>(rank, before);
      if (again == 0) {
        plan.execute(data.data());
      } else {
        plan.start(data.data());
        while (!plan.test()) {
        }
      }
      EXPECT(data == buffer_of<double>(rank, after));
    }
    const Statistics sum = total(communicator, plan.statistics());
    EXPECT(sum.messages >= ranks.messages() && (seed % 3 == 1 || sum.messages == ranks.messages()));
    EXPECT(sum.bytes == 8 * ranks.moved());
    EXPECT(sum.crossing_bytes == 8 * ranks.crossing(communicator.systems()));

    Buffers reduced = after;
    ranks.run_backward(reduced, after,
                       [](Index there, Index arriving) { return there + arriving; });
    std::vector<double> data = buffer_of<double>(rank, after);
    plan.reduce_back(data.data(), Combine::kSum);
    EXPECT(data == buffer_of<double>(rank, reduced));
  }
}

void square() {
  if (size < 4) return;
  const Communicator communicator(MPI_COMM_WORLD);
  const auto layout =
      make_distribution(std::array<Index, 2>{4, 4}, 4,
                        {.kinds = "bb", .grid = {2, 2}, .ghosts = {{0, {1, 1}}, {1, {1, 1}}}});
  const HaloOptions ring{.axes = {{HaloMode::kCyclic}, {HaloMode::kCyclic}}};
  const Buffers numbers = filled(*layout, size, [](const auto& global) {
    return flat(global, {4, 4});
  });
  std::vector<double> data = buffer_of<double>(rank, numbers);
  write_halo(communicator, *layout, data.data(), element_of<double>(), ring);
  if (rank == 0)
    EXPECT(data == (std::vector<double>{15, 12, 13, 14, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10}));
  if (rank == 3)
    EXPECT(data == (std::vector<double>{5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0}));

  HaloPlan plan(communicator, *layout, element_of<double>(), ring);
  std::vector<double> ghosts(data.size(), 1);
  if (rank < 4) {
    for (const std::size_t owned : {5U, 6U, 9U, 10U}) ghosts[owned] = 0;
  }
  plan.reduce_back(ghosts.data(), Combine::kSum);
  if (rank < 4)
    EXPECT(ghosts == (std::vector<double>{1, 1, 1, 1, 1, 3, 3, 1, 1, 3, 3, 1, 1, 1, 1, 1}));

  // Two fields in one round.
  std::vector<double> first = buffer_of<double>(rank, numbers);
  std::vector<double> second = buffer_of<double>(rank, numbers);
  for (double& each : second) each = each < 0 ? each : each + 100;
  const std::array<void*, 2> fields{first.data(), second.data()};
  plan.execute(fields);
  EXPECT(first == data);
  for (std::size_t k = 0; k < data.size(); ++k) EXPECT(second[k] == data[k] + 100);
}

void wide_and_periodic() {
  if (size < 2) return;
  const Communicator communicator(MPI_COMM_WORLD);
  const auto position = [](const std::vector<Index>& global) { return global[0]; };
  const auto wide =
      Distribution::make(ProcessGrid({2}), {{DimMap::bounded({0, 2, 3}), 0, {{3, 3}, {3, 3}}}});
  std::vector<double> data = buffer_of<double>(rank, filled(*wide, size, position));
  write_halo(communicator, *wide, data.data(), element_of<double>(),
             {.axes = {{HaloMode::kCyclic}}});
  if (rank == 0) EXPECT(data == (std::vector<double>{0, 1, 2, 0, 1, 2, 0, 1}));
  if (rank == 1) EXPECT(data == (std::vector<double>{2, 0, 1, 2, 0, 1, 2}));

  const auto periodic = Distribution::make(
      ProcessGrid({2}), {{DimMap::bounded({0, 9, 18}), 0, {{0, 1}, {1, 0}}, {1, 1}, true}});
  data = buffer_of<double>(rank, filled(*periodic, size, position));
  write_halo(communicator, *periodic, data.data(), element_of<double>());
  if (rank == 0) EXPECT(data == (std::vector<double>{16, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  if (rank == 1) EXPECT(data == (std::vector<double>{8, 9, 10, 11, 12, 13, 14, 15, 16, 1}));
}

void shifts() {
  const Communicator communicator(MPI_COMM_WORLD);
  const auto line = Distribution::make(ProcessGrid({size}), {{DimMap::balanced(8, size), 0}});
  const auto cyclic = Distribution::make(ProcessGrid({size}), {{DimMap::block_cyclic(8, size), 0}});
  const std::vector<double> source = buffer_of<double>(
      rank, filled(*cyclic, size, [](const auto& global) { return 10 + global[0]; }));
  const auto expect = [&](const std::vector<double>& data, const std::vector<Index>& wanted) {
    EXPECT(data == buffer_of<double>(rank, filled(*line, size, [&](const auto& global) {
                                       return wanted[static_cast<std::size_t>(global[0])];
                                     })));
  };
  std::vector<double> data(source.size() + 8);
  const auto reset = [&] { data.assign(static_cast<std::size_t>(line->local_size(rank)), -1); };
  reset();
  shift(communicator, {*line}, data.data(), {*cyclic}, source.data(), 0, 2, element_of<double>());
  expect(data, {12, 13, 14, 15, 16, 17, -1, -1});
  shift(communicator, {*line}, data.data(), {*cyclic}, source.data(), 0, -3, element_of<double>(),
        {.mode = ShiftMode::kFill, .fill = -5.0});
  expect(data, {-5, -5, -5, 10, 11, 12, 13, 14});
  cshift(communicator, {*line}, data.data(), {*cyclic}, source.data(), 0, -3, element_of<double>());
  expect(data, {15, 16, 17, 10, 11, 12, 13, 14});
}

void skews() {
  const Communicator communicator(MPI_COMM_WORLD);
  const auto layout = Distribution::make(ProcessGrid({size}),
                                         {{DimMap::collapsed(3)}, {DimMap::block(4, size), 0}});
  const std::array<Index, 3> amounts{0, 1, 2};
  const auto number = [](const std::vector<Index>& global) { return flat(global, {3, 4}); };
  const std::vector<double> source = buffer_of<double>(rank, filled(*layout, size, number));
  std::vector<double> data(source.size(), -1);
  skew(communicator, {*layout}, data.data(), {*layout}, source.data(), 1, amounts,
       element_of<double>());
  const std::array<Index, 12> edge{0, 1, 2, 3, 5, 6, 7, -1, 10, 11, -1, -1};
  EXPECT(data == buffer_of<double>(rank, filled(*layout, size, [&](const auto& global) {
                                     return edge[static_cast<std::size_t>(number(global))];
                                   })));
  cskew(communicator, {*layout}, data.data(), {*layout}, source.data(), 1, amounts,
        element_of<double>());
  const std::array<Index, 12> ring{0, 1, 2, 3, 5, 6, 7, 4, 10, 11, 8, 9};
  EXPECT(data == buffer_of<double>(rank, filled(*layout, size, [&](const auto& global) {
                                     return ring[static_cast<std::size_t>(number(global))];
                                   })));
}

void errors() {
  const Communicator communicator(MPI_COMM_WORLD);
  const auto layout =
      make_distribution(std::array<Index, 1>{8}, size, {.kinds = "b", .ghosts = {{0, {1, 1}}}});
  const auto plan = [&](const HaloOptions& options) {
    HaloPlan(communicator, *layout, element_of<double>(), options);
  };
  EXPECT(checks::refused(ErrorKind::kLayout, [&] {
    plan({.axes = {{HaloMode::kCyclic, Ghosts{2, 1}}}});
  }));
  EXPECT(checks::refused(ErrorKind::kArgument, [&] { plan({.axes = {{HaloMode::kFill}}}); }));
  EXPECT(checks::refused(ErrorKind::kArgument,
                         [&] { plan({.axes = {{HaloMode::kFill}}, .fill = 1.0F}); }));
  if (size > 1) {
    // ADL-18: what steers a collective is the same everywhere.
    EXPECT(checks::refused(ErrorKind::kArgument, [&] { plan({.corners = rank == 0}); }));
  }
  plan({.axes = {{HaloMode::kFill}}, .fill = 1.0});
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("random halos", random_halos);
  checks::part("corners and reductions", square);
  checks::part("wide and periodic halos", wide_and_periodic);
  checks::part("shifts", shifts);
  checks::part("skews", skews);
  checks::part("errors", errors);
  return checks::end();
}
