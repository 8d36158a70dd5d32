// SPDX-License-Identifier: Apache-2.0
// Block schedules and word schedules against a serial copy of all ranks' buffers.
#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>

#include "darray/schedule/block_schedule.hpp"
#include "darray/schedule/word_schedule.hpp"
#include "impishim/impishim.h"
#include "tests/mpi/darray/checks.hpp"
#include "tests/unit/darray/local/random_selection.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;

constexpr Index kArea = 1300;  // each pair of ranks has an area of its own in the buffers of both

// What all ranks are going to exchange, known to each: every rank draws the same numbers.
struct Move {
  int from;
  int to;
  Patch source;
  Patch destination;
};

std::vector<Move> random_moves(Random& random) {
  std::vector<Move> moves;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      Index used = 0;
      for (Index k = between(random, 0, 2); k-- > 0;) {
        Patch source = random_patch(random);
        source.offset += to * kArea + (k % 2) * 625;
        const Index count = source.size();
        const Index stride = between(random, 1, 2);
        Patch destination{from * kArea + used, {{count, stride}}};
        if (between(random, 0, 3) == 0) destination = {from * kArea + used, {{count, 1}}};
        if (count % 2 == 0 && between(random, 0, 1) == 0)
          destination.dimensions = {{2, 1}, {count / 2, 2}};
        used += 2 * count;
        if (used > kArea) break;
        moves.push_back({from, to, std::move(source), std::move(destination)});
      }
    }
  }
  return moves;
}

BlockSchedule schedule_of(const std::vector<Move>& moves, const Element& element,
                          ScheduleOptions options) {
  BlockSchedule schedule(MPI_COMM_WORLD, element, options);
  for (const Move& move : moves) {
    if (move.from == rank && move.to == rank && move.source.size() % 2 == 0) {
      schedule.add_local(move.source, move.destination);
      continue;
    }
    if (move.from == rank) schedule.add_send(move.to, move.source);
    if (move.to == rank) schedule.add_receive(move.from, move.destination);
  }
  schedule.build();
  return schedule;
}

template <class T>
T value(int owner, Index offset, int array) {
  return static_cast<T>((owner * 31 + offset * 7 + array * 3) % 113 + 1);
}

template <class T>
std::vector<T> buffer(int owner, int array) {
  std::vector<T> result(static_cast<std::size_t>(size * kArea));
  for (std::size_t k = 0; k < result.size(); ++k)
    result[k] = value<T>(owner, static_cast<Index>(k), array);
  return result;
}

// Forwards and backwards, replacing and adding, one array and three, with one schedule for all.
template <class T>
void exchange_random(unsigned seed, ScheduleOptions options, const Element& element, bool adds) {
  Random random(seed);
  for (int round = 0; round < 2; ++round) {
    const std::vector<Move> moves = random_moves(random);
    BlockSchedule schedule = schedule_of(moves, element, options);
    for (const int arrays : {1, 3, 1}) {
      for (const bool backward : {false, true}) {
        for (const bool adding : {false, true}) {
          if (adding && !adds) continue;
          std::vector<std::vector<T>> read, written, expected;
          std::vector<const void*> from;
          std::vector<void*> to;
          for (int array = 0; array < arrays; ++array) {
            read.push_back(buffer<T>(rank, array));
            written.push_back(buffer<T>(rank, array + 50));
            expected.push_back(written.back());
            for (const Move& move : moves) {
              const int reader = backward ? move.to : move.from;
              if ((backward ? move.from : move.to) != rank) continue;
              const Patch& there = backward ? move.destination : move.source;
              const Patch& here = backward ? move.source : move.destination;
              for (Index k = 0; k < here.size(); ++k) {
                T& cell = expected.back()[static_cast<std::size_t>(here.at(k))];
                const T arrived = value<T>(reader, there.at(k), array);
                if (adding) {
                  cell = cell + arrived;
                } else {
                  cell = arrived;
                }
              }
            }
          }
          for (int array = 0; array < arrays; ++array) {
            from.push_back(read[static_cast<std::size_t>(array)].data());
            to.push_back(written[static_cast<std::size_t>(array)].data());
          }
          const Combiner combine = adding ? Combine::kSum : Combine::kReplace;
          if (backward) {
            schedule.start_backward(to, from, combine);
          } else {
            schedule.start(from, to, combine);
          }
          if (arrays == 3) {
            while (!schedule.test()) {
            }
          }
          schedule.wait();
          EXPECT(written == expected);
        }
      }
    }
  }
}

void random_exchanges() {
  for (const Index chunk : {Index{16} << 20, Index{64}}) {
    for (const bool bounded : {false, true}) {
      for (const bool ordered : {false, true}) {
        const ScheduleOptions options{chunk, bounded, ordered, Checks::kOn};
        exchange_random<double>(1, options, element_of<double>(), true);
        exchange_random<std::int16_t>(2, options, element_of<std::int16_t>(), true);
        exchange_random<std::complex<float>>(3, options, element_of<std::complex<float>>(), true);
      }
    }
  }
  exchange_random<long double>(4, {}, element_of<long double>(), true);
  exchange_random<std::int64_t>(5, {}, opaque(sizeof(std::int64_t)), false);
}

void exact_statistics() {
  Random random(8);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Move> moves = random_moves(random);
    const BlockSchedule schedule =
        schedule_of(moves, element_of<double>(), {.checks = Checks::kOff});
    std::map<int, Index> sent, received;
    Index local = 0;
    for (const Move& move : moves) {
      if (move.source.size() == 0) continue;
      if (move.from == rank && move.to == rank) {
        local += move.source.size();
      } else if (move.from == rank) {
        sent[move.to] += move.source.size();
      } else if (move.to == rank) {
        received[move.from] += move.source.size();
      }
    }
    Index bytes = 0, received_bytes = 0, crossing = 0, crossing_bytes = 0;
    std::map<int, Index> peers = sent;
    peers.insert(received.begin(), received.end());
    for (const auto& [peer, count] : sent) {
      bytes += 8 * count;
      const bool crosses = schedule.communicator().systems().crosses(rank, peer);
      crossing += crosses ? 1 : 0;
      crossing_bytes += crosses ? 8 * count : 0;
    }
    for (const auto& [peer, count] : received) received_bytes += 8 * count;
    const Statistics& statistics = schedule.statistics();
    EXPECT(statistics.messages == static_cast<Index>(sent.size()));
    EXPECT(statistics.bytes == bytes);
    EXPECT(statistics.received_messages == static_cast<Index>(received.size()));
    EXPECT(statistics.received_bytes == received_bytes);
    EXPECT(statistics.local_bytes == 8 * local);
    EXPECT(statistics.peers == static_cast<Index>(peers.size()));
    EXPECT(statistics.crossing_messages == crossing);
    EXPECT(statistics.crossing_bytes == crossing_bytes);
    // Packed messages begin at cache lines; nothing else is taken.
    EXPECT(statistics.workspace_bytes + statistics.direct_bytes <=
           bytes + received_bytes + 63 * (statistics.messages + statistics.received_messages));
  }
}

// Rows of a block, long enough for a datatype where they cross systems: no workspace there, the
// same elements everywhere.
void long_rows() {
  constexpr Index kRows = 5, kColumns = 40, kPitch = 50;
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  const Patch sent{kPitch + 3, {{kRows, kPitch}, {kColumns, 1}}};
  const Patch received{(kRows - 1) * kColumns + 7,
                       {{kRows, -kColumns}, {kColumns, 1}}};  // the last row first
  BlockSchedule schedule(MPI_COMM_WORLD, element_of<double>());
  schedule.add_send(next, sent);
  schedule.add_receive(previous, received);
  schedule.build();
  const Systems& systems = schedule.communicator().systems();
  const Index packed = (next != rank && !systems.crosses(rank, next) ? 1 : 0) +
                       (next != rank && !systems.crosses(rank, previous) ? 1 : 0);
  EXPECT((schedule.statistics().workspace_bytes > 0) == (packed > 0));
  for (int turn = 0; turn < 3; ++turn) {
    // Other memory each time.
    std::vector<double> source((kRows + 1) * kPitch), destination(kRows * kColumns + 7, -1),
        back(source.size(), -1);
    std::iota(source.begin(), source.end(), 1000.0 * rank + turn);
    schedule.execute(source.data(), destination.data());
    schedule.execute_backward(back.data(), destination.data());
    for (Index row = 0; row < kRows; ++row) {
      for (Index column = 0; column < kColumns; ++column) {
        const Index from = kPitch + 3 + row * kPitch + column;
        const auto to = static_cast<std::size_t>((kRows - 1 - row) * kColumns + 7 + column);
        EXPECT(destination[to] == 1000.0 * previous + turn + static_cast<double>(from));
        EXPECT(back[static_cast<std::size_t>(from)] == source[static_cast<std::size_t>(from)]);
      }
    }
    EXPECT(std::count(destination.begin(), destination.end(), -1.0) == 7);
    EXPECT(std::count(back.begin(), back.end(), -1.0) ==
           static_cast<Index>(back.size()) - kRows * kColumns);
  }
}

void chunks_and_bounds() {
  // Each rank sends 1000 doubles to the next one, in pieces of 10, then through a workspace of two
  // pieces.
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  for (const bool bounded : {false, true}) {
    BlockSchedule schedule(MPI_COMM_WORLD, element_of<double>(),
                           {.chunk_bytes = 80, .bounded = bounded});
    schedule.add_send(next, {0, {{1000, 2}}});
    schedule.add_receive(previous, {1, {{1000, 3}}});
    schedule.build();
    EXPECT(schedule.statistics().messages == (size == 1 ? 0 : 100));
    EXPECT(schedule.statistics().bytes == (size == 1 ? 0 : 8000));
    if (bounded) EXPECT(schedule.statistics().workspace_bytes <= 2 * 128);
    std::vector<double> source(2000), destination(3001, -1);
    for (std::size_t k = 0; k < source.size(); ++k)
      source[k] = static_cast<double>(k) + 10000 * rank;
    schedule.execute(source.data(), destination.data());
    for (std::size_t k = 0; k < 1000; ++k)
      EXPECT(destination[3 * k + 1] == 2.0 * static_cast<double>(k) + 10000 * previous);
    EXPECT(destination[2] == -1);
  }
}

// Of ten elements, blocks on ranks 0 and 1 become pairs dealt to ranks 0, 1 and 2 (test case T10).
void ten_elements() {
  if (size < 3) return;
  const std::vector<std::vector<Index>> before = {{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}};
  const std::vector<std::vector<Index>> after = {{0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5}};
  WordSchedule schedule(MPI_COMM_WORLD, element_of<double>());
  std::vector<double> source, destination(4, -1);
  for (int from = 0; from < 2; ++from) {
    for (int to = 0; to < 3; ++to) {
      std::vector<Index> sent, received;
      const auto& held = before[static_cast<std::size_t>(from)];
      const auto& wanted = after[static_cast<std::size_t>(to)];
      for (std::size_t k = 0; k < held.size(); ++k) {
        const auto place = std::find(wanted.begin(), wanted.end(), held[k]);
        if (place == wanted.end()) continue;
        sent.push_back(static_cast<Index>(k));
        received.push_back(place - wanted.begin());
      }
      if (from == rank && to == rank) {
        schedule.add_local(sent, received);
      } else if (from == rank) {
        schedule.add_send(to, sent);
      } else if (to == rank) {
        schedule.add_receive(from, received);
      }
    }
  }
  schedule.build();
  const Statistics& statistics = schedule.statistics();
  Index mine[3] = {statistics.messages, statistics.bytes, statistics.local_bytes};
  Index all[3];
  MPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(all[0] == 4);
  EXPECT(all[1] == 6 * 8);
  EXPECT(all[2] == 4 * 8);
  if (rank < 2)
    source.assign(before[static_cast<std::size_t>(rank)].begin(),
                  before[static_cast<std::size_t>(rank)].end());
  const std::vector<double> original = source;
  schedule.execute(source.data(), destination.data());
  if (rank < 3) {
    const auto& wanted = after[static_cast<std::size_t>(rank)];
    for (std::size_t k = 0; k < wanted.size(); ++k)
      EXPECT(destination[k] == static_cast<double>(wanted[k]));
  }
  std::fill(source.begin(), source.end(), -5);
  schedule.execute_backward(source.data(), destination.data());
  EXPECT(source == original);
}

void order_of_unpacking() {
  // All ranks write one element of rank 0: with ordered unpacking the highest rank's stays; sums
  // are added in rank order.
  BlockSchedule schedule(MPI_COMM_WORLD, element_of<double>(), {.ordered = true});
  schedule.add_send(0, contiguous_patch(0, 1));
  if (rank == 0) {
    for (int peer = 0; peer < size; ++peer) schedule.add_receive(peer, contiguous_patch(0, 1));
  }
  schedule.build();
  const double source = rank == 0 ? 1e16 : 1.0 + rank;
  double destination = -1;
  schedule.execute(&source, &destination);
  EXPECT(destination == (rank == 0 ? (size == 1 ? 1e16 : size) : -1));
  destination = 0;
  schedule.execute(&source, &destination, Combine::kSum);
  volatile double expected = 1e16;
  for (int peer = 1; peer < size; ++peer) expected = expected + (1.0 + peer);
  EXPECT(destination == (rank == 0 ? expected : 0));
  destination = 0;
  const CombineFunction digits =
      combine_with<double>([](double there, double arrived) { return there * 10 + arrived; });
  const double digit = rank + 1;
  schedule.execute(&digit, &destination, digits);
  double number = 0;
  for (int peer = 0; peer < size; ++peer) number = number * 10 + peer + 1;
  EXPECT(destination == (rank == 0 ? number : 0));
}

void two_at_once() {
  // Started in another order on every second rank, with other buffers each time.
  std::vector<double> a(static_cast<std::size_t>(size)), b(a), to_a(a), to_b(a);
  BlockSchedule one(MPI_COMM_WORLD, element_of<double>());
  BlockSchedule other(MPI_COMM_WORLD, element_of<double>());
  for (int peer = 0; peer < size; ++peer) {
    for (BlockSchedule* schedule : {&one, &other}) {
      schedule->add_send(peer, contiguous_patch(peer, 1));
      schedule->add_receive(peer, contiguous_patch(peer, 1));
    }
  }
  one.build();
  other.build();
  for (int round = 0; round < 20; ++round) {
    std::vector<double> copy_a = to_a;
    std::vector<double>& target = round % 3 == 0 ? copy_a : to_a;
    for (int peer = 0; peer < size; ++peer) {
      a[static_cast<std::size_t>(peer)] = 100 * rank + peer + round;
      b[static_cast<std::size_t>(peer)] = -(100 * rank + peer + round);
    }
    if (rank % 2 == 0) {
      one.start(a.data(), target.data());
      other.start(b.data(), to_b.data());
    } else {
      other.start(b.data(), to_b.data());
      one.start(a.data(), target.data());
    }
    other.wait();
    one.wait();
    for (int peer = 0; peer < size; ++peer) {
      EXPECT(target[static_cast<std::size_t>(peer)] == 100 * peer + rank + round);
      EXPECT(to_b[static_cast<std::size_t>(peer)] == -(100 * peer + rank + round));
    }
  }
}

void errors() {
  BlockSchedule open(MPI_COMM_WORLD, element_of<double>());
  double cell = 0;
  EXPECT(
      checks::refused(ErrorKind::kArgument, [&] { open.add_send(size, contiguous_patch(0, 1)); }));
  EXPECT(checks::refused(ErrorKind::kArgument, [&] { open.execute(&cell, &cell); }));
  EXPECT(checks::refused(ErrorKind::kShape,
                         [&] { open.add_local(contiguous_patch(0, 1), contiguous_patch(1, 2)); }));
  open.build();
  EXPECT(checks::refused(ErrorKind::kArgument, [&] { open.add_send(0, contiguous_patch(0, 1)); }));
  EXPECT(checks::refused(ErrorKind::kArgument,
                         [] { BlockSchedule(MPI_COMM_NULL, element_of<double>()); }));
  EXPECT(checks::refused(ErrorKind::kArgument, [] {
    BlockSchedule(MPI_COMM_WORLD, element_of<double>(), {.chunk_bytes = 0});
  }));
  EXPECT(checks::refused(ErrorKind::kType, [&] { open.execute(&cell, &cell, Combine::kXor); }));

  // The last rank expects one element too many of rank 0: all ranks learn that.
  BlockSchedule wrong(MPI_COMM_WORLD, element_of<double>());
  if (rank == 0) wrong.add_send(size - 1, contiguous_patch(0, 3));
  if (rank == size - 1) wrong.add_receive(0, contiguous_patch(0, 4));
  bool same = false;
  try {
    wrong.build();
  } catch (const Error& error) {
    const std::string expected =
        "rank " + std::to_string(size - 1) + ": 4 elements are expected of rank 0, which sends 3: ";
    same = error.kind() == ErrorKind::kLayout &&
           std::strncmp(error.what(), expected.c_str(), expected.size()) == 0;
  }
  EXPECT(same);
}

void communicators() {
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &user);
  const Communicator first(user);
  const Communicator second(user);
  EXPECT(first.get() == second.get());
  EXPECT(first.rank() == size - 1 - rank);
  int compared = MPI_UNEQUAL;
  MPI_Comm_compare(user, first.get(), &compared);
  EXPECT(compared == MPI_CONGRUENT);
  // The number of systems is known by another key than their colours.
  // Without the library that number may be a key of anybody's.
  int* systems = nullptr;
  int found = 0;
  MPI_Comm_set_errhandler(user, MPI_ERRORS_RETURN);
  const bool joined = impishim_comm_world != nullptr &&
                      MPI_Comm_get_attr(user, IMPI_CLIENT_SIZE, &systems, &found) == MPI_SUCCESS &&
                      found != 0;
  EXPECT(first.systems().count() == (joined ? *systems : 1));
  for (int again = 0; again < 2; ++again) {
    // Even ranks and odd ranks, of that communicator.
    std::vector<int> members;
    for (int member = first.rank() % 2; member < size; member += 2) members.push_back(member);
    const Communicator group = first.group(members);
    EXPECT(group.size() == static_cast<int>(members.size()));
    EXPECT(members[static_cast<std::size_t>(group.rank())] == first.rank());
  }
  {
    BlockSchedule schedule(user, element_of<int>());
    schedule.add_send(size - 1 - first.rank(), contiguous_patch(0, 1));
    schedule.add_receive(size - 1 - first.rank(), contiguous_patch(0, 1));
    schedule.build();
    int got = -1;
    schedule.execute(&rank, &got);
    EXPECT(got == size - 1 - rank);
  }
  MPI_Comm_free(&user);

  Workspace large = first.workspace(100000);
  std::byte* const address = large.data();
  large = Workspace();
  large = first.workspace(99000);
  EXPECT(large.data() == address);
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("communicators", communicators);
  checks::part("random exchanges", random_exchanges);
  checks::part("exact statistics", exact_statistics);
  checks::part("long rows", long_rows);
  checks::part("chunks and bounds", chunks_and_bounds);
  checks::part("ten elements", ten_elements);
  checks::part("order of unpacking", order_of_unpacking);
  checks::part("two at once", two_at_once);
  checks::part("errors", errors);
  return checks::end();
}
