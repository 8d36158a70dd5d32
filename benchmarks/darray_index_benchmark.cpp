// SPDX-License-Identifier: Apache-2.0
// What the index layer of darray costs: single questions of a map, and the intersections that a
// plan is made of.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/index/intersect.hpp"
#include "darray/index/make_distribution.hpp"

namespace {

using impishim::darray::DimMap;
using impishim::darray::DistributionPtr;
using impishim::darray::Index;
using impishim::darray::make_distribution;
using impishim::darray::overlaps;
using impishim::darray::partners;
using impishim::darray::Triplet;

constexpr Index kExtent = 1'000'003;

DimMap map_of(Index kind) {
  switch (kind) {
    case 0:
      return DimMap::collapsed(kExtent);
    case 1:
      return DimMap::block(kExtent, 7);
    case 2:
      return DimMap::balanced(kExtent, 7);
    case 3:
      return DimMap::bounded({0, 5, 100'000, 300'001, 300'001, 650'000, 900'000, kExtent});
    default:
      return DimMap::block_cyclic(kExtent, 7, 36);
  }
}

/// Indices that no predictor foresees.
std::vector<Index> scattered() {
  std::vector<Index> indices(4096);
  Index next = 1;
  for (Index& each : indices) each = next = next * 48271 % 2147483647 % kExtent;
  return indices;
}

void owner(benchmark::State& state) {
  const DimMap map = map_of(state.range(0));
  const auto indices = scattered();
  for (auto _ : state) {
    for (const Index each : indices) benchmark::DoNotOptimize(map.owner(each));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(indices.size()));
}
BENCHMARK(owner)->DenseRange(0, 4);

void local(benchmark::State& state) {
  const DimMap map = map_of(state.range(0));
  const auto indices = scattered();
  for (auto _ : state) {
    for (const Index each : indices) benchmark::DoNotOptimize(map.local(0, each));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(indices.size()));
}
BENCHMARK(local)->DenseRange(0, 4);

void global(benchmark::State& state) {
  const DimMap map = map_of(state.range(0));
  const Index owned = map.owned(1 % map.parts());
  const auto indices = scattered();
  for (auto _ : state) {
    for (const Index each : indices)
      benchmark::DoNotOptimize(map.global(1 % map.parts(), each < owned ? each : owned - 1));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<Index>(indices.size()));
}
BENCHMARK(global)->DenseRange(0, 4);

/// All that one process works out for a remap of three axes from row blocks to column blocks
/// (PT-11): partners and overlaps.
void row_to_column_blocks(benchmark::State& state) {
  const auto processes = static_cast<int>(state.range(0));
  const std::array<Index, 3> shape{4096, 4096, 16};
  const DistributionPtr source = make_distribution(shape, processes, {.kinds = "b"});
  const DistributionPtr destination = make_distribution(shape, processes, {.kinds = "nb"});
  for (auto _ : state) {
    Index elements = 0;
    for (const auto& [from, to] :
         {std::pair(source.get(), destination.get()), std::pair(destination.get(), source.get())}) {
      for (int axis = 0; axis < 3; ++axis) {
        const DimMap& a = from->axis(axis).map;
        const DimMap& b = to->axis(axis).map;
        const Triplet whole{0, shape[static_cast<std::size_t>(axis)], 1};
        const int part = from->part(0, axis);
        for (const int partner : partners(a, part, whole, b, whole)) {
          for (const auto& each : overlaps(a, part, whole, b, partner, whole))
            elements += each.elements();
        }
      }
    }
    benchmark::DoNotOptimize(elements);
  }
  state.SetItemsProcessed(state.iterations() * processes);
}
BENCHMARK(row_to_column_blocks)->Arg(2)->Arg(64)->Arg(1024);

/// Blocks of one map against those of another, with the same partners on any number of processes.
void block_partners(benchmark::State& state) {
  const auto parts = static_cast<int>(state.range(0));
  const Index extent = Index{1} << 30;
  const DimMap a = DimMap::block(extent, parts);
  const DimMap b = DimMap::block(extent, parts - 1);
  const Triplet whole{0, extent, 1};
  for (auto _ : state) {
    for (const int partner : partners(a, parts / 2, whole, b, whole)) {
      benchmark::DoNotOptimize(overlaps(a, parts / 2, whole, b, partner, whole));
    }
  }
}
BENCHMARK(block_partners)->Arg(2)->Arg(64)->Arg(1024);

/// Blocks of 36 to blocks of 128, one axis (PT-6).
void block_cyclic_overlaps(benchmark::State& state) {
  const auto parts = static_cast<int>(state.range(0));
  const Index extent = Index{1} << 20;
  const DimMap a = DimMap::block_cyclic(extent, parts, 36);
  const DimMap b = DimMap::block_cyclic(extent, parts, 128);
  const Triplet whole{0, extent, 1};
  for (auto _ : state) {
    for (const int partner : partners(a, 0, whole, b, whole)) {
      benchmark::DoNotOptimize(overlaps(a, 0, whole, b, partner, whole));
    }
  }
}
BENCHMARK(block_cyclic_overlaps)->Arg(2)->Arg(4)->Arg(64);

void distribution(benchmark::State& state) {
  const std::array<Index, 3> shape{4096, 4096, 16};
  const auto processes = static_cast<int>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(make_distribution(shape, processes));
}
BENCHMARK(distribution)->Arg(2)->Arg(1024);

}  // namespace

BENCHMARK_MAIN();
