// SPDX-License-Identifier: Apache-2.0
// Lookups, directories, trees and reductions against what every rank can work out by itself.
#include <chrono>
#include <complex>
#include <numeric>
#include <thread>

#include "darray/schedule/lookup_schedule.hpp"
#include "darray/schedule/reduce_schedule.hpp"
#include "darray/schedule/tree_schedule.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/unit/darray/local/random_selection.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;

std::vector<int> everybody() {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void lookups() {
  const Communicator communicator(MPI_COMM_WORLD);
  constexpr Index kOwned = 50;
  for (const Index count : {Index{0}, Index{3}, Index{400}}) {
    // Every rank wants other elements, several of them more than once, and puts them into odd
    // places from the end.
    std::vector<std::vector<Location>> wanted;
    for (int asker = 0; asker < size; ++asker) {
      Random random(static_cast<unsigned>(asker + 1));
      auto& list = wanted.emplace_back();
      for (Index k = 0; k < (asker == 1 ? 0 : count); ++k) {
        const bool skipped = between(random, 0, 9) == 0;
        const int owner = static_cast<int>(between(random, 0, size - 1));
        list.push_back({skipped ? Location::kNowhere : owner, between(random, 0, kOwned - 1)});
      }
    }
    const auto& mine = wanted[static_cast<std::size_t>(rank)];
    std::vector<Index> places;
    for (std::size_t k = 0; k < mine.size(); ++k)
      places.push_back(2 * static_cast<Index>(mine.size() - k) - 1);
    WordSchedule schedule = lookup_schedule(communicator, element_of<double>(), mine, places);
    std::vector<double> source(kOwned), destination(2 * mine.size() + 1, -1);
    for (std::size_t k = 0; k < source.size(); ++k)
      source[k] = 100.0 * rank + static_cast<double>(k);
    std::vector<double> expected = destination;
    for (std::size_t k = 0; k < mine.size(); ++k) {
      if (mine[k].rank != Location::kNowhere) {
        expected[static_cast<std::size_t>(places[k])] =
            100.0 * mine[k].rank + static_cast<double>(mine[k].offset);
      }
    }
    schedule.execute(source.data(), destination.data());
    EXPECT(destination == expected);

    // Backwards: everybody adds 1 to what it wants.
    std::fill(destination.begin(), destination.end(), 1);
    std::vector<double> counted(source.size(), 0), counts(source.size(), 0);
    for (const auto& list : wanted) {
      for (const Location& location : list)
        counts[static_cast<std::size_t>(location.offset)] += location.rank == rank ? 1 : 0;
    }
    schedule.execute_backward(counted.data(), destination.data(), Combine::kSum);
    EXPECT(counted == counts);
  }
  EXPECT(checks::refused(ErrorKind::kArgument, [&] {
    const std::vector<Location> nobody = {{rank == 0 ? size : 0, 0}};
    lookup_schedule(communicator, element_of<double>(), nobody);
  }));
  const std::vector<Location> first = {{0, 0}};
  WordSchedule highest =
      lookup_schedule(communicator, element_of<int>(), first, {}, {.ordered = true});
  int target = -1;
  highest.execute_backward(&target, &rank);
  EXPECT(target == (rank == 0 ? size - 1 : -1));
}

void directories() {
  const Communicator communicator(MPI_COMM_WORLD);
  // Rank r owns labels r, r + size, ... shifted below zero, and all own the label 1000000: the
  // lowest rank is found.
  std::vector<Index> labels, offsets;
  for (Index k = 0; k < 30; ++k) {
    labels.push_back((k - 10) * size + rank);
    offsets.push_back(100 - k);
  }
  labels.push_back(1000000);
  offsets.push_back(7);
  const Directory directory(communicator, labels, offsets);
  std::vector<Index> questions = {1000000, -77777};
  std::vector<Location> expected = {{0, 7}, {}};
  for (int owner = 0; owner < size; ++owner) {
    for (const Index k : {29, 0, 11 + rank}) {
      questions.push_back((k - 10) * size + owner);
      expected.push_back({owner, 100 - k});
    }
  }
  EXPECT(directory.find(questions) == expected);
  EXPECT(directory.find(rank == 0 ? std::vector<Index>{} : std::vector<Index>{1000000}).size() ==
         (rank == 0 ? 0U : 1U));
}

void trees() {
  const Communicator communicator(MPI_COMM_WORLD);
  barrier(communicator);
  for (int root = 0; root < size; ++root) {
    for (const Index chunk : {Index{16} << 20, Index{64}}) {
      for (const Index stride : {1, 2}) {
        const Patch source{5, {{40, stride}}};
        const Patch destination{100, {{40, 3 - stride}}};
        TreeSchedule tree(communicator, element_of<double>(), root, everybody(), source,
                          destination, {.chunk_bytes = chunk});
        std::vector<double> from(200, rank), to(200, -1), expected(200, -1);
        for (Index k = 0; k < 40; ++k) {
          from[static_cast<std::size_t>(source.at(k))] = 1000 * rank + static_cast<double>(k);
          expected[static_cast<std::size_t>(destination.at(k))] =
              1000 * root + static_cast<double>(k);
        }
        tree.execute(from.data(), to.data());
        EXPECT(to == expected);
        std::fill(to.begin(), to.end(), -1);
        tree.start(from.data(), to.data());
        while (!tree.test()) {
        }
        EXPECT(to == expected);
        // Backwards: contributions r + 1 written as digits, in rank order.
        std::fill(to.begin(), to.end(), rank + 1);
        const std::vector<double> before = from;
        tree.execute_backward(from.data(), to.data(),
                              combine_with<double>([](double a, double b) { return 10 * a + b; }));
        double digits = 0;
        for (int r = 0; r < size; ++r) digits = 10 * digits + r + 1;
        EXPECT(rank == root || from == before);
        for (Index k = 0; k < 40 && rank == root; ++k)
          EXPECT(from[static_cast<std::size_t>(source.at(k))] == digits);

        // One rank sends into every other system once; all but the root receive once.
        Index mine[3] = {tree.statistics().crossing_messages, tree.statistics().messages,
                         tree.statistics().received_messages};
        Index all[3];
        MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(all[0] == communicator.systems().count() - 1);
        EXPECT(all[1] == size - 1 && all[2] == size - 1);
      }
    }
  }
  // Two trees side by side: even ranks, and odd ranks but the last.
  std::vector<int> members;
  for (int r = rank % 2; r < size; r += 2) {
    if (r % 2 == 0 || r != size - 1) members.push_back(r);
  }
  const bool takes_part = std::find(members.begin(), members.end(), rank) != members.end();
  if (!takes_part) members.clear();
  TreeSchedule side(communicator, element_of<int>(), members.empty() ? 0 : members.back(), members,
                    contiguous_patch(0, 1),
                    takes_part ? contiguous_patch(0, 1) : contiguous_patch(0, 0));
  int got = -1;
  side.execute(&rank, &got);
  EXPECT(got == (takes_part ? members.back() : -1));
}

template <class T>
T contribution(int r, Index k) {
  return static_cast<T>((r * 5 + k * 3) % 11 + 1);
}

// All kinds of reductions, short and long ones, over all ranks and over every second one.
template <class T>
void reduce_all(Index count, const ScheduleOptions& options, const Combiner& combine,
                T (*operation)(T, T)) {
  const Communicator communicator(MPI_COMM_WORLD);
  std::vector<int> parity;
  for (int r = rank % 2; r < size; r += 2) parity.push_back(r);
  for (const std::vector<int>& members : {everybody(), parity}) {
    for (const Reduction kind : {Reduction::kToOne, Reduction::kToAll, Reduction::kExclusivePrefix,
                                 Reduction::kInclusivePrefix}) {
      const int root = members.back();
      const Patch source{1, {{count, 2}}};
      const Patch destination = contiguous_patch(2, count);
      ReduceSchedule schedule(communicator, element_of<T>(), members, source, destination, combine,
                              kind, root, options);
      std::vector<T> from(static_cast<std::size_t>(2 * count + 1)),
          to(static_cast<std::size_t>(count + 2), T(-1));
      for (Index k = 0; k < count; ++k)
        from[static_cast<std::size_t>(2 * k + 1)] = contribution<T>(rank, k);
      std::vector<T> expected = to;
      for (Index k = 0; k < count; ++k) {
        T& cell = expected[static_cast<std::size_t>(k + 2)];
        bool first = true;
        for (const int r : members) {
          if ((kind == Reduction::kExclusivePrefix && r >= rank) ||
              (kind == Reduction::kInclusivePrefix && r > rank))
            break;
          if (kind == Reduction::kToOne && rank != root) break;
          cell = first ? contribution<T>(r, k) : operation(cell, contribution<T>(r, k));
          first = false;
        }
      }
      std::vector<T> again = to;
      schedule.execute(from.data(), to.data());
      EXPECT(to == expected);
      schedule.start(from.data(), again.data());
      if (rank % 2 == 0) {
        while (!schedule.test()) {
        }
      }
      schedule.wait();
      EXPECT(again == expected);
    }
  }
}

void reductions() {
  for (const Index count : {0, 1, 7, 3001}) {
    for (const bool ordered : {false, true}) {
      for (const Index chunk : {Index{16} << 20, Index{12000}}) {
        const ScheduleOptions options{.chunk_bytes = chunk, .ordered = ordered};
        reduce_all<double>(count, options, Combine::kSum, [](double a, double b) { return a + b; });
        reduce_all<std::int32_t>(count, options, Combine::kMax,
                                 [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
        using Complex = std::complex<double>;
        reduce_all<Complex>(count, options, Combine::kProduct,
                            [](Complex a, Complex b) { return a * b; });
      }
    }
    // Not commutative: the order of ranks shows. (Long ones are promised it with `ordered`.)
    const auto digits = [](double a, double b) { return 10 * a + b; };
    reduce_all<double>(count, {.ordered = true}, combine_with<double>(digits), digits);
  }
  const Communicator communicator(MPI_COMM_WORLD);
  EXPECT(all_reduce(communicator, rank + 1, Combine::kSum) == size * (size + 1) / 2);
  double prefix[2] = {1.0 + rank, 2.0};
  exclusive_prefix(communicator, element_of<double>(), prefix, 2, Combine::kSum);
  EXPECT(prefix[0] == (rank == 0 ? 1.0 : rank * (rank + 1) / 2.0));
  EXPECT(prefix[1] == (rank == 0 ? 2.0 : 2.0 * rank));
  // Short sums do not depend on where ranks run: the bits are those of a sum in rank order.
  volatile double expected = 0.1;
  for (int r = 1; r < size; ++r) expected = expected + 0.1 / (r + 1);
  EXPECT(all_reduce(communicator, 0.1 / (rank + 1), Combine::kSum) == expected);
}

/// Nobody leaves before the last one has come, whoever that is. The clock is that of the machine
/// that all ranks run on.
void barriers() {
  const Communicator communicator(MPI_COMM_WORLD);
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  for (int late = 0; late < size; ++late) {
    if (rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::int64_t come = std::chrono::nanoseconds(now()).count();
    barrier(communicator);
    std::int64_t left = std::chrono::nanoseconds(now()).count();
    MPI_Allreduce(MPI_IN_PLACE, &come, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    EXPECT(left >= come);
  }
}

void reduction_errors() {
  const Communicator communicator(MPI_COMM_WORLD);
  const Patch one = contiguous_patch(0, 1);
  const Patch two = contiguous_patch(0, 2);
  const auto make = [&](std::vector<int> members, const Patch& source, Combine combine) {
    return [&communicator, members, source, combine, one] {
      ReduceSchedule(communicator, element_of<double>(), members, source, one, combine);
    };
  };
  EXPECT(checks::refused(ErrorKind::kShape, make(everybody(), two, Combine::kSum)));
  EXPECT(checks::refused(ErrorKind::kType, make(everybody(), one, Combine::kOr)));
  EXPECT(checks::refused(ErrorKind::kArgument, make(everybody(), one, Combine::kReplace)));
  EXPECT(checks::refused(ErrorKind::kArgument, make({size}, one, Combine::kSum)));
  EXPECT(checks::refused(ErrorKind::kArgument, [&] {
           agree_on(communicator, Checks::kOn,
                    [] { return CollectiveCall("test").with("width", rank == 0 ? 1 : 2); });
         }) == (size > 1));
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("lookups", lookups);
  checks::part("directories", directories);
  checks::part("trees", trees);
  checks::part("reductions", reductions);
  checks::part("barriers", barriers);
  checks::part("reduction errors", reduction_errors);
  return checks::end();
}
