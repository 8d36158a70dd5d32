// SPDX-License-Identifier: Apache-2.0
// Errors where MPI wants them: truncation in its status, arguments by their class, refused
// functions by their name.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// Messages longer than the receive, from every other rank, short and long: the class, the place,
/// and nothing behind the buffer.
void truncation(std::size_t sent, std::size_t room) {
  const int size = size_of(kWorld);
  const int to = (rank_in(kWorld) + 1) % size;
  const int from = (rank_in(kWorld) + size - 1) % size;
  const std::vector<unsigned char> out(sent, 7);
  std::vector<unsigned char> in(room + 64, 9);

  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Isend(out.data(), static_cast<int>(sent), MPI_BYTE, to, 1, kWorld, &send);
  MPI_Status status;
  REQUIRE_EQUAL(
      class_of(MPI_Recv(in.data(), static_cast<int>(room), MPI_BYTE, from, 1, kWorld, &status)),
      MPI_ERR_TRUNCATE);
  REQUIRE_EQUAL(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
  for (std::size_t i = room; i < in.size(); ++i) REQUIRE_EQUAL(in[i], 9);

  // In an array: one is cut, one is right. MPI_Waitall says MPI_ERR_IN_STATUS, the statuses say
  // which.
  std::array<MPI_Request, 4> requests = {};
  std::array<MPI_Status, 4> statuses = {};
  std::array<unsigned char, 4> right = {};
  MPI_Irecv(in.data(), static_cast<int>(room), MPI_BYTE, from, 2, kWorld, &requests[0]);
  MPI_Irecv(right.data(), 4, MPI_BYTE, from, 3, kWorld, &requests[1]);
  MPI_Isend(out.data(), static_cast<int>(sent), MPI_BYTE, to, 2, kWorld, &requests[2]);
  MPI_Isend(out.data(), 4, MPI_BYTE, to, 3, kWorld, &requests[3]);
  REQUIRE_EQUAL(class_of(MPI_Waitall(4, requests.data(), statuses.data())), MPI_ERR_IN_STATUS);
  REQUIRE_EQUAL(class_of(statuses[0].MPI_ERROR), MPI_ERR_TRUNCATE);
  for (std::size_t i = 1; i < 4; ++i) {
    // One that is not complete yet says MPI_ERR_PENDING, and can be waited for.
    if (class_of(statuses[i].MPI_ERROR) == MPI_ERR_PENDING) {
      REQUIRE_EQUAL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
      REQUIRE_EQUAL(statuses[i].MPI_ERROR, MPI_SUCCESS);
    }
    REQUIRE(requests[i] == MPI_REQUEST_NULL);
  }
  REQUIRE_EQUAL(right[3], 7);
  MPI_Barrier(kWorld);
}

void bad_arguments() {
  int value = 0;
  REQUIRE_EQUAL(class_of(MPI_Send(&value, 1, MPI_INT, size_of(kWorld), 0, kWorld)), MPI_ERR_RANK);
  REQUIRE_EQUAL(class_of(MPI_Send(&value, 1, MPI_INT, -77, 0, kWorld)), MPI_ERR_RANK);
  REQUIRE_EQUAL(class_of(MPI_Send(&value, -1, MPI_INT, 0, 0, kWorld)), MPI_ERR_COUNT);
  REQUIRE_EQUAL(class_of(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, kWorld)), MPI_ERR_TYPE);
  REQUIRE_EQUAL(class_of(MPI_Send(&value, 1, MPI_INT, 0, -5, kWorld)), MPI_ERR_TAG);
  REQUIRE_EQUAL(
      class_of(MPI_Recv(&value, 1, MPI_INT, size_of(kWorld), 0, kWorld, MPI_STATUS_IGNORE)),
      MPI_ERR_RANK);
  REQUIRE_EQUAL(class_of(MPI_Bcast(&value, 1, MPI_INT, size_of(kWorld), kWorld)), MPI_ERR_ROOT);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int one = 0;
  int flag = 0;
  REQUIRE(MPI_Startall(-1, &request) != MPI_SUCCESS);
  REQUIRE(MPI_Waitall(-1, &request, &status) != MPI_SUCCESS);
  REQUIRE(MPI_Testall(-1, &request, &flag, &status) != MPI_SUCCESS);
  REQUIRE(MPI_Waitany(-1, &request, &one, &status) != MPI_SUCCESS);
  REQUIRE(MPI_Testany(-1, &request, &one, &flag, &status) != MPI_SUCCESS);
  REQUIRE(MPI_Waitsome(-1, &request, &flag, &one, &status) != MPI_SUCCESS);
  REQUIRE(MPI_Testsome(-1, &request, &flag, &one, &status) != MPI_SUCCESS);
#ifdef OPEN_MPI
  std::fprintf(stderr, "MPI_Comm_free(nullptr) is left out: Open MPI 4.1.4 itself crashes\n");
#else
  REQUIRE_EQUAL(class_of(MPI_Comm_free(nullptr)) == MPI_SUCCESS, 0);
#endif
}

/// A function that is refused on a communicator that spans systems says so with its name, and does
/// nothing. Where it works, as it does natively, it must work.
void refused() {
  void* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const int code = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, kWorld, &memory, &window);
  if (code == MPI_SUCCESS) {
    MPI_Win_free(&window);
    return;
  }
  REQUIRE_EQUAL(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION);
  std::array<char, MPI_MAX_ERROR_STRING> text = {};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  REQUIRE(std::strstr(text.data(), "MPI_Win_allocate_shared") != nullptr);
  REQUIRE(window == MPI_WIN_NULL);
  // The job goes on.
  REQUIRE_EQUAL(MPI_Barrier(kWorld), MPI_SUCCESS);
}

int handler_calls = 0;
int handler_class = MPI_SUCCESS;

void count_error(MPI_Comm* comm, int* code, ...) {
  ++handler_calls;
  handler_class = class_of(*code);
  REQUIRE(*comm == kWorld);
}

/// A user's error handler is called, once, with the communicator's own handle.
void user_handler() {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(kWorld, handler);
  const int to = (rank_in(kWorld) + 1) % size_of(kWorld);
  const int from = (rank_in(kWorld) + size_of(kWorld) - 1) % size_of(kWorld);
  const std::array<int, 4> out = {1, 2, 3, 4};
  int in = 0;
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Isend(out.data(), 4, MPI_INT, to, 5, kWorld, &send);
  REQUIRE_EQUAL(class_of(MPI_Recv(&in, 1, MPI_INT, from, 5, kWorld, MPI_STATUS_IGNORE)),
                MPI_ERR_TRUNCATE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(handler_calls, 1);
  REQUIRE_EQUAL(handler_class, MPI_ERR_TRUNCATE);
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  truncation(100, 10);
  truncation(65536, 65535);
  truncation(65537, 65536);
  truncation(1000000, 1000);
  truncation(100, 0);
  bad_arguments();
  refused();
  user_handler();
  MPI_Barrier(kWorld);
  std::printf("rank %d: errors as they should be\n", rank_in(kWorld));
  MPI_Finalize();
  return 0;
}
