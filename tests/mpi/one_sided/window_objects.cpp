// SPDX-License-Identifier: Apache-2.0
// Windows as objects: the ways to make one, their attributes, names, groups, hints and error
// handlers, and their end.
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// Puts this rank's number to all, and checks what has come.
void check_access(MPI_Win window, int* memory) {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Win_fence(0, window);
  for (int to = 0; to < size; ++to) MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int from = 0; from < size; ++from) REQUIRE_EQUAL(memory[from], from);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

template <class Value>
Value attribute(MPI_Win window, int key) {
  void* value = nullptr;
  int found = 0;
  MPI_Win_get_attr(window, key, &value, &found);
  REQUIRE(found != 0);
  return *static_cast<Value*>(value);
}

void check_attributes(MPI_Win window, const void* base, MPI_Aint size, int unit, int flavor) {
  void* where = nullptr;
  int found = 0;
  MPI_Win_get_attr(window, MPI_WIN_BASE, &where, &found);
  REQUIRE(found != 0 && where == base);
  REQUIRE_EQUAL(attribute<MPI_Aint>(window, MPI_WIN_SIZE), size);
  REQUIRE_EQUAL(attribute<int>(window, MPI_WIN_DISP_UNIT), unit);
  REQUIRE_EQUAL(attribute<int>(window, MPI_WIN_CREATE_FLAVOR), flavor);
}

void check_allocate() {
  int* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const MPI_Aint size = static_cast<MPI_Aint>(sizeof(int)) * size_of(kWorld);
  MPI_Win_allocate(size, sizeof(int), MPI_INFO_NULL, kWorld, &memory, &window);
  check_attributes(window, memory, size, sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
  check_access(window, memory);
  MPI_Win_free(&window);
  REQUIRE(window == MPI_WIN_NULL);
}

/// Each rank has a unit of its own; displacements are in the target's.
void check_units() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  std::vector<int> memory(static_cast<std::size_t>(4 * size), -1);
  const int unit = static_cast<int>(sizeof(int)) << (rank % 2);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(sizeof(int) * memory.size()), unit,
                 MPI_INFO_NULL, kWorld, &window);
  check_attributes(window, memory.data(), static_cast<MPI_Aint>(sizeof(int) * memory.size()), unit,
                   MPI_WIN_FLAVOR_CREATE);
  MPI_Win_fence(0, window);
  for (int to = 0; to < size; ++to) MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  for (int from = 0; from < size; ++from)
    REQUIRE_EQUAL(memory[static_cast<std::size_t>(from << (rank % 2))], from);
  MPI_Win_free(&window);
}

/// A window of a communicator whose ranks are in another order, without one process.
void check_groups() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(kWorld, rank == 1 ? MPI_UNDEFINED : 0, size - rank, &backwards);
  if (backwards == MPI_COMM_NULL) return;
  const int place = rank_in(backwards);
  const int members = size_of(backwards);
  std::vector<int> memory(static_cast<std::size_t>(members), -1);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(sizeof(int)) * members, sizeof(int),
                 MPI_INFO_NULL, backwards, &window);
  MPI_Group of_window = MPI_GROUP_NULL;
  MPI_Group of_comm = MPI_GROUP_NULL;
  MPI_Win_get_group(window, &of_window);
  MPI_Comm_group(backwards, &of_comm);
  int result = MPI_UNEQUAL;
  MPI_Group_compare(of_window, of_comm, &result);
  REQUIRE_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&of_window);
  MPI_Group_free(&of_comm);
  // The window does not need the communicator.
  MPI_Comm_free(&backwards);
  MPI_Win_lock_all(0, window);
  for (int to = 0; to < members; ++to)
    MPI_Accumulate(&place, 1, MPI_INT, to, place, 1, MPI_INT, MPI_REPLACE, window);
  MPI_Win_unlock_all(window);
  MPI_Win_fence(0, window);
  for (int from = 0; from < members; ++from)
    REQUIRE_EQUAL(memory[static_cast<std::size_t>(from)], from);
  MPI_Win_free(&window);
}

void check_dynamic() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, kWorld, &window);
  REQUIRE_EQUAL(attribute<int>(window, MPI_WIN_CREATE_FLAVOR), MPI_WIN_FLAVOR_DYNAMIC);
  std::vector<int> first(static_cast<std::size_t>(size), -1);
  std::vector<int> second(static_cast<std::size_t>(size), 100);
  MPI_Win_attach(window, first.data(), static_cast<MPI_Aint>(sizeof(int)) * size);
  MPI_Win_attach(window, second.data(), static_cast<MPI_Aint>(sizeof(int)) * size);
  std::array<MPI_Aint, 2> mine{};
  MPI_Get_address(first.data(), &mine[0]);
  MPI_Get_address(second.data(), &mine[1]);
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(2 * size));
  MPI_Allgather(mine.data(), 2, MPI_AINT, addresses.data(), 2, MPI_AINT, kWorld);
  MPI_Win_lock_all(0, window);
  for (int to = 0; to < size; ++to) {
    const auto* at = addresses.data() + std::ptrdiff_t{2} * to;
    const auto offset = static_cast<MPI_Aint>(sizeof(int)) * rank;
    MPI_Put(&rank, 1, MPI_INT, to, MPI_Aint_add(at[0], offset), 1, MPI_INT, window);
    MPI_Accumulate(&rank, 1, MPI_INT, to, MPI_Aint_add(at[1], offset), 1, MPI_INT, MPI_SUM, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(kWorld);
  MPI_Win_detach(window, first.data());
  MPI_Win_detach(window, second.data());
  for (int from = 0; from < size; ++from) {
    REQUIRE_EQUAL(first[static_cast<std::size_t>(from)], from);
    REQUIRE_EQUAL(second[static_cast<std::size_t>(from)], 100 + from);
  }
  MPI_Win_free(&window);
}

int deleted = 0;
int delete_value(MPI_Win /*window*/, int /*key*/, void* value, void* state) {
  REQUIRE(value == &deleted && state == nullptr);
  ++deleted;
  return MPI_SUCCESS;
}

int handled = 0;
void handle(MPI_Win* /*window*/, int* /*code*/, ...) { ++handled; }

void check_properties() {
  int value = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, kWorld, &window);
  MPI_Win_set_name(window, "values");
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  MPI_Win_get_name(window, name.data(), &length);
  REQUIRE(std::strcmp(name.data(), "values") == 0);
  int key = MPI_KEYVAL_INVALID;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_value, &key, nullptr);
  MPI_Win_set_attr(window, key, &deleted);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(handle, &handler);
  MPI_Win_set_errhandler(window, handler);
  MPI_Errhandler_free(&handler);
  const int code = MPI_Put(&value, -1, MPI_INT, size_of(kWorld) - 1, 0, 1, MPI_INT, window);
  REQUIRE(code != MPI_SUCCESS);
  REQUIRE_EQUAL(handled, 1);
  MPI_Win_free(&window);
  REQUIRE_EQUAL(deleted, 1);
  MPI_Win_free_keyval(&key);
}

/// The hint that no lock is used must not change what works without locks.
void check_hints() {
  std::vector<int> memory(static_cast<std::size_t>(size_of(kWorld)), -1);
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "no_locks", "true");
  MPI_Info_set(hints, "same_disp_unit", "true");
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), static_cast<MPI_Aint>(sizeof(int)) * size_of(kWorld), sizeof(int),
                 hints, kWorld, &window);
  check_access(window, memory.data());
  MPI_Win_set_info(window, hints);
  memory.assign(memory.size(), -1);
  check_access(window, memory.data());
  MPI_Info in_use = MPI_INFO_NULL;
  MPI_Win_get_info(window, &in_use);
  REQUIRE(in_use != MPI_INFO_NULL);
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int known = 0;
  MPI_Info_get(in_use, "no_locks", MPI_MAX_INFO_VAL, value.data(), &known);
  if (known != 0) REQUIRE(std::strcmp(value.data(), "true") == 0);
  MPI_Info_free(&in_use);
  MPI_Info_free(&hints);
  MPI_Win_free(&window);
}

/// Many windows at once, and one after another.
void check_many() {
  std::array<MPI_Win, 20> windows{};
  std::vector<int> memory(20 * static_cast<std::size_t>(size_of(kWorld)));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    MPI_Win_create(&memory[i * static_cast<std::size_t>(size_of(kWorld))],
                   static_cast<MPI_Aint>(sizeof(int)) * size_of(kWorld), sizeof(int), MPI_INFO_NULL,
                   kWorld, &windows[i]);
  }
  for (std::size_t i = 0; i < windows.size(); ++i)
    check_access(windows[i], &memory[i * static_cast<std::size_t>(size_of(kWorld))]);
  for (MPI_Win& window : windows) MPI_Win_free(&window);
  for (int round = 0; round < 50; ++round) {
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(memory.data(), static_cast<MPI_Aint>(sizeof(int)) * size_of(kWorld), sizeof(int),
                   MPI_INFO_NULL, kWorld, &window);
    MPI_Win_free(&window);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_allocate();
  check_units();
  check_groups();
  check_dynamic();
  check_properties();
  check_hints();
  check_many();
  if (rank_in(kWorld) == 0) std::printf("windows of %d ranks: right\n", size_of(kWorld));
  MPI_Finalize();
  return 0;
}
