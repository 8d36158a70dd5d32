// SPDX-License-Identifier: Apache-2.0
/// What needs no clock: messages, bytes and memory of executions. PT-15 and PT-19, on any number of
/// ranks.
#include <malloc.h>

#include <string>
#include <vector>

#include "benchmarks/darray/matrix.hpp"
#include "darray/plan/halo/halo.hpp"
#include "darray/plan/remap/remap.hpp"
#include "tests/mpi/darray/counting.hpp"

namespace {

using namespace bench;
using impishim::darray::element_of;
using impishim::darray::HaloMode;
using impishim::darray::HaloPlan;
using impishim::darray::RemapOptions;
using impishim::darray::RemapPlan;
using impishim::darray::Statistics;
using impishim_test::count_from_here;
using impishim_test::counted;
using impishim_test::Traffic;

constexpr Index kChunk = 65536;
constexpr Index kHeapSlack = 65536;  // lists, requests, what MPI keeps for itself

/// Elements that this rank has to send to each other, worked out element by element.
using Counts = std::vector<Index>;

void compare(const Setting& setting, const std::string& title, const Counts& elements,
             const Statistics& statistics, const Traffic& sent) {
  Index messages = 0;
  Index bytes = 0;
  for (int peer = 0; peer < setting.size; ++peer) {
    const Index count = peer == setting.rank ? 0 : elements[static_cast<std::size_t>(peer)];
    messages += count > 0 ? 1 : 0;
    bytes += count * static_cast<Index>(sizeof(double));
  }
  const bool told = statistics.messages == messages && statistics.bytes == bytes;
  const bool counted = sent.messages == messages && sent.bytes == bytes;
  print_fact(setting, title + ": messages", told && counted,
             "rank 0 has " + std::to_string(messages) + " messages to send, " +
                 std::to_string(bytes) + " bytes; it tells of " +
                 std::to_string(statistics.messages) + ", " + std::to_string(statistics.bytes) +
                 "; MPI counts " + std::to_string(sent.messages) + ", " +
                 std::to_string(sent.bytes));
}

void compare_memory(const Setting& setting, const std::string& title, Index memory,
                    const char* what, Index limit) {
  print_fact(
      setting, title, memory <= limit,
      std::to_string(memory) + " bytes of " + what + ", " + std::to_string(limit) + " allowed");
}

Index heap() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<Index>(now.uordblks + now.hblkhd);
}

struct Case {
  const char* name;
  DistributionOptions from, to;
};

std::vector<Case> cases(int processes) {
  DistributionOptions blocks{.kinds = "bb", .ghosts = {{0, {1, 2}}}};
  return {{"rows to columns", {.kinds = "b"}, {.kinds = "nb"}},
          {"36- to 128-blocks",
           {.kinds = "nc", .block_sizes = {{1, 36}}},
           {.kinds = "nc", .block_sizes = {{1, 128}}}},
          {"two axes to rows", blocks, {.kinds = "b"}},
          {"everything to one rank",
           {.kinds = "b"},
           {.kinds = "nn", .grid = {1, 1}, .members = {processes - 1}}},
          {"same layout", {.kinds = "b"}, {.kinds = "b"}}};
}

void remap(const Setting& setting, const Case& each, bool bounded) {
  const Index extent = setting.extent(1024);
  const DistributionPtr from = square(extent, setting.size, each.from);
  const DistributionPtr to = square(extent, setting.size, each.to);
  Buffer<> source(from->local_size(setting.rank));
  Buffer<> destination(to->local_size(setting.rank));
  number_elements(*from, setting.rank, source.get());
  RemapOptions options;
  options.schedule.bounded = bounded;
  if (bounded) options.schedule.chunk_bytes = kChunk;

  const Index before = heap();
  RemapPlan plan(setting.comm, {*to}, {*from}, element_of<double>(), options);
  count_from_here();
  plan.execute(source.get(), destination.get());
  const Traffic sent = counted();
  const Index grown = heap() - before;
  if (!is_numbered(*to, setting.rank, destination.get()))
    give_up(std::string(each.name) + ": wrong result");

  const std::string title = std::string(each.name) + (bounded ? ", bounded" : "");
  const Statistics& statistics = plan.statistics();
  const Index allowed = bounded ? 2 * kChunk : statistics.bytes + statistics.received_bytes;
  compare_memory(setting, title + ": workspace", statistics.workspace_bytes, "workspace", allowed);
  compare_memory(setting, title + ": heap", grown, "heap", allowed + kHeapSlack);
  if (bounded) return;
  Counts elements(static_cast<std::size_t>(setting.size), 0);
  for_each_owned(*from, setting.rank, [&](Index, Index row, Index column) {
    ++elements[static_cast<std::size_t>(to->owner(std::array{row, column}))];
  });
  compare(setting, title, elements, statistics, sent);
}

/// A ring in both axes, with corners.
void halo(const Setting& setting) {
  constexpr Index kWidth = 2;
  const Index extent = setting.extent(1024);
  const DistributionPtr layout =
      square(extent, setting.size,
             {.kinds = "bb", .ghosts = {{0, {kWidth, kWidth}}, {1, {kWidth, kWidth}}}});
  Buffer<> cells(layout->local_size(setting.rank));
  number_elements(*layout, setting.rank, cells.get());
  HaloPlan plan(setting.comm, *layout, element_of<double>(),
                {.axes = {{.mode = HaloMode::kCyclic}, {.mode = HaloMode::kCyclic}}});
  count_from_here();
  plan.execute(cells.get());
  const Traffic sent = counted();

  // Every rank's ghosts that are images of cells here; and whether the own ones are right.
  Counts elements(static_cast<std::size_t>(setting.size), 0);
  bool right = true;
  for (int peer = 0; peer < setting.size; ++peer) {
    const std::vector<Index> shape = layout->local_shape(peer);
    const std::vector<Index> owned = layout->owned_shape(peer);
    const Index top = layout->axis(0).map.global(layout->part(peer, 0), 0) - kWidth;
    const Index left = layout->axis(1).map.global(layout->part(peer, 1), 0) - kWidth;
    for (Index i = 0; i < shape[0]; ++i) {
      for (Index j = 0; j < shape[1]; ++j) {
        if (i >= kWidth && i < kWidth + owned[0] && j >= kWidth && j < kWidth + owned[1]) continue;
        const Index row = (top + i + extent) % extent;
        const Index column = (left + j + extent) % extent;
        if (layout->owner(std::array{row, column}) == setting.rank)
          ++elements[static_cast<std::size_t>(peer)];
        if (peer == setting.rank)
          right &= cells[i * shape[1] + j] == static_cast<double>(row * extent + column);
      }
    }
  }
  if (!right) give_up("halo: wrong result");
  compare(setting, "halo", elements, plan.statistics(), sent);
}

/// What MPI and the library make once for each communicator: it is no memory of a remap.
void begin_exchanges(const Setting& setting) {
  const DistributionPtr from = square(8 * setting.size, setting.size, {.kinds = "b"});
  const DistributionPtr to = square(8 * setting.size, setting.size, {.kinds = "nb"});
  Buffer<> source(from->local_size(setting.rank));
  Buffer<> destination(to->local_size(setting.rank));
  RemapPlan(setting.comm, {*to}, {*from}, element_of<double>())
      .execute(source.get(), destination.get());
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  begin_exchanges(setting);
  for (const Case& each : cases(setting.size)) {
    for (const bool bounded : {false, true}) remap(setting, each, bounded);
  }
  halo(setting);
  end(setting);
}
