// SPDX-License-Identifier: Apache-2.0
/// Remaps between two ranks: PT-1 to PT-7, and PT-12.
#include "darray/plan/remap/remap.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "benchmarks/darray/exchange.hpp"
#include "benchmarks/darray/scalapack.hpp"
#include "darray/plan/remap/transpose.hpp"

namespace {

using namespace bench;
using impishim::darray::element_of;
using impishim::darray::RemapPlan;

struct Size {
  const char* name;
  Index extent;
};
constexpr std::array<Size, 2> kSizes{{{"2 MiB", 512}, {"8 MiB", 1024}}};

/// Two layouts of a square, a numbered array in the first of them and memory for the second.
struct Arrays {
  Arrays(const Setting& setting, Index extent_, const DistributionOptions& from_,
         const DistributionOptions& to_)
      : extent(extent_),
        from(square(extent, setting.size, from_)),
        to(square(extent, setting.size, to_)),
        source(from->local_size(setting.rank)),
        destination(to->local_size(setting.rank)) {
    number_elements(*from, setting.rank, source.get());
  }
  [[nodiscard]] RemapPlan plan(const Setting& setting) const {
    return {setting.comm, {*to}, {*from}, element_of<double>()};
  }
  [[nodiscard]] Contest::Check check(const Setting& setting) const {
    return numbered(to, setting.rank, destination);
  }

  Index extent;
  DistributionPtr from, to;
  Buffer<> source, destination;
};

/// The own part of the source as one copy, as long as a process's part.
void add_memcpy(Contest& contest, const Arrays& arrays) {
  contest.add("memcpy", [&arrays] {
    std::memcpy(arrays.destination.get(), arrays.source.get(),
                static_cast<std::size_t>(arrays.source.size()) * sizeof(double));
    keep(*arrays.destination.get());
  });
}

void add_scalapack([[maybe_unused]] Contest& contest, [[maybe_unused]] const Setting& setting,
                   [[maybe_unused]] const Arrays& arrays,
                   [[maybe_unused]] std::array<Blocks, 2> from,
                   [[maybe_unused]] std::array<Blocks, 2> to) {
#ifdef BENCH_WITH_SCALAPACK
  const auto before = std::make_shared<BlacsMatrix>(arrays.extent, from[0], from[1]);
  const auto after = std::make_shared<BlacsMatrix>(arrays.extent, to[0], to[1]);
  contest.add(
      "pdgemr2d",
      [=, &arrays] { before->copy_to(*after, arrays.source.get(), arrays.destination.get()); },
      arrays.check(setting));
#endif
}

void rows_to_columns(const Setting& setting, const Size& size) {
  const Arrays arrays(setting, setting.extent(size.extent), {.kinds = "b"}, {.kinds = "nb"});
  RemapPlan plan = arrays.plan(setting);
  PackedExchange packed(setting, arrays.extent);
  TypedExchange typed(setting, arrays.extent);
  Contest contest(setting, std::string("rows to columns, ") + size.name);
  const auto add = [&](const char* name, auto& contestant) {
    contest.add(
        name, [&] { contestant.run(arrays.source.get(), arrays.destination.get()); },
        arrays.check(setting));
  };
  contest.add(
      "darray", [&] { plan.execute(arrays.source.get(), arrays.destination.get()); },
      arrays.check(setting));
  add("packed", packed);
  add("alltoallw", typed);
  add_memcpy(contest, arrays);
  const Index part = arrays.extent / setting.size;
  add_scalapack(contest, setting, arrays, {{{part, setting.size}, {arrays.extent, 1}}},
                {{{arrays.extent, 1}, {part, setting.size}}});
  contest.measure();
}

/// A remap that ScaLAPACK does, too: blocks on one axis to blocks on one axis.
struct Pair {
  const char* name;
  Index from_block;
  int from_axis;
  Index to_block;
  int to_axis;
};
// ScaLAPACK's P x 1 has its rows distributed: axis 1 here.
constexpr std::array<Pair, 4> kPairs{{{"64-blocks, P x 1 to the same", 64, 1, 64, 1},
                                      {"64-blocks, P x 1 to 1 x P", 64, 1, 64, 0},
                                      {"36- to 128-blocks, P x 1", 36, 1, 128, 1},
                                      {"36- to 128-blocks, 1 x P", 36, 0, 128, 0}}};

DistributionOptions blocks(Index block, int axis) {
  return {.kinds = axis == 0 ? "cn" : "nc", .block_sizes = {{axis, block}}};
}

std::array<Blocks, 2> grid(Index block, int axis, int processes) {
  return {{{block, axis == 0 ? processes : 1}, {block, axis == 1 ? processes : 1}}};
}

void blocks_to_blocks(const Setting& setting, const Pair& pair, const Size& size) {
  const Arrays arrays(setting, setting.extent(size.extent), blocks(pair.from_block, pair.from_axis),
                      blocks(pair.to_block, pair.to_axis));
  RemapPlan plan = arrays.plan(setting);
  Contest contest(setting, std::string(pair.name) + ", " + size.name);
  contest.add(
      "darray", [&] { plan.execute(arrays.source.get(), arrays.destination.get()); },
      arrays.check(setting));
  add_scalapack(contest, setting, arrays, grid(pair.from_block, pair.from_axis, setting.size),
                grid(pair.to_block, pair.to_axis, setting.size));
  contest.measure();
}

void same_layout(const Setting& setting, const Size& size) {
  const Arrays arrays(setting, setting.extent(size.extent), {.kinds = "b"}, {.kinds = "b"});
  RemapPlan plan = arrays.plan(setting);
  const std::string title = std::string("same layout, ") + size.name;
  Contest contest(setting, title);
  contest.add(
      "darray", [&] { plan.execute(arrays.source.get(), arrays.destination.get()); },
      arrays.check(setting));
  add_memcpy(contest, arrays);
  contest.measure();
  const Index messages = plan.statistics().messages + plan.statistics().received_messages;
  print_fact(setting, title + ": messages", messages == 0, std::to_string(messages) + " messages");
}

/// to[j][i] = from[i][j] for `rows` x `columns` of `from`, in squares of `side`; 1: as a loop is
/// written without a thought.
void transpose(const double* from, Index rows, Index columns, double* to, Index side) {
  for (Index top = 0; top < rows; top += side) {
    for (Index left = 0; left < columns; left += side) {
      for (Index i = top; i < std::min(top + side, rows); ++i) {
        for (Index j = left; j < std::min(left + side, columns); ++j)
          to[j * rows + i] = from[i * columns + j];
      }
    }
  }
}

void transposition(const Setting& setting, const Size& size) {
  const Index extent = setting.extent(size.extent);
  const Arrays arrays(setting, extent, {.kinds = "b"}, {.kinds = "b"});
  const Arrays first(setting, extent, {.kinds = "b"}, {.kinds = "nb"});
  RemapPlan permuted = transpose_plan(impishim::darray::Communicator(setting.comm), {*arrays.to},
                                      {*arrays.from}, element_of<double>(), {1, 0});
  RemapPlan straight = first.plan(setting);
  const auto check = numbered(arrays.to, setting.rank, arrays.destination, true);
  Contest contest(setting, std::string("transposition, ") + size.name);
  contest.add(
      "darray", [&] { permuted.execute(arrays.source.get(), arrays.destination.get()); }, check);
  const Index columns = first.to->owned_shape(setting.rank)[1];
  for (const auto& [name, side] :
       {std::pair("two steps", Index{1}), std::pair("two steps, in squares", Index{16})}) {
    contest.add(
        name,
        [&, side = side] {
          straight.execute(arrays.source.get(), first.destination.get());
          transpose(first.destination.get(), extent, columns, arrays.destination.get(), side);
        },
        check);
  }
  contest.measure();
}

/// A plan and `runs` executions beside as many one-shot calls of MPI_Alltoallw, types and all.
void break_even(const Setting& setting, const Size& size, int runs) {
  const Arrays arrays(setting, setting.extent(size.extent), {.kinds = "b"}, {.kinds = "nb"});
  Contest contest(setting, "plan and " + std::to_string(runs) + " runs, " + size.name);
  contest.add(
      "darray",
      [&] {
        RemapPlan plan = arrays.plan(setting);
        for (int k = 0; k < runs; ++k) plan.execute(arrays.source.get(), arrays.destination.get());
      },
      arrays.check(setting));
  contest.add(
      "one-shot alltoallw",
      [&] {
        for (int k = 0; k < runs; ++k)
          TypedExchange(setting, arrays.extent).run(arrays.source.get(), arrays.destination.get());
      },
      arrays.check(setting));
  contest.measure();
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  for (const Size& size : kSizes) {
    if (setting.wants({"PT-1", "PT-2", "PT-3", "PT-4"})) rows_to_columns(setting, size);
    for (const Pair& pair : kPairs) {
      const bool largest = pair.from_block == 36 && size.extent == kSizes.back().extent;
      if (setting.wants({"PT-3"}) || (largest && setting.wants({"PT-6"})))
        blocks_to_blocks(setting, pair, size);
    }
    if (setting.wants({"PT-5"})) same_layout(setting, size);
    if (setting.wants({"PT-7"})) transposition(setting, size);
    if (setting.wants({"PT-12"})) {
      for (const int runs : {1, 2}) break_even(setting, size, runs);
    }
  }
  end(setting);
}
