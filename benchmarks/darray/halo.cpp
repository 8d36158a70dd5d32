// SPDX-License-Identifier: Apache-2.0
/// Halo exchanges between two ranks: PT-8, PT-9 and PT-10.
#include "darray/plan/halo/halo.hpp"

#include <algorithm>
#include <string>

#include "benchmarks/darray/column_halo.hpp"

namespace {

using namespace bench;
using impishim::darray::element_of;
using impishim::darray::HaloMode;
using impishim::darray::HaloPlan;

constexpr std::array<Index, 4> kHeights{256, 512, 1024, 2048};
constexpr std::array<Index, 3> kWidths{1, 2, 3};

/// A numbered array of columns over all ranks, with ghosts; columns go on around a ring.
class Field {
 public:
  Field(const Setting& setting, ColumnHalo shape)
      : setting_(setting),
        shape_(shape),
        layout_(impishim::darray::make_distribution(
            std::array<Index, 2>{shape.height, shape.height * setting.size}, setting.size,
            {.kinds = "nb", .ghosts = {{1, {shape.width, shape.width}}}})),
        cells_(layout_->local_size(setting.rank)) {
    number_elements(*layout_, setting.rank, cells());
  }
  [[nodiscard]] double* cells() const { return cells_.get(); }
  [[nodiscard]] HaloPlan plan() const {
    return {
        setting_.comm, *layout_, element_of<double>(), {.axes = {{}, {.mode = HaloMode::kCyclic}}}};
  }
  [[nodiscard]] Contest::Check check() const {
    return {[this] { for_each_ghost([](double& cell, Index) { cell = -1; }); },
            [this] {
              bool right = is_numbered(*layout_, setting_.rank, cells());
              for_each_ghost([&](double& cell, Index number) {
                right &= cell == static_cast<double>(number);
              });
              return right;
            }};
  }

 private:
  /// visit(ghost, the number of the cell that it stands for)
  template <class Visit>
  void for_each_ghost(Visit visit) const {
    const Index whole = shape_.height * setting_.size;
    const Index first = setting_.rank * shape_.height - shape_.width;
    for (Index row = 0; row < shape_.height; ++row) {
      for (const Index from : shape_.ghosts()) {
        for (Index k = from; k < from + shape_.width; ++k) {
          visit(cells()[row * shape_.stride() + k], row * whole + (first + k + whole) % whole);
        }
      }
    }
  }

  const Setting& setting_;
  ColumnHalo shape_;
  impishim::darray::DistributionPtr layout_;
  Buffer<> cells_;
};

std::string name(Index height, Index width) {
  return "H " + std::to_string(height) + ", w " + std::to_string(width);
}

void exchange(const Setting& setting, Index height, Index width) {
  const ColumnHalo shape{setting.extent(height), width};
  const Field field(setting, shape);
  HaloPlan plan = field.plan();
  PackedHalo packed(setting, shape);
  TypedHalo typed(setting, shape);
  Contest contest(setting, "halo, " + name(height, width));
  contest.add(
      "darray", [&] { plan.execute(field.cells()); }, field.check());
  contest.add(
      "packed", [&] { packed.run(field.cells()); }, field.check());
  contest.add(
      "subarray types", [&] { typed.run(field.cells()); }, field.check());
  contest.measure();
}

/// Work of a millisecond that needs no memory, in slices.
class Computation {
 public:
  Computation() {
    double best = 1;
    for (int k = 0; k < 20; ++k) {
      const double start = MPI_Wtime();
      work(kProbe);
      best = std::min(best, MPI_Wtime() - start);
    }
    steps_ = static_cast<long>(kProbe * kSeconds / kSlices / best);
  }
  template <class Between>
  void run(Between between) {
    for (int k = 0; k < kSlices; ++k) {
      work(steps_);
      between();
    }
  }

 private:
  static constexpr double kSeconds = 1e-3;
  static constexpr int kSlices = 10;
  static constexpr long kProbe = 20000;
  void work(long steps) {
    double value = value_;
    for (long k = 0; k < steps; ++k) value = value * 0.999 + 1.0;
    value_ = value;
    keep(value_);
  }

  double value_ = 0;
  long steps_ = 0;
};

/// How much of the exchange disappears behind computation that tests now and then.
void overlap(const Setting& setting, Index height, Index width) {
  const ColumnHalo shape{setting.extent(height), width};
  const Field field(setting, shape);
  HaloPlan plan = field.plan();
  Computation computation;
  Contest contest(setting, "overlap, " + name(height, width));
  contest.add(
      "exchange", [&] { plan.execute(field.cells()); }, field.check());
  contest.add("computation", [&] { computation.run([] {}); });
  contest.add(
      "both",
      [&] {
        plan.start(field.cells());
        computation.run([&] { static_cast<void>(plan.test()); });
        plan.wait();
      },
      field.check());
  contest.measure(1);
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  for (const Index height : kHeights) {
    for (const Index width : kWidths) {
      if (setting.wants({"PT-8", "PT-9"})) exchange(setting, height, width);
    }
  }
  if (setting.wants({"PT-10"})) {
    for (const Index height : {Index{1024}, Index{2048}}) overlap(setting, height, 3);
  }
  end(setting);
}
