// SPDX-License-Identifier: Apache-2.0
// Shared file pointers and ordered access, MPI_MODE_APPEND, MPI_MODE_SEQUENTIAL.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::Road;
using impishim_test::SharedFile;
using impishim_test::size_of;
using impishim_test::transferred;

constexpr int kRecords = 40;  ///< that each rank writes
constexpr int kLength = 5;    ///< ints of a record

/// Returns a record that tells who has written it.
std::vector<int> record_of(int rank, int number) {
  std::vector<int> record(kLength, 1000 * rank + number);
  record.back() = -record.front();
  return record;
}

/// All ranks write records in any order: each is there once, and whole.
void check_shared(SharedFile& file) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < kRecords; ++i) {
    const std::vector<int> record = record_of(me, i);
    MPI_Status status;
    if (i % 2 == 0) {
      MPI_File_write_shared(file.get(), record.data(), kLength, MPI_INT, &status);
    } else {
      MPI_Request request;
      MPI_File_iwrite_shared(file.get(), record.data(), kLength, MPI_INT, &request);
      MPI_Wait(&request, &status);
    }
    REQUIRE_EQUAL(transferred(status, MPI_INT), kLength);
  }
  file.settle();
  MPI_Offset position = 0;
  MPI_File_get_position_shared(file.get(), &position);
  REQUIRE_EQUAL(position, size * kRecords * kLength);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file.get(), 0, MPI_SEEK_SET);
  // The ranks share the records among them, in any order.
  std::vector<int> seen(static_cast<std::size_t>(size * kRecords), 0);
  for (int i = 0; i < kRecords; ++i) {
    std::vector<int> record(kLength, 0);
    MPI_Status status;
    if (i % 2 == 0) {
      MPI_File_read_shared(file.get(), record.data(), kLength, MPI_INT, &status);
    } else {
      MPI_Request request;
      MPI_File_iread_shared(file.get(), record.data(), kLength, MPI_INT, &request);
      MPI_Wait(&request, &status);
    }
    REQUIRE_EQUAL(transferred(status, MPI_INT), kLength);
    const int writer = record.front() / 1000;
    const int number = record.front() % 1000;
    REQUIRE(record == record_of(writer, number));
    ++seen[static_cast<std::size_t>(writer * kRecords + number)];
  }
  MPI_Allreduce(MPI_IN_PLACE, seen.data(), size * kRecords, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE_EQUAL(std::ranges::count(seen, 1), size * kRecords);
}

/// Ordered accesses stand in the order of ranks, whatever their lengths.
void check_ordered(SharedFile& file) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_File_seek_shared(file.get(), 0, MPI_SEEK_SET);
  const std::vector<int> mine(static_cast<std::size_t>(me) + 1, me);
  MPI_Status status;
  MPI_File_write_ordered(file.get(), mine.data(), me + 1, MPI_INT, &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), me + 1);
  MPI_File_write_ordered_begin(file.get(), mine.data(), me, MPI_INT);
  MPI_File_write_ordered_end(file.get(), mine.data(), &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), me);
  file.settle();
  MPI_File_seek_shared(file.get(), 0, MPI_SEEK_SET);
  std::vector<int> back(static_cast<std::size_t>(me) + 1, -1);
  MPI_File_read_ordered(file.get(), back.data(), me + 1, MPI_INT, &status);
  REQUIRE(back == mine);
  back.assign(back.size(), -1);
  MPI_File_read_ordered_begin(file.get(), back.data(), me, MPI_INT);
  MPI_File_read_ordered_end(file.get(), back.data(), &status);
  REQUIRE_EQUAL(std::ranges::count(back, me), me);
  MPI_Offset position = 0;
  MPI_File_get_position_shared(file.get(), &position);
  REQUIRE_EQUAL(position, size * (size + 1) / 2 + size * (size - 1) / 2);
}

/// A view has a shared pointer of its own, from its beginning.
void check_view(SharedFile& file) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_File_set_view(file.get(), 4 * static_cast<int>(sizeof(int)), MPI_INT, MPI_INT, "native",
                    MPI_INFO_NULL);
  MPI_File_write_ordered(file.get(), &me, 1, MPI_INT, MPI_STATUS_IGNORE);
  file.settle();
  std::vector<int> all(static_cast<std::size_t>(size), -1);
  MPI_File_read_at(file.get(), 0, all.data(), size, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) REQUIRE_EQUAL(all[static_cast<std::size_t>(i)], i);
}

/// What is appended stands behind what was there.
void check_append(const std::string& name, Road road) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  SharedFile file(name, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE, road);
  MPI_Offset before = 0;
  MPI_File_get_size(file.get(), &before);
  MPI_Offset position = -1;
  MPI_File_get_position(file.get(), &position);
  REQUIRE_EQUAL(position, before);
  MPI_Barrier(MPI_COMM_WORLD);
  const char letter = static_cast<char>('a' + me);
  MPI_File_write_ordered(file.get(), &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE);
  file.settle();
  std::vector<char> end(static_cast<std::size_t>(size), '?');
  MPI_File_read_at(file.get(), before, end.data(), size, MPI_CHAR, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; ++i) REQUIRE_EQUAL(end[static_cast<std::size_t>(i)], 'a' + i);
  int mode = 0;
  MPI_File_get_amode(file.get(), &mode);
  REQUIRE_EQUAL(mode, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Group group;
  MPI_Group world;
  MPI_File_get_group(file.get(), &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int result = MPI_UNEQUAL;
  MPI_Group_compare(group, world, &result);
  REQUIRE_EQUAL(result, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/// A sequential file is written once, by the shared pointer.
void check_sequential(const std::string& name, Road road) {
  const int me = rank_in(MPI_COMM_WORLD);
  SharedFile file(
      name, MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE,
      road);
  MPI_File_write_ordered(file.get(), &me, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_shared(file.get(), &me, 1, MPI_INT, MPI_STATUS_IGNORE);
  file.settle();
  MPI_Offset size = 0;
  MPI_File_get_size(file.get(), &size);
  REQUIRE_EQUAL(size, 2 * size_of(MPI_COMM_WORLD) * static_cast<int>(sizeof(int)));
}

void check_road(Road road) {
  const std::string name = impishim_test::common_name("shared");
  {
    SharedFile file(name, MPI_MODE_CREATE | MPI_MODE_RDWR, road);
    MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    check_shared(file);
    check_ordered(file);
    check_view(file);
  }
  check_append(name, road);
  check_sequential(name, road);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_road(Road::kBySight);
  check_road(Road::kByShipping);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("shared file pointers of %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
