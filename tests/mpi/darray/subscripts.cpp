// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters by subscripts against serial ones, for random layouts, masks and subscripts;
// and broadcasts.
#include <map>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/gather/broadcast.hpp"
#include "darray/plan/gather/scatter.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/mpi/darray/owned_pieces.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace {

using namespace impishim::darray;
using checks::aligned;
using checks::MaskValues;
using checks::piece_of;
using checks::rank;
using impishim_test::Chance;
using impishim_test::random_layout;
using impishim_test::random_shape;
using impishim_test::tuple;
using Values = std::vector<Index>;

/// Two arrays, the subscripts of one into the other, and a mask: whole, the same on all ranks.
struct Case {
  DistributionPtr indexed;
  DistributionPtr aligned_with;
  std::vector<Values> subscripts;  // for each axis of `indexed`, one for each element of the other
  Values targets;                  // the same as flat numbers
  std::vector<char> mask;
  bool masked = false;

  explicit Case(Chance& chance) {
    std::vector<Index> shape = random_shape(chance, 3, 7);
    // Something must be there to be named.
    for (Index& extent : shape) extent = std::max<Index>(1, extent);
    indexed = random_layout(chance, shape, checks::size);
    aligned_with = random_layout(chance, random_shape(chance, 3, 9), checks::size);
    subscripts.resize(shape.size());
    masked = chance.once_in(2);
    for (Index k = 0; k < aligned_with->size(); ++k) {
      targets.push_back(chance.number(0, indexed->size() - 1));
      mask.push_back(!masked || !chance.once_in(3) ? 1 : 0);
      const std::vector<Index> indices = tuple(targets.back(), shape);
      // What the mask hides may be anything.
      for (std::size_t axis = 0; axis < shape.size(); ++axis)
        subscripts[axis].push_back(mask.back() != 0 ? indices[axis] : -5);
    }
  }

  [[nodiscard]] std::vector<Values> lists() const {
    std::vector<Values> lists;
    for (const Values& axis : subscripts) lists.push_back(aligned(*aligned_with, rank, axis));
    return lists;
  }
  [[nodiscard]] MaskValues mine() const {
    return MaskValues(masked ? aligned(*aligned_with, rank, mask) : std::vector<char>());
  }
};

Subscripts spans(const std::vector<Values>& lists) { return {lists.begin(), lists.end()}; }

Values numbers(Index count, Index first) {
  Values values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

void gathers() {
  Chance chance(1);
  for (int number = 0; number < 150; ++number) {
    const Case now(chance);
    const std::vector<Values> lists = now.lists();
    GatherPlan plan(MPI_COMM_WORLD, *now.aligned_with, *now.indexed, spans(lists),
                    element_of<Index>(), now.mine());
    Values expected(now.targets.size());
    for (const Index first : {1000, 2000}) {
      const Values source = numbers(now.indexed->size(), first);
      for (std::size_t k = 0; k < expected.size(); ++k) {
        expected[k] = now.mask[k] != 0 ? source[static_cast<std::size_t>(now.targets[k])] : -1;
      }
      const Values from = piece_of(*now.indexed, rank, source);
      Values into = piece_of(*now.aligned_with, rank, Values(now.targets.size(), -1));
      if (first == 1000) {
        plan.execute(from.data(), into.data());
      } else {
        plan.start(from.data(), into.data());
        while (!plan.test()) {
        }
      }
      EXPECT(into == piece_of(*now.aligned_with, rank, expected));
    }
  }
}

using Operation = Index (*)(Index, Index);

void scatter_case(const Case& now, const Combiner& combine, Operation operation) {
  const std::vector<Values> lists = now.lists();
  ScatterPlan plan(MPI_COMM_WORLD, *now.indexed, *now.aligned_with, spans(lists),
                   element_of<Index>(), combine, now.mine());
  for (const Index first : {3, 50}) {
    const Values source = numbers(now.aligned_with->size(), first);
    Values expected(static_cast<std::size_t>(now.indexed->size()), 5);
    for (std::size_t k = 0; k < source.size(); ++k) {
      Index& there = expected[static_cast<std::size_t>(now.targets[k])];
      if (now.mask[k] != 0) there = operation == nullptr ? source[k] : operation(there, source[k]);
    }
    const Values from = piece_of(*now.aligned_with, rank, source);
    Values into = piece_of(*now.indexed, rank, Values(expected.size(), 5));
    plan.execute(from.data(), into.data());
    EXPECT(into == piece_of(*now.indexed, rank, expected));
  }
}

void scatters() {
  Chance chance(2);
  const auto user = combine_with<Index>([](Index a, Index b) { return (a * b) % 1009; });
  for (int number = 0; number < 120; ++number) {
    const Case now(chance);
    scatter_case(now, {}, nullptr);
    scatter_case(now, Combine::kSum, [](Index a, Index b) { return a + b; });
    scatter_case(now, Combine::kMax, [](Index a, Index b) { return std::max(a, b); });
    scatter_case(now, user, [](Index a, Index b) { return (a * b) % 1009; });
  }
}

// The oracles of the requirements list, on any number of ranks.
void known_results() {
  const Values from{5, 6, 7, 8, 9};
  const Values places{4, 0, 0, 2};
  const DistributionPtr five = make_distribution(std::vector<Index>{5}, checks::size);
  const DistributionPtr four =
      make_distribution(std::vector<Index>{4}, checks::size, {.kinds = "c"});
  const Values mine = aligned(*four, rank, places);
  Values got(mine.size());
  gather(MPI_COMM_WORLD, *four, got.data(), *five, piece_of(*five, rank, from).data(), {mine});
  EXPECT(got == piece_of(*four, rank, Values{9, 5, 5, 7}));
  Values sums(static_cast<std::size_t>(five->local_size(rank)), 0);
  scatter(MPI_COMM_WORLD, *five, sums.data(), *four,
          piece_of(*four, rank, Values{1, 2, 3, 4}).data(), {mine}, Combine::kSum);
  EXPECT(sums == piece_of(*five, rank, Values{5, 0, 4, 0, 1}));
  scatter(MPI_COMM_WORLD, *five, sums.data(), *four,
          piece_of(*four, rank, Values{1, 2, 3, 4}).data(), {mine});
  EXPECT(sums == piece_of(*five, rank, Values{3, 0, 4, 0, 1}));
}

// Labels of two owners: T7's second part, and its first part's labels.
void shared_labels() {
  if (checks::size < 2) return;
  const DistributionPtr source =
      make_distribution({DimMap::unstructured({{0, 2, 4}, {1, 2, 3}}, false)});
  const DistributionPtr everywhere = make_replicated(std::vector<Index>{5}, checks::size);
  const std::vector<Values> values{{10, 12, 14}, {21, 22, 23}};
  const std::vector<Values> labels{{0, 2, 4}, {1, 2, 3}};
  const auto me = static_cast<std::size_t>(rank);
  const Values mine = rank < 2 ? values[me] : Values();
  const Values places = rank < 2 ? labels[me] : Values();
  Values sums(5, 0);
  scatter(MPI_COMM_WORLD, *everywhere, sums.data(), *source, mine.data(), {places}, Combine::kSum);
  EXPECT((sums == Values{10, 21, 34, 23, 14}));
  // Without an operator, of equal labels the higher rank's stays.
  scatter(MPI_COMM_WORLD, *everywhere, sums.data(), *source, mine.data(), {places});
  EXPECT((sums == Values{10, 21, 22, 23, 14}));

  const DistributionPtr odd =
      make_distribution({DimMap::unstructured({{-1, 4, 100}, {4, 7, -1}}, false)});
  const Values asked{100, -1, 7, 4};
  Values found(4, 0);
  gather(MPI_COMM_WORLD, *make_replicated(std::vector<Index>{4}, checks::size), found.data(), *odd,
         mine.data(), {asked});
  // Each owner reads its own copy, all others the lowest rank's.
  EXPECT((found == (rank == 1 ? Values{14, 23, 22, 21} : Values{14, 10, 22, 12})));
  // And both owners are written.
  const DistributionPtr one = make_on_one(std::vector<Index>{2}, 0);
  const Values two = rank == 0 ? Values{-1, 7} : Values();
  const Values news = rank == 0 ? Values{50, 60} : Values();
  Values changed = mine;
  scatter(MPI_COMM_WORLD, *odd, changed.data(), *one, news.data(), {two});
  if (rank == 0) EXPECT((changed == Values{50, 12, 14}));
  if (rank == 1) EXPECT((changed == Values{21, 60, 50}));
}

// Labels that only their owners and the directory know.
void by_directory() {
  const Communicator communicator(MPI_COMM_WORLD);
  const Values labels{1000 + rank, -7 - rank};
  const Directory directory(communicator, labels);
  const DistributionPtr layout =
      make_distribution(std::vector<Index>{2 * checks::size}, checks::size);
  Values asked;
  Values expected;
  for (int other = 0; other < 2; ++other) {
    const int peer = (rank + other + 1) % checks::size;
    asked.push_back(other == 0 ? 1000 + peer : -7 - peer);
    expected.push_back(100 * peer + other);
  }
  GatherPlan plan(MPI_COMM_WORLD, *layout, directory, asked, element_of<Index>());
  const Values data{100 * rank, 100 * rank + 1};
  Values got(2, 0);
  plan.execute(data.data(), got.data());
  EXPECT(got == expected);
  asked[0] = 5;
  EXPECT(checks::refused(ErrorKind::kKey, [&] {
    GatherPlan(MPI_COMM_WORLD, *layout, directory, asked, element_of<Index>());
  }));
}

void errors() {
  const DistributionPtr layout =
      make_distribution(std::vector<Index>{2 * checks::size}, checks::size);
  // One rank's mistake is everybody's error.
  const auto try_both = [&](ErrorKind kind, const Subscripts& subscripts, Mask mask) {
    EXPECT(checks::refused(kind, [&] {
      GatherPlan(MPI_COMM_WORLD, *layout, *layout, subscripts, element_of<Index>(), mask);
    }));
    EXPECT(checks::refused(kind, [&] {
      ScatterPlan(MPI_COMM_WORLD, *layout, *layout, subscripts, element_of<Index>(), {}, mask);
    }));
  };
  const Values fine{0, 1};
  const Values outside{0, rank == checks::size - 1 ? Index{2} * checks::size : 0};
  const Values negative{0, rank == 0 ? -1 : 0};
  const Values few{0};
  const MaskValues short_mask({1});
  try_both(ErrorKind::kKey, {outside}, {});
  try_both(ErrorKind::kKey, {negative}, {});
  try_both(ErrorKind::kShape, {rank == 0 ? few : fine}, {});
  try_both(ErrorKind::kShape, {fine, fine}, {});
  try_both(ErrorKind::kShape, {fine}, short_mask);
  const DistributionPtr wide =
      make_distribution(std::vector<Index>{checks::size + 1}, checks::size + 1);
  EXPECT(checks::refused(ErrorKind::kLayout, [&] {
    GatherPlan(MPI_COMM_WORLD, *layout, *wide, {fine}, element_of<Index>());
  }));
  EXPECT(checks::refused(ErrorKind::kType, [&] {
    ScatterPlan(MPI_COMM_WORLD, *layout, *layout, {fine}, element_of<double>(), Combine::kXor);
  }));
}

// A cyclic shift by one rank: one message each, nothing else.
void message_counts() {
  const DistributionPtr layout =
      make_distribution(std::vector<Index>{3 * checks::size}, checks::size);
  Values next;
  for (Index k = 0; k < 3; ++k) next.push_back((3 * rank + 3 + k) % (3 * checks::size));
  GatherPlan gathering(MPI_COMM_WORLD, *layout, *layout, {next}, element_of<Index>());
  ScatterPlan scattering(MPI_COMM_WORLD, *layout, *layout, {next}, element_of<Index>());
  // All but one of the elements that meet are not even sent.
  const Values same{1, 1, 1};
  ScatterPlan meeting(MPI_COMM_WORLD, *layout, *layout, {same}, element_of<Index>());
  const Index others = checks::size > 1 ? 1 : 0;
  for (const Statistics& counted : {gathering.statistics(), scattering.statistics()}) {
    EXPECT(counted.messages == others && counted.bytes == 24 * others &&
           counted.local_bytes == 24 * (1 - others));
  }
  EXPECT(meeting.statistics().bytes == (others == 1 && rank == checks::size - 1 ? 8 : 0));

  // Two arrays in one round.
  const Values one = numbers(3, 3 * rank);
  const Values two = numbers(3, 100 + 3 * rank);
  Values into_one(3, 0);
  Values into_two(3, 0);
  const std::vector<const void*> sources{one.data(), two.data()};
  const std::vector<void*> targets{into_one.data(), into_two.data()};
  gathering.execute(sources, targets);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT(into_one[k] == next[k] && into_two[k] == next[k] + 100);
  scattering.execute(sources, targets);
  const Index first = 3 * ((rank + checks::size - 1) % checks::size);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT(into_one[k] == first + static_cast<Index>(k) && into_two[k] == into_one[k] + 100);
  }
}

void broadcasts() {
  const DistributionPtr layout = Distribution::make(ProcessGrid({1, checks::size}),
                                                    {Axis{DimMap::block(4, 1), 0, {Ghosts{1, 2}}}});
  for (int root = 0; root < checks::size; ++root) {
    Values data(7, -rank);
    if (rank == root) data = {90, 1, 2, 3, 4, 91, 92};
    broadcast(MPI_COMM_WORLD, *layout, 1, root, element_of<Index>(), data.data());
    const Index mine = rank == root ? 90 : -rank;
    EXPECT((Values(data.begin(), data.begin() + 5) == Values{mine, 1, 2, 3, 4}));
    EXPECT(rank == root || data[5] == -rank);
  }
  Index value = 0;
  EXPECT(checks::refused(ErrorKind::kLayout, [&] {
    BroadcastPlan(MPI_COMM_WORLD, *layout, 0, 0, element_of<Index>());
  }));
  EXPECT(checks::refused(ErrorKind::kArgument, [&] {
    BroadcastPlan(MPI_COMM_WORLD, *layout, 1, checks::size, element_of<Index>());
  }));
  EXPECT(checks::refused(ErrorKind::kKey, [&] {
    broadcast_element(MPI_COMM_WORLD, *layout, std::vector<Index>{4}, element_of<Index>(), &value,
                      &value);
  }));
}

}  // namespace

int main(int argc, char** argv) {
  checks::begin(&argc, &argv);
  checks::part("known results", known_results);
  checks::part("gathers from random layouts", gathers);
  checks::part("scatters to random layouts", scatters);
  checks::part("labels of several owners", shared_labels);
  checks::part("labels in a directory", by_directory);
  checks::part("broadcasts", broadcasts);
  checks::part("errors", errors);
  checks::part("messages", message_counts);
  return checks::end();
}
