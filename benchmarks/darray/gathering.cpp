// SPDX-License-Identifier: Apache-2.0
/// Gather by subscripts: PT-14.
#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/darray/matrix.hpp"
#include "darray/plan/gather/gather.hpp"

namespace {

using namespace bench;
using impishim::darray::element_of;
using impishim::darray::GatherPlan;
using impishim::darray::make_distribution;

/// Places anywhere in the array, the same in every run.
std::vector<Index> scattered(const Setting& setting, Index count, Index extent) {
  std::vector<Index> places(static_cast<std::size_t>(count));
  std::uint64_t state = 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(setting.rank + 1);
  for (Index& place : places) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    place = static_cast<Index>((state >> 33U) % static_cast<std::uint64_t>(extent));
  }
  return places;
}

void gather(const Setting& setting) {
  const Index count = setting.smoke ? 1000 : 1000000;  // wanted by each rank
  const Index extent = count * setting.size;
  const std::array<Index, 1> shape{extent};
  const DistributionPtr layout = make_distribution(shape, setting.size);
  Buffer<> source(count);
  Buffer<> destination(count);
  for (Index k = 0; k < count; ++k) source[k] = static_cast<double>(setting.rank * count + k);
  const std::vector<Index> places = scattered(setting, count, extent);
  const Contest::Check check{[&] { std::fill(destination.begin(), destination.end(), -1.0); },
                             [&] {
                               return std::equal(places.begin(), places.end(), destination.begin(),
                                                 destination.end(), [](Index place, double value) {
                                                   return static_cast<double>(place) == value;
                                                 });
                             }};
  GatherPlan plan(setting.comm, *layout, *layout, {places}, element_of<double>());
  Contest contest(setting, "gather");
  contest.add(
      "execution", [&] { plan.execute(source.get(), destination.get()); }, check);
  contest.add("construction", [&] {
    keep(GatherPlan(setting.comm, *layout, *layout, {places}, element_of<double>()));
  });
  contest.measure(1);
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  if (setting.wants({"PT-14"})) gather(setting);
  end(setting);
}
