// SPDX-License-Identifier: Apache-2.0
// Remaps, reshapes and transpositions, run on the ranks that there are, against a serial copy of
// all ranks' buffers.
#include <algorithm>
#include <array>
#include <complex>
#include <vector>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/remap/relabel.hpp"
#include "darray/plan/remap/transpose.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/unit/darray/plan/random_remap.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;
using impishim_test::buffer_of;
using impishim_test::Chance;
using impishim_test::counting;
using impishim_test::filled;
using impishim_test::flat;
using impishim_test::random_layout;
using impishim_test::RandomRemap;

constexpr Index kKept = -2;

Index untouched(const std::vector<Index>&) { return kKept; }

template <class T>
void run_both_ways(const Communicator& communicator, const RandomRemap& random,
                   const RemapOptions& options) {
  RemapPlan plan(communicator, random.destination(), random.source(), element_of<T>(), options);
  const std::vector<T> source =
      buffer_of<T>(rank, filled(*random.from, size, random.source_value()));
  const std::vector<T> wanted =
      buffer_of<T>(rank, filled(*random.to, size, random.destination_value(kKept)));
  std::vector<T> destination;
  for (int again = 0; again < 3; ++again) {
    destination = buffer_of<T>(rank, filled(*random.to, size, untouched));
    if (again < 2) {
      plan.execute(source.data(), destination.data());
    } else {
      plan.start(source.data(), destination.data());
      while (!plan.test()) {
      }
    }
    EXPECT(destination == wanted);
  }
  std::vector<T> restored = buffer_of<T>(rank, filled(*random.from, size, untouched));
  if (random.repeats()) {
    const bool one_way = checks::refused(
        ErrorKind::kUnsupported, [&] { plan.start_backward(restored.data(), destination.data()); });
    const auto axis = static_cast<std::size_t>(std::ranges::find(options.permutation, kRepeated) -
                                               options.permutation.begin());
    EXPECT(one_way == (random.to_section[axis].count != 1));
    if (!one_way) plan.wait();
    return;
  }
  const std::vector<T> expected =
      buffer_of<T>(rank, filled(*random.from, size, random.restored_value(kKept)));
  for (int again = 0; again < 2; ++again) {
    plan.execute_backward(restored.data(), destination.data());
    EXPECT(restored == expected);
  }
}

void random_remaps() {
  const Communicator communicator(MPI_COMM_WORLD);
  for (unsigned seed = 0; seed < 40; ++seed) {
    Chance chance(seed);
    const RandomRemap random(chance, size);
    RemapOptions options = random.options;
    if (seed % 3 == 1) options.schedule.chunk_bytes = 64;
    options.schedule.bounded = seed % 6 == 1;
    options.schedule.checks = seed % 2 == 0 ? Checks::kOn : Checks::kOff;
    if (seed % 2 == 0) {
      run_both_ways<double>(communicator, random, options);
    } else {
      run_both_ways<std::complex<float>>(communicator, random, options);
    }
  }
}

/// What a plan says of itself is what the simulated ranks do.
void statistics() {
  const Communicator communicator(MPI_COMM_WORLD);
  for (unsigned seed = 100; seed < 120; ++seed) {
    Chance chance(seed);
    const RandomRemap random(chance, size);
    const RemapPlan plan(communicator, random.destination(), random.source(), element_of<double>(),
                         random.options);
    const impishim_test::Simulation ranks(size, [&](int each) {
      return plan_remap(each, communicator.systems(), random.destination(), random.source(),
                        random.options);
    });
    const Statistics sum = total(communicator, plan.statistics());
    EXPECT(sum.messages == sum.received_messages);
    EXPECT(sum.bytes == sum.received_bytes);
    EXPECT(sum.local_bytes == 8 * ranks.copied());
    EXPECT(sum.crossing_bytes == 8 * ranks.crossing(communicator.systems()));
    const bool spreads = std::ranges::any_of(
        counting(size), [&](int each) { return ranks.plan(each).multicast.has_value(); });
    EXPECT(sum.messages == ranks.messages() || (spreads && sum.messages > ranks.messages()));
    EXPECT(sum.bytes == 8 * ranks.moved() || (spreads && sum.bytes > 8 * ranks.moved()));
  }
}

/// Everybody's piece to everybody: what a system lacks enters it once.
void gathered() {
  const Communicator communicator(MPI_COMM_WORLD);
  const Systems& systems = communicator.systems();
  const std::array<Index, 1> shape{60};
  const auto blocks = make_distribution(shape, size);
  const auto everywhere = make_replicated(shape, size);
  std::vector<double> piece;
  for (Index k = 0; k < blocks->owned_size(rank); ++k) {
    piece.push_back(static_cast<double>(blocks->to_global(rank, std::array<Index, 1>{k})[0]));
  }
  std::vector<double> all(60, -1);
  RemapPlan plan(communicator, {*everywhere}, {*blocks}, element_of<double>());
  plan.execute(piece.data(), all.data());
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT(all[k] == static_cast<double>(k));
  Index crossing = 0;
  for (int system = 0; system < systems.count(); ++system) {
    for (int each = 0; each < size; ++each)
      crossing += systems.of_rank(each) == system ? 0 : 8 * blocks->owned_size(each);
  }
  EXPECT(total(communicator, plan.statistics()).crossing_bytes == crossing);
  std::vector<double> back(piece.size(), -1);
  plan.execute_backward(back.data(), all.data());
  EXPECT(back == piece);
}

void combined() {
  const Communicator communicator(MPI_COMM_WORLD);
  const std::array<Index, 2> shape{5, 7};
  const auto from = make_distribution(shape, size, {.kinds = "bn"});
  const auto to = make_distribution(shape, size, {.kinds = "nc"});
  const auto number = [&](const std::vector<Index>& global) { return flat(global, {5, 7}); };
  const std::vector<double> source = buffer_of<double>(rank, filled(*from, size, number));
  RemapPlan plan(communicator, {*to}, {*from}, element_of<double>());
  std::vector<double> destination(static_cast<std::size_t>(to->local_size(rank)), 10);
  plan.execute(source.data(), destination.data(), Combine::kSum);
  EXPECT(destination == buffer_of<double>(rank, filled(*to, size, [&](const auto& global) {
                                            return 10 + number(global);
                                          })));
  plan.execute(source.data(), destination.data(), scaled<double>(3, 2));
  EXPECT(destination == buffer_of<double>(rank, filled(*to, size, [&](const auto& global) {
                                            return 20 + 5 * number(global);
                                          })));

  // T7: labels that two processes have.
  if (size < 2) return;
  const DimMap labels = DimMap::unstructured({{0, 2, 4}, {1, 2, 3}}, false);
  const auto shared = Distribution::make(ProcessGrid({2}), {{labels, 0}});
  const auto everywhere = make_replicated(std::array<Index, 1>{5}, size);
  const std::vector<int> values =
      rank == 0 ? std::vector<int>{10, 12, 14} : std::vector<int>{21, 22, 23};
  std::vector<int> all(5, 0);
  remap(communicator, {*everywhere}, all.data(), {*shared}, values.data(), element_of<int>());
  EXPECT(all == (std::vector<int>{10, 21, 12, 23, 14}));
  RemapPlan sum(communicator, {*everywhere}, {*shared}, element_of<int>(),
                {.duplicates = Duplicates::kAll});
  all.assign(5, 0);
  sum.execute(values.data(), all.data(), Combine::kSum);
  EXPECT(all == (std::vector<int>{10, 21, 34, 23, 14}));
}

void several_arrays() {
  const Communicator communicator(MPI_COMM_WORLD);
  Chance chance(3);
  const auto from = random_layout(chance, {6, 5}, size);
  const auto to = make_replicated(std::array<Index, 2>{6, 5}, size);
  RemapPlan plan(communicator, {*to}, {*from}, element_of<float>());
  std::vector<std::vector<float>> sources;
  std::vector<std::vector<float>> destinations;
  for (Index array = 0; array < 3; ++array) {
    sources.push_back(buffer_of<float>(rank, filled(*from, size, [&](const auto& global) {
                                         return 100 * array + flat(global, {6, 5});
                                       })));
    destinations.emplace_back(30, -1.0F);
  }
  const std::array<const void*, 3> read{sources[0].data(), sources[1].data(), sources[2].data()};
  const std::array<void*, 3> written{destinations[0].data(), destinations[1].data(),
                                     destinations[2].data()};
  plan.execute(read, written);
  for (std::size_t array = 0; array < 3; ++array) {
    for (std::size_t k = 0; k < 30; ++k)
      EXPECT(destinations[array][k] == static_cast<float>(100 * array + k));
  }
}

void two_at_once() {
  const Communicator communicator(MPI_COMM_WORLD);
  const std::array<Index, 2> shape{9, 4};
  const auto rows = make_distribution(shape, size, {.kinds = "bn"});
  const auto columns = make_distribution(shape, size, {.kinds = "nc"});
  const auto number = [](const std::vector<Index>& global) { return flat(global, {9, 4}); };
  RemapPlan there(communicator, {*columns}, {*rows}, element_of<Index>());
  RemapPlan back(communicator, {*rows}, {*columns}, element_of<Index>());
  const std::vector<Index> by_rows = buffer_of<Index>(rank, filled(*rows, size, number));
  const std::vector<Index> by_columns = buffer_of<Index>(rank, filled(*columns, size, number));
  std::vector<Index> to_columns(by_columns.size(), -1);
  std::vector<Index> to_rows(by_rows.size(), -1);
  there.start(by_rows.data(), to_columns.data());
  back.start(by_columns.data(), to_rows.data());
  back.wait();
  there.wait();
  EXPECT(to_columns == by_columns);
  EXPECT(to_rows == by_rows);
}

void reshapes_and_transpositions() {
  const Communicator communicator(MPI_COMM_WORLD);
  const std::vector<std::vector<Index>> shapes{{24}, {4, 6}, {2, 3, 4}, {12, 2}};
  for (unsigned seed = 0; seed < 12; ++seed) {
    Chance chance(seed);
    const auto& from_shape = shapes[static_cast<std::size_t>(chance.number(0, 3))];
    const auto& to_shape = shapes[static_cast<std::size_t>(chance.number(0, 3))];
    const auto from = random_layout(chance, from_shape, size, {.unstructured = false});
    const auto to = random_layout(chance, to_shape, size, {.unstructured = false});
    const auto number_in = [](const std::vector<Index>& shape) {
      return [&shape](const std::vector<Index>& global) { return flat(global, shape); };
    };
    std::vector<Index> source = buffer_of<Index>(rank, filled(*from, size, number_in(from_shape)));
    std::vector<Index> destination = buffer_of<Index>(rank, filled(*to, size, untouched));
    auto plan = RemapPlan::reshape(communicator, {*to}, {*from}, element_of<Index>());
    plan.execute(source.data(), destination.data());
    EXPECT(destination == buffer_of<Index>(rank, filled(*to, size, number_in(to_shape))));
    std::vector<Index> restored = buffer_of<Index>(rank, filled(*from, size, untouched));
    plan.execute_backward(restored.data(), destination.data());
    EXPECT(restored == source);
  }
  const auto from = make_distribution(std::array<Index, 3>{3, 4, 5}, size, {.kinds = "bnn"});
  const auto to = make_distribution(std::array<Index, 3>{5, 4, 3}, size, {.kinds = "cnn"});
  const std::vector<double> source =
      buffer_of<double>(rank, filled(*from, size, [](const auto& global) {
                          return flat(global, {3, 4, 5});
                        }));
  std::vector<double> destination = buffer_of<double>(rank, filled(*to, size, untouched));
  transpose(communicator, {*to}, destination.data(), {*from}, source.data(), element_of<double>());
  EXPECT(destination ==
         buffer_of<double>(rank, filled(*to, size, [](const auto& global) {
                             return flat({global[2], global[1], global[0]}, {3, 4, 5});
                           })));
}

/// The plan to a relabelled layout moves what relabel() says.
void relabelled() {
  const Communicator communicator(MPI_COMM_WORLD);
  std::vector<int> members = counting(size);
  std::ranges::reverse(members);
  const std::array<Index, 1> shape{30};
  const auto from = make_distribution(shape, size);
  const auto to = make_distribution(shape, size, {.kinds = "e", .members = members});
  const Relabelling found = relabel(communicator.systems(), {*to}, {*from});
  const RemapPlan plan(communicator, {*found.layout}, {*from}, element_of<double>());
  EXPECT(total(communicator, plan.statistics()).bytes == 8 * found.moved_after);
  const RemapPlan before(communicator, {*to}, {*from}, element_of<double>());
  EXPECT(total(communicator, before.statistics()).bytes == 8 * found.moved_before);
  // In the opposite order nearly everything has to move, in the right one nothing.
  EXPECT(size == 1 || (found.moved_before > 0 && found.moved_after < found.moved_before));
}

void errors() {
  const Communicator communicator(MPI_COMM_WORLD);
  const auto five = make_distribution(std::array<Index, 1>{5}, size);
  const auto six = make_distribution(std::array<Index, 1>{6}, size);
  const auto plan = [&](const Distribution& to, const Distribution& from) {
    return RemapPlan(communicator, {to}, {from}, element_of<int>());
  };
  // One rank alone is wrong: all throw.
  EXPECT(checks::refused(ErrorKind::kShape, [&] { plan(rank == size - 1 ? *six : *five, *five); }));
  if (size > 1) {
    const auto cyclic = make_distribution(std::array<Index, 1>{5}, size, {.kinds = "c"});
    EXPECT(
        checks::refused(ErrorKind::kArgument, [&] { plan(rank == 0 ? *cyclic : *five, *five); }));
  }
  const auto elsewhere = make_on_one(std::array<Index, 1>{5}, size);
  EXPECT(checks::refused(ErrorKind::kArgument, [&] { plan(*elsewhere, *five); }));
  // The communicator is as good as before.
  plan(*five, *five);
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("random remaps", random_remaps);
  checks::part("statistics", statistics);
  checks::part("gathered everywhere", gathered);
  checks::part("combined", combined);
  checks::part("several arrays", several_arrays);
  checks::part("two at once", two_at_once);
  checks::part("reshapes and transpositions", reshapes_and_transpositions);
  checks::part("relabelled", relabelled);
  checks::part("errors", errors);
  return checks::end();
}
