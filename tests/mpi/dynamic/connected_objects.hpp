// SPDX-License-Identifier: Apache-2.0
/// Windows, files and intercommunicators of two connected groups, which may be two jobs.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/mpi/dynamic/connected_groups.hpp"
#include "tests/support/check.hpp"

namespace impishim_test {

/// Each member puts its rank into its place at each other, and gets what another has got.
inline void put_and_get(MPI_Comm merged) {
  const int rank = rank_in(merged);
  const int size = size_of(merged);
  int* places = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  REQUIRE_EQUAL(MPI_Win_allocate(static_cast<MPI_Aint>(sizeof(int)) * size, sizeof(int),
                                 MPI_INFO_NULL, merged, &places, &window),
                MPI_SUCCESS);
  MPI_Win_fence(0, window);
  for (int peer = 0; peer < size; ++peer)
    REQUIRE_EQUAL(MPI_Put(&rank, 1, MPI_INT, peer, rank, 1, MPI_INT, window), MPI_SUCCESS);
  MPI_Win_fence(0, window);
  REQUIRE(std::vector<int>(places, places + size) == numbers(size, 0));
  std::vector<int> got(static_cast<std::size_t>(size));
  MPI_Get(got.data(), size, MPI_INT, (rank + 1) % size, 0, size, MPI_INT, window);
  MPI_Win_fence(0, window);
  REQUIRE(got == numbers(size, 0));
  REQUIRE_EQUAL(MPI_Win_free(&window), MPI_SUCCESS);
}

/// All members count at one of them, in passive target communication. Each value comes once.
inline void count_at(MPI_Comm merged, int target) {
  constexpr int kRounds = 50;
  const int size = size_of(merged);
  long* counter = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, merged, &counter, &window);
  *counter = 0;
  MPI_Barrier(merged);
  MPI_Win_lock_all(0, window);
  long sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    const long one = 1;
    long before = -1;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, window);
    MPI_Win_flush(target, window);
    sum += before;
  }
  MPI_Win_unlock_all(window);
  long all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, merged);
  const long last = static_cast<long>(kRounds) * size;
  REQUIRE_EQUAL(all, last * (last - 1) / 2);
  MPI_Win_free(&window);
}

/// Post, start, complete and wait of each member with its neighbours, and an exclusive lock.
inline void meet_neighbours(MPI_Comm merged) {
  const int rank = rank_in(merged);
  const int size = size_of(merged);
  int value = -1;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, merged, &window);
  const int next = (rank + 1) % size;
  const int last = (rank + size - 1) % size;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group origin = MPI_GROUP_NULL;
  MPI_Group target = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &all);
  MPI_Group_incl(all, 1, &last, &origin);
  MPI_Group_incl(all, 1, &next, &target);
  MPI_Win_post(origin, 0, window);
  MPI_Win_start(target, 0, window);
  MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  REQUIRE_EQUAL(value, last);
  for (MPI_Group* each : {&all, &origin, &target}) MPI_Group_free(each);
  MPI_Barrier(merged);
  int got = -1;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window);
  MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, window);
  MPI_Win_unlock(next, window);
  REQUIRE_EQUAL(got, rank);
  MPI_Win_free(&window);
}

/// Returns the name of a file that does not exist, the same on all members.
inline std::string name_of_file(MPI_Comm merged) {
  std::array<char, 64> name{};
  if (rank_in(merged) == 0)
    std::snprintf(name.data(), name.size(), "/tmp/impishim-connected-%d",
                  static_cast<int>(getpid()));
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, merged);
  return name.data();
}

/// All members write one file, and each reads what another has written. With `sharing` "never" the
/// data of other systems is shipped.
inline void write_file(MPI_Comm merged, const std::string& name, const char* sharing) {
  const int rank = rank_in(merged);
  const int size = size_of(merged);
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "impishim_file_sharing", sharing);
  MPI_File file = MPI_FILE_NULL;
  REQUIRE_EQUAL(
      MPI_File_open(merged, name.c_str(),
                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints, &file),
      MPI_SUCCESS);
  MPI_Info_free(&hints);
  constexpr int kCount = 1000;
  constexpr MPI_Offset kBytes = kCount * static_cast<MPI_Offset>(sizeof(int));
  const std::vector<int> mine = numbers(kCount, kCount * rank);
  REQUIRE_EQUAL(
      MPI_File_write_at_all(file, rank * kBytes, mine.data(), kCount, MPI_INT, MPI_STATUS_IGNORE),
      MPI_SUCCESS);
  MPI_File_sync(file);
  MPI_Barrier(merged);
  const int next = (rank + 1) % size;
  std::vector<int> read(kCount);
  MPI_File_read_at(file, next * kBytes, read.data(), kCount, MPI_INT, MPI_STATUS_IGNORE);
  REQUIRE(read == numbers(kCount, kCount * next));
  MPI_Offset bytes = 0;
  MPI_File_get_size(file, &bytes);
  REQUIRE_EQUAL(bytes, size * kBytes);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_ordered(file, read.data(), kCount, MPI_INT, MPI_STATUS_IGNORE);
  REQUIRE(read == mine);
  REQUIRE_EQUAL(MPI_File_close(&file), MPI_SUCCESS);
}

/// Makes an intercommunicator of the members with even and those with odd ranks.
inline void introduce_groups(MPI_Comm merged) {
  const int rank = rank_in(merged);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(merged, rank % 2, rank, &part);
  MPI_Comm inter = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Intercomm_create(part, 0, merged, 1 - rank % 2, 11, &inter), MPI_SUCCESS);
  exchange_messages(inter);
  call_collectives(inter, rank % 2 == 0);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&part);
}

#if MPI_VERSION >= 4
constexpr int kMakesFromGroups = 1;

/// Makes a communicator of all members and an intercommunicator of even and odd ranks, both from
/// groups alone.
inline void make_from_groups(MPI_Comm merged) {
  const int size = size_of(merged);
  const int rank = rank_in(merged);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(merged, &all);
  MPI_Comm made = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made),
                MPI_SUCCESS);
  REQUIRE_EQUAL(rank_in(made), rank);
  put_and_get(made);
  MPI_Comm_free(&made);
  MPI_Group halves[2] = {MPI_GROUP_NULL, MPI_GROUP_NULL};
  for (int first : {0, 1}) {
    int range[1][3] = {{first, size - 1, 2}};
    MPI_Group_range_incl(all, 1, range, &halves[first]);
  }
  REQUIRE_EQUAL(
      MPI_Intercomm_create_from_groups(halves[rank % 2], 0, halves[1 - rank % 2], 0, "halves",
                                       MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made),
      MPI_SUCCESS);
  exchange_messages(made);
  call_collectives(made, rank % 2 == 0);
  MPI_Comm_free(&made);
  for (MPI_Group* each : {&all, &halves[0], &halves[1]}) MPI_Group_free(each);
}
#else
constexpr int kMakesFromGroups = 0;
inline void make_from_groups(MPI_Comm /*merged*/) {}
#endif

/// Returns true if the MPI libraries of all members have MPI_Comm_create_from_group.
inline bool all_make_from_groups(MPI_Comm merged) {
  int all = 0;
  MPI_Allreduce(&kMakesFromGroups, &all, 1, MPI_INT, MPI_MIN, merged);
  return all != 0;
}

/// Does all of it. `first` is true in one of the two groups.
inline void use_objects(MPI_Comm inter, bool first) {
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, first ? 0 : 1, &merged);
  put_and_get(merged);
  for (const int target : {0, size_of(merged) - 1}) count_at(merged, target);
  meet_neighbours(merged);
  const std::string name = name_of_file(merged);
  for (const char* sharing : {"allowed", "never"}) write_file(merged, name, sharing);
  introduce_groups(merged);
  if (all_make_from_groups(merged)) make_from_groups(merged);
  MPI_Comm_free(&merged);
}

}  // namespace impishim_test
