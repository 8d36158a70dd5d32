// SPDX-License-Identifier: Apache-2.0
// Locks, flushes and requests: all ranks access all ranks, the targets do not take part.
#include <mpi.h>

#include <cstdio>
#include <numeric>
#include <vector>

#include "tests/mpi/one_sided/window.hpp"
#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::IntWindow;
using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr int kLong = 100000;

/// Every rank adds to a counter that it reads and writes under an exclusive lock.
void check_exclusive_locks() {
  constexpr int kRounds = 20;
  const int size = size_of(kWorld);
  IntWindow window(1, kWorld);
  window[0] = 0;
  MPI_Barrier(kWorld);
  for (int round = 0; round < kRounds; ++round) {
    const int target = round % size;
    int value = -1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.window());
    MPI_Get(&value, 1, MPI_INT, target, 0, 1, MPI_INT, window.window());
    MPI_Win_flush(target, window.window());
    ++value;
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, window.window());
    MPI_Win_unlock(target, window.window());
  }
  MPI_Barrier(kWorld);
  MPI_Win_lock(MPI_LOCK_SHARED, rank_in(kWorld), 0, window.window());
  const int mine = (kRounds + size - 1 - rank_in(kWorld)) / size;
  REQUIRE_EQUAL(window[0], mine * size);
  MPI_Win_unlock(rank_in(kWorld), window.window());
  MPI_Barrier(kWorld);
}

/// MPICH 4.0.2 by itself returns from the two functions that flush all targets while long puts are
/// on their way. So they are called in joined jobs only.
bool may_flush_all(int count) { return count < kLong || impishim_test::in_joined_job(); }

void flush_all(MPI_Win window, int count) {
  if (may_flush_all(count)) {
    MPI_Win_flush_all(window);
    return;
  }
  for (int to = 0; to < size_of(kWorld); ++to) MPI_Win_flush(to, window);
}

/// Puts in one round, and reads back in the next: flushes in all four forms.
void check_flushes() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  IntWindow window(kLong * size, kWorld);
  MPI_Win_lock_all(0, window.window());
  std::vector<int> data(kLong);
  for (const int count : {1, kLong}) {
    for (int to = 0; to < size; ++to) {
      std::iota(data.begin(), data.end(), 10 * rank + to);
      MPI_Put(data.data(), count, MPI_INT, to, rank * kLong, count, MPI_INT, window.window());
      // The data is free to change.
      if (to % 2 == 0 || !may_flush_all(count)) {
        MPI_Win_flush_local(to, window.window());
      } else {
        MPI_Win_flush_local_all(window.window());
      }
    }
    flush_all(window.window(), count);
    MPI_Barrier(kWorld);
    for (int to = 0; to < size; ++to) {
      data.assign(data.size(), -1);
      MPI_Get(data.data(), count, MPI_INT, to, rank * kLong, count, MPI_INT, window.window());
      MPI_Win_flush(to, window.window());
      for (int i = 0; i < count; ++i)
        REQUIRE_EQUAL(data[static_cast<std::size_t>(i)], 10 * rank + to + i);
    }
    MPI_Win_sync(window.window());
    REQUIRE_EQUAL(window[0], rank);
    MPI_Barrier(kWorld);
  }
  MPI_Win_unlock_all(window.window());
}

/// Fetched values are all different, and compare-and-swap makes a lock.
void check_atomics() {
  constexpr int kRounds = 50;
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  IntWindow window(3, kWorld);
  for (int i = 0; i < 3; ++i) window[i] = 0;
  MPI_Barrier(kWorld);
  MPI_Win_lock_all(0, window.window());
  const int one = 1;
  std::vector<int> fetched(kRounds);
  for (int& value : fetched) {
    MPI_Fetch_and_op(&one, &value, MPI_INT, 0, 0, MPI_SUM, window.window());
    MPI_Win_flush(0, window.window());
  }
  for (std::size_t i = 1; i < fetched.size(); ++i) REQUIRE(fetched[i] > fetched[i - 1]);
  // A lock of a program's own, around a counter that is read and put.
  for (int round = 0; round < 5; ++round) {
    const int free = 0;
    const int taken = rank + 1;
    int before = -1;
    while (before != free) {
      MPI_Compare_and_swap(&taken, &free, &before, MPI_INT, size - 1, 1, window.window());
      MPI_Win_flush(size - 1, window.window());
    }
    int value = 0;
    MPI_Fetch_and_op(nullptr, &value, MPI_INT, size - 1, 2, MPI_NO_OP, window.window());
    MPI_Win_flush(size - 1, window.window());
    ++value;
    MPI_Accumulate(&value, 1, MPI_INT, size - 1, 2, 1, MPI_INT, MPI_REPLACE, window.window());
    MPI_Win_flush(size - 1, window.window());
    MPI_Fetch_and_op(&free, &before, MPI_INT, size - 1, 1, MPI_REPLACE, window.window());
    MPI_Win_flush(size - 1, window.window());
    REQUIRE_EQUAL(before, taken);
  }
  MPI_Barrier(kWorld);
  MPI_Win_sync(window.window());
  if (rank == 0) REQUIRE_EQUAL(window[0], kRounds * size);
  if (rank == size - 1) REQUIRE_EQUAL(window[2], 5 * size);
  MPI_Win_unlock_all(window.window());
}

void check_get_accumulate() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  IntWindow window(kLong * size, kWorld);
  window.fill(3);
  MPI_Barrier(kWorld);
  const std::vector<int> twos(kLong, 2);
  for (int to = 0; to < size; ++to) {
    for (const int count : {1, kLong}) {
      std::vector<int> before(kLong, -1);
      MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window.window());
      MPI_Get_accumulate(twos.data(), count, MPI_INT, before.data(), count, MPI_INT, to,
                         rank * kLong, count, MPI_INT, MPI_PROD, window.window());
      MPI_Win_unlock(to, window.window());
      REQUIRE_EQUAL(before[0], count == 1 ? 3 : 6);
      REQUIRE_EQUAL(before[kLong - 1], count == 1 ? -1 : 3);
    }
  }
  MPI_Barrier(kWorld);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window.window());
  for (int from = 0; from < size; ++from) {
    REQUIRE_EQUAL(window[from * kLong], 12);
    REQUIRE_EQUAL(window[from * kLong + kLong - 1], 6);
  }
  MPI_Win_unlock(rank, window.window());
  MPI_Barrier(kWorld);
}

/// Checks MPI_Rput, MPI_Rget, MPI_Raccumulate and MPI_Rget_accumulate, completed by wait and test
/// functions.
void check_requests() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  IntWindow window(kLong * size, kWorld);
  window.fill(1);
  MPI_Barrier(kWorld);
  MPI_Win_lock_all(0, window.window());
  for (const int count : {1, kLong}) {
    for (int to = 0; to < size; ++to) {
      std::vector<int> data(static_cast<std::size_t>(count), rank + 10);
      std::vector<int> read(static_cast<std::size_t>(count), -1);
      const int at = rank * kLong;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rput(data.data(), count, MPI_INT, to, at, count, MPI_INT, window.window(), &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      REQUIRE(request == MPI_REQUEST_NULL);
      data.assign(data.size(), 5);
      MPI_Win_flush(to, window.window());
      MPI_Raccumulate(data.data(), count, MPI_INT, to, at, count, MPI_INT, MPI_SUM, window.window(),
                      &request);
      MPI_Status status;
      MPI_Wait(&request, &status);
      MPI_Win_flush(to, window.window());
      MPI_Rget(read.data(), count, MPI_INT, to, at, count, MPI_INT, window.window(), &request);
      for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      REQUIRE_EQUAL(read[static_cast<std::size_t>(count - 1)], rank + 15);
      MPI_Rget_accumulate(data.data(), count, MPI_INT, read.data(), count, MPI_INT, to, at, count,
                          MPI_INT, MPI_REPLACE, window.window(), &request);
      MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
      REQUIRE_EQUAL(read[0], rank + 15);
      MPI_Rput(data.data(), 0, MPI_INT, MPI_PROC_NULL, 0, 0, MPI_INT, window.window(), &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  MPI_Win_unlock_all(window.window());
  MPI_Barrier(kWorld);
  for (int from = 0; from < size; ++from) {
    REQUIRE_EQUAL(window[from * kLong], 5);
    REQUIRE_EQUAL(window[from * kLong + kLong - 1], 5);
  }
}

/// Locks of several targets at once, and assertions that spare them.
void check_lock_forms() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  IntWindow window(size, kWorld);
  MPI_Barrier(kWorld);
  for (int to = 0; to < size; ++to) MPI_Win_lock(MPI_LOCK_SHARED, to, 0, window.window());
  for (int to = 0; to < size; ++to)
    MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, window.window());
  for (int to = size - 1; to >= 0; --to) MPI_Win_unlock(to, window.window());
  MPI_Barrier(kWorld);
  for (int from = 0; from < size; ++from) REQUIRE_EQUAL(window[from], from);
  MPI_Barrier(kWorld);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window.window());
  const int value = 50 + rank;
  for (int to = 0; to < size; ++to)
    MPI_Accumulate(&value, 1, MPI_INT, to, rank, 1, MPI_INT, MPI_REPLACE, window.window());
  MPI_Win_unlock_all(window.window());
  MPI_Barrier(kWorld);
  for (int from = 0; from < size; ++from) REQUIRE_EQUAL(window[from], 50 + from);
  // A lock without any access.
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, window.window());
  MPI_Win_unlock((rank + 1) % size, window.window());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_exclusive_locks();
  check_flushes();
  check_atomics();
  check_get_accumulate();
  check_requests();
  check_lock_forms();
  if (rank_in(kWorld) == 0) std::printf("passive target on %d ranks: right\n", size_of(kWorld));
  MPI_Finalize();
  return 0;
}
