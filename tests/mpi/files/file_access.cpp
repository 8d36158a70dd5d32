// SPDX-License-Identifier: Apache-2.0
// Data access of files by explicit offsets and individual pointers: blocking, nonblocking,
// collective and split, with views and derived datatypes.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::Road;
using impishim_test::SharedFile;
using impishim_test::size_of;
using impishim_test::transferred;

/// Each int is a piece of its own, which costs a system call where no vendor may gather.
constexpr int kMostPieces = 20000;
constexpr int kCreate = MPI_MODE_CREATE | MPI_MODE_RDWR;

/// Returns the int at a place of a file that the tests write.
int value_at(int place) { return 7 * place + 3; }

std::vector<int> values(int first, int count) {
  std::vector<int> made;
  for (int i = 0; i < count; ++i) made.push_back(value_at(first + i));
  return made;
}

/// Checks the whole file, read by every rank.
void check_content(SharedFile& file, int ints) {
  file.settle();
  MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_Offset size = 0;
  MPI_File_get_size(file.get(), &size);
  REQUIRE_EQUAL(size, ints * static_cast<int>(sizeof(int)));
  // One more than there is.
  std::vector<int> read(static_cast<std::size_t>(ints) + 1, -1);
  MPI_Status status;
  MPI_File_read_at(file.get(), 0, read.data(), ints + 1, MPI_INT, &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), ints);
  for (int i = 0; i < ints; ++i) REQUIRE_EQUAL(read[static_cast<std::size_t>(i)], value_at(i));
  REQUIRE_EQUAL(read.back(), -1);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Every rank writes a block of ints of its own.
void check_blocks(SharedFile& file, int count) {
  const int me = rank_in(MPI_COMM_WORLD);
  const std::vector<int> mine = values(me * count, count);
  MPI_Status status;
  MPI_File_write_at(file.get(), static_cast<MPI_Offset>(me) * count * 4, mine.data(), count,
                    MPI_INT, &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), count);
  check_content(file, count * size_of(MPI_COMM_WORLD));
}

/// The ranks' ints interleave in the file, and every second int of memory is written.
void check_interleaved(SharedFile& file, int count) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_Datatype every;
  MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(sizeof(int)) * size, &every);
  MPI_Type_commit(&every);
  MPI_Datatype second;
  MPI_Type_create_resized(MPI_INT, 0, 2 * static_cast<MPI_Aint>(sizeof(int)), &second);
  MPI_Type_commit(&second);
  std::vector<int> memory(static_cast<std::size_t>(2 * count), -5);
  for (int i = 0; i < count; ++i) memory[static_cast<std::size_t>(2 * i)] = value_at(i * size + me);
  MPI_File_set_size(file.get(), 0);
  MPI_File_set_view(file.get(), static_cast<MPI_Offset>(sizeof(int)) * me, MPI_INT, every, "native",
                    MPI_INFO_NULL);
  MPI_Status status;
  MPI_File_write_all(file.get(), memory.data(), count, second, &status);
  REQUIRE_EQUAL(transferred(status, second), count);
  MPI_Offset position = -1;
  MPI_File_get_position(file.get(), &position);
  REQUIRE_EQUAL(position, count);
  MPI_Offset byte = 0;
  MPI_File_get_byte_offset(file.get(), 2, &byte);
  REQUIRE_EQUAL(byte, (2 * size + me) * static_cast<int>(sizeof(int)));
  file.settle();
  // Back through the same view, from the second int on, in the other way.
  MPI_File_seek(file.get(), 1 - position, MPI_SEEK_CUR);
  std::vector<int> back(static_cast<std::size_t>(count), -1);
  MPI_File_read_all(file.get(), back.data(), count - 1, MPI_INT, &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), count - 1);
  for (int i = 0; i + 1 < count; ++i)
    REQUIRE_EQUAL(back[static_cast<std::size_t>(i)], value_at((i + 1) * size + me));
  MPI_Type_free(&every);
  MPI_Type_free(&second);
  check_content(file, count * size);
}

/// Nonblocking accesses, several at a time.
void check_nonblocking(SharedFile& file, int count) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  const std::vector<int> mine = values(me * count, count);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const int half = count / 2;
  MPI_File_seek(file.get(), static_cast<MPI_Offset>(me) * count, MPI_SEEK_SET);
  MPI_File_iwrite(file.get(), mine.data(), half, MPI_INT, &requests[0]);
  MPI_File_iwrite_at(file.get(), static_cast<MPI_Offset>(me) * count + half, mine.data() + half,
                     count - half, MPI_INT, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  REQUIRE_EQUAL(transferred(statuses[0], MPI_INT), half);
  REQUIRE_EQUAL(transferred(statuses[1], MPI_INT), count - half);
  file.settle();
  const int next = (me + 1) % size;
  std::vector<int> theirs(static_cast<std::size_t>(count), -1);
  MPI_File_iread_at(file.get(), static_cast<MPI_Offset>(next) * count, theirs.data(), half, MPI_INT,
                    &requests[0]);
  MPI_File_seek(file.get(), static_cast<MPI_Offset>(next) * count + half, MPI_SEEK_SET);
  MPI_File_iread(file.get(), theirs.data() + half, count - half, MPI_INT, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  REQUIRE_EQUAL(transferred(statuses[1], MPI_INT), count - half);
  REQUIRE(theirs == values(next * count, count));
  check_content(file, count * size);
}

/// Split and nonblocking collective accesses.
void check_collective_forms(SharedFile& file, int count) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  const std::vector<int> mine = values(me * count, count);
  MPI_Status status;
  MPI_File_write_at_all_begin(file.get(), static_cast<MPI_Offset>(me) * count, mine.data(), count,
                              MPI_INT);
  MPI_File_write_at_all_end(file.get(), mine.data(), &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), count);
  file.settle();
  const int next = (me + 1) % size;
  std::vector<int> theirs(static_cast<std::size_t>(count), -1);
  MPI_File_seek(file.get(), static_cast<MPI_Offset>(next) * count, MPI_SEEK_SET);
  MPI_File_read_all_begin(file.get(), theirs.data(), count, MPI_INT);
  MPI_File_read_all_end(file.get(), theirs.data(), &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), count);
  REQUIRE(theirs == values(next * count, count));
  theirs.assign(theirs.size(), -1);
  MPI_Request request;
  MPI_File_iread_at_all(file.get(), static_cast<MPI_Offset>(next) * count, theirs.data(), count,
                        MPI_INT, &request);
  MPI_Wait(&request, &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), count);
  REQUIRE(theirs == values(next * count, count));
  check_content(file, count * size);
}

/// A rank without data takes part, and pointers go to the end of the file and beyond.
void check_ends(SharedFile& file, int count) {
  const int me = rank_in(MPI_COMM_WORLD);
  MPI_File_set_size(file.get(), static_cast<MPI_Offset>(count) * 4);
  const std::vector<int> all = values(0, count);
  MPI_File_write_at_all(file.get(), 0, all.data(), me == size_of(MPI_COMM_WORLD) - 1 ? count : 0,
                        MPI_INT, MPI_STATUS_IGNORE);
  file.settle();
  MPI_File_seek(file.get(), -1, MPI_SEEK_END);
  int last = 0;
  MPI_Status status;
  MPI_File_read(file.get(), &last, 1, MPI_INT, &status);
  REQUIRE_EQUAL(last, value_at(count - 1));
  MPI_File_read(file.get(), &last, 1, MPI_INT, &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), 0);
  check_content(file, count);
}

void check_file(Road road, int count) {
  SharedFile file(impishim_test::common_name("access"), kCreate | MPI_MODE_DELETE_ON_CLOSE, road);
  check_blocks(file, count);
  check_interleaved(file, std::min(count, kMostPieces));
  check_nonblocking(file, count);
  check_collective_forms(file, count);
  check_ends(file, count);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const Road road : {Road::kBySight, Road::kByShipping}) {
    for (const int count : {3, 1000, 700000}) check_file(road, count);
  }
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("files on %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
