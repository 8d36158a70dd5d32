// SPDX-License-Identifier: Apache-2.0
// Executions that are in progress at once, that end otherwise on every rank, or in errors.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/halo/halo.hpp"
#include "darray/plan/reduce/reduce.hpp"
#include "darray/plan/remap/remap.hpp"
#include "darray/plan/shift/shift.hpp"
#include "darray/schedule/block_schedule.hpp"
#include "darray/schedule/reduce_schedule.hpp"
#include "darray/schedule/tree_schedule.hpp"
#include "tests/mpi/darray/checks.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::refused;
using checks::size;

std::vector<int> everybody() {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// One kind of execution that uses collectives, with data of its own.
struct Background {
  std::function<void(double)> start;
  std::function<bool()> test;
  std::function<void()> wait;
  std::function<bool(double)> is_right;
};

/// The sum of what all ranks have; long enough for several steps.
Background reduction(Index count) {
  const Selection all = contiguous_patch(0, count);
  auto plan = std::make_shared<ReduceSchedule>(Communicator(MPI_COMM_WORLD), element_of<double>(),
                                               everybody(), all, all, Combine::kSum);
  auto values = std::make_shared<std::vector<double>>(static_cast<std::size_t>(count));
  return {[=](double value) {
            std::fill(values->begin(), values->end(), value + rank);
            plan->start(values->data(), values->data());
          },
          [=] { return plan->test(); }, [=] { plan->wait(); },
          [=](double value) {
            const double sum = size * value + size * (size - 1) / 2;
            return std::all_of(values->begin(), values->end(),
                               [&](double found) { return found == sum; });
          }};
}

/// Everybody's piece to everybody, by a tree.
Background copies(Index count) {
  const std::array<Index, 1> shape{count};
  const auto blocks = make_distribution(shape, size);
  const auto everywhere = make_replicated(shape, size);
  auto plan = std::make_shared<RemapPlan>(Communicator(MPI_COMM_WORLD), RemapSide{*everywhere},
                                          RemapSide{*blocks}, element_of<double>());
  auto mine =
      std::make_shared<std::vector<double>>(static_cast<std::size_t>(blocks->owned_size(rank)) + 1);
  auto all = std::make_shared<std::vector<double>>(static_cast<std::size_t>(count));
  return {[=](double value) {
            std::fill(mine->begin(), mine->end(), value);
            std::fill(all->begin(), all->end(), -1);
            plan->start(mine->data(), all->data());
          },
          [=] { return plan->test(); }, [=] { plan->wait(); },
          [=](double value) {
            return std::all_of(all->begin(), all->end(),
                               [&](double found) { return found == value; });
          }};
}

Background whole_array(Index count) {
  const std::array<Index, 1> shape{count};
  const auto blocks = make_distribution(shape, size);
  auto plan = std::make_shared<ReducePlan>(MPI_COMM_WORLD, *blocks,
                                           reduce_operator(Reducer::kMax, Scalar::kDouble));
  auto mine =
      std::make_shared<std::vector<double>>(static_cast<std::size_t>(blocks->owned_size(rank)) + 1);
  auto found = std::make_shared<double>();
  return {[=](double value) {
            std::fill(mine->begin(), mine->end(), value);
            plan->start(mine->data(), found.get());
          },
          [=] { return plan->test(); }, [=] { plan->wait(); },
          [=](double value) { return *found == value; }};
}

void under_way_at_once() {
  std::vector<Background> executions{reduction(30000), copies(1000), reduction(20000),
                                     whole_array(100), copies(5000)};
  const std::array<Index, 1> shape{10};
  const auto few = make_distribution(shape, size);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t k = 0; k < executions.size(); ++k) {
      executions[k].start(100 * round + static_cast<double>(k));
      // Some ranks look after the oldest one meanwhile, so that it gets on there and not elsewhere.
      if (rank % 2 == round % 2) executions[0].test();
      // Planning has collectives as well.
      if (k == 2) RemapPlan(Communicator(MPI_COMM_WORLD), {*few}, {*few}, element_of<double>());
    }
    std::vector<std::size_t> order(executions.size());
    std::iota(order.begin(), order.end(), 0U);
    std::rotate(order.begin(), order.begin() + (rank + round) % static_cast<int>(order.size()),
                order.end());
    if (rank % 2 == 1) std::reverse(order.begin(), order.end());
    for (const std::size_t k : order) {
      if ((rank + round) % 3 == 0) {
        while (!executions[k].test()) {
        }
      }
      executions[k].wait();
    }
    for (std::size_t k = 0; k < executions.size(); ++k) {
      EXPECT(executions[k].is_right(100 * round + static_cast<double>(k)));
    }
  }
}

// Whether an execution ends in test() or in wait() is nothing that other ranks know.
void tested_here_waited_for_there() {
  Background spread = copies(3000);
  for (int round = 0; round < 20; ++round) {
    spread.start(round);
    if ((rank + round) % 2 == 0) {
      while (!spread.test()) {
      }
    } else {
      spread.wait();
    }
    EXPECT(spread.is_right(round));
  }
}

void one_at_a_time() {
  const Communicator communicator(MPI_COMM_WORLD);
  const std::array<Index, 1> shape{40};
  const auto blocks = make_distribution(shape, size);
  const auto everywhere = make_replicated(shape, size);
  RemapPlan plan(communicator, {*everywhere}, {*blocks}, element_of<double>());
  std::vector<double> mine(static_cast<std::size_t>(blocks->owned_size(rank)) + 1, 1);
  std::vector<double> all(40, 2);
  plan.start_backward(mine.data(), all.data());
  EXPECT(refused(ErrorKind::kArgument, [&] { plan.start(mine.data(), all.data()); }));
  plan.wait();
  plan.start(mine.data(), all.data());
  EXPECT(refused(ErrorKind::kArgument, [&] { plan.start(mine.data(), all.data()); }));
  EXPECT(refused(ErrorKind::kArgument, [&] { plan.start_backward(mine.data(), all.data()); }));
  EXPECT(refused(ErrorKind::kArgument, [&] { plan.execute(mine.data(), all.data()); }));
  plan.wait();
  EXPECT(std::all_of(all.begin(), all.end(), [](double value) { return value == 2; }));
}

void every_item_is_combined() {
  const Communicator communicator(MPI_COMM_WORLD);
  const Element points = element_of<double>().times(3);
  for (const Index count : {Index{5}, Index{3000}}) {
    const Selection all = contiguous_patch(0, count);
    std::vector<double> values(static_cast<std::size_t>(3 * count), 1);
    ReduceSchedule(communicator, points, everybody(), all, all, Combine::kSum)
        .execute(values.data(), values.data());
    EXPECT(std::all_of(values.begin(), values.end(), [](double value) { return value == size; }));
  }
  BlockSchedule schedule(communicator, points);
  schedule.add_send((rank + 1) % size, contiguous_patch(0, 4));
  schedule.add_receive((rank + size - 1) % size, contiguous_patch(0, 4));
  schedule.build();
  const std::vector<double> source(12, 2);
  std::vector<double> destination(12, 5);
  schedule.execute(source.data(), destination.data(), Combine::kSum);
  EXPECT(destination == std::vector<double>(12, 7));
}

// A user's operator sees the members' values and nothing else: not what fills blocks up.
void operators_see_values_alone() {
  const Communicator communicator(MPI_COMM_WORLD);
  for (const Reduction reduction :
       {Reduction::kToAll, Reduction::kToOne, Reduction::kInclusivePrefix}) {
    for (const Index count : {Index{2501}, Index{2503}}) {
      std::vector<Workspace> dirty;
      for (int k = 0; k < 8; ++k)
        dirty.push_back(communicator.workspace(8 * static_cast<std::size_t>(count) + 64));
      for (const Workspace& each : dirty) std::memset(each.data(), 0x55, each.size());
      dirty.clear();
      Index strange = 0;
      const CombineFunction maximum = combine_with<double>([&strange](double a, double b) {
        for (const double value : {a, b}) strange += value >= 1 && value <= size ? 0 : 1;
        return std::max(a, b);
      });
      const Selection all = contiguous_patch(0, count);
      std::vector<double> values(static_cast<std::size_t>(count), rank + 1);
      ReduceSchedule(communicator, element_of<double>(), everybody(), all, all, maximum, reduction,
                     0, {.ordered = true})
          .execute(values.data(), values.data());
      EXPECT(strange == 0);
      const double expected =
          reduction == Reduction::kToAll || (reduction == Reduction::kToOne && rank == 0)
              ? size
              : rank + 1;
      EXPECT(std::all_of(values.begin(), values.end(),
                         [&](double value) { return value == expected; }));
    }
  }
}

// An operator that throws on one rank: the others get on, and the next execution is right.
void operators_may_throw() {
  const Communicator communicator(MPI_COMM_WORLD);
  bool angry = false;
  const CombineFunction sum = combine_with<double>([&angry](double a, double b) {
    if (angry) throw std::range_error("no");
    return a + b;
  });
  const auto throws = [](const std::function<void()>& body) {
    try {
      body();
    } catch (const std::range_error&) {
      return true;
    }
    return false;
  };
  BlockSchedule schedule(communicator, element_of<double>());
  for (int peer = 0; peer < size; ++peer) {
    schedule.add_send(peer, contiguous_patch(0, 2));
    schedule.add_receive(peer, contiguous_patch(0, 2));
  }
  schedule.build();
  const std::array<double, 2> source{1, 2};
  for (const bool last : {false, true}) {
    angry = rank == 0 && !last;
    std::array<double, 2> destination{0, 0};
    EXPECT(throws([&] { schedule.execute(source.data(), destination.data(), sum); }) == angry);
    if (!angry) EXPECT(destination[0] == size && destination[1] == 2 * size);
  }
  if (size == 1) return;
  for (const Index count : {Index{5}, Index{5000}}) {
    const Selection all = contiguous_patch(0, count);
    ReduceSchedule reduce(communicator, element_of<double>(), everybody(), all, all, sum);
    for (const int round : {0, 1, 2, 3}) {
      angry = rank == 0 && round % 2 == 0;
      std::vector<double> values(static_cast<std::size_t>(count), 1);
      EXPECT(throws([&] {
               if (round < 2) return reduce.execute(values.data(), values.data());
               reduce.start(values.data(), values.data());
               reduce.wait();
             }) == angry);
      if (round % 2 == 1) EXPECT(values == std::vector<double>(values.size(), size));
    }
  }
}

void errors_of_one_rank() {
  const Communicator communicator(MPI_COMM_WORLD);
  EXPECT(refused(ErrorKind::kUnsupported, [&] {
    agreed(communicator, Checks::kOn, "allocation", [] {
      if (rank == 0) throw std::bad_alloc();
    });
  }));
  const Selection few = contiguous_patch(0, 1);
  EXPECT(refused(ErrorKind::kArgument, [&] {
    const ReduceSchedule schedule(communicator, element_of<double>(), everybody(), few, few,
                                  Combine::kSum, Reduction::kToAll, 0, {.chunk_bytes = 0});
  }));
  const Selection mine = contiguous_patch(0, rank == 0 ? 5000 : 6000);
  if (size > 1) {
    EXPECT(refused(ErrorKind::kShape, [&] {
      const ReduceSchedule schedule(communicator, element_of<double>(), everybody(), mine, mine,
                                    Combine::kSum);
    }));
    EXPECT(refused(ErrorKind::kShape, [&] {
      const TreeSchedule schedule(communicator, element_of<double>(), 0, everybody(), mine, mine);
    }));
  }
  TreeSchedule tree(communicator, element_of<double>(), 0, everybody(), contiguous_patch(0, 3),
                    rank == 0 ? Selection() : Selection(contiguous_patch(0, 3)));
  std::array<double, 3> values{1, 2, 3};
  EXPECT(refused(ErrorKind::kUnsupported,
                 [&] { tree.execute_backward(values.data(), values.data(), Combine::kSum); }));

  const std::array<Index, 1> shape{2 * size};
  const auto blocks = make_distribution(shape, size);
  ReducePlan sum(MPI_COMM_WORLD, *blocks, reduce_operator(Reducer::kSum, Scalar::kDouble));
  const std::array<bool, 3> mask{true, false, true};
  double found = -1;
  const std::size_t length = rank == 0 ? 3 : 2;
  EXPECT(refused(ErrorKind::kShape,
                 [&] { sum.execute(values.data(), &found, Mask(mask.data(), length)); }));
  EXPECT(refused(ErrorKind::kShape,
                 [&] { sum.start(values.data(), &found, Mask(mask.data(), length)); }));
  sum.execute(values.data(), &found, Mask(mask.data(), 2));
  EXPECT(found == size);
}

// What ranks are told must be the same: with another order or bound their messages would not meet.
void descriptions_that_differ() {
  if (size == 1) return;
  const Communicator communicator(MPI_COMM_WORLD);
  const std::array<Index, 2> shape{2 * size, 3};
  const auto rows = make_distribution(shape, size, {.kinds = "bn"});
  const auto remap = [&](const RemapOptions& options) {
    RemapPlan(communicator, {*rows}, {*rows}, element_of<double>(), options);
  };
  const bool first = rank == 0;
  EXPECT(refused(ErrorKind::kArgument, [&] { remap({.backward = first}); }));
  for (const ScheduleOptions& options :
       {ScheduleOptions{.bounded = first}, ScheduleOptions{.ordered = first}}) {
    EXPECT(refused(ErrorKind::kArgument, [&] { remap({.schedule = options}); }));
    EXPECT(refused(ErrorKind::kArgument, [&] {
      HaloPlan(communicator, *rows, element_of<double>(), {.schedule = options});
    }));
    EXPECT(refused(ErrorKind::kArgument, [&] {
      ShiftPlan(communicator, {*rows}, {*rows}, 0, 1, element_of<double>(), {.schedule = options});
    }));
  }
  const std::vector<Index> amounts{1, 2, first ? 3 : 4};
  EXPECT(refused(ErrorKind::kArgument, [&] {
    SkewPlan(communicator, {*rows}, {*rows}, 0, amounts, element_of<double>());
  }));
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("tested here, waited for there", tested_here_waited_for_there);
  checks::part("in progress at once", under_way_at_once);
  checks::part("one at a time", one_at_a_time);
  checks::part("every item is combined", every_item_is_combined);
  checks::part("operators see values alone", operators_see_values_alone);
  checks::part("operators may throw", operators_may_throw);
  checks::part("errors of one rank", errors_of_one_rank);
  checks::part("descriptions that differ", descriptions_that_differ);
  return checks::end();
}
