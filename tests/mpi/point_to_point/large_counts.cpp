// SPDX-License-Identifier: Apache-2.0
// The functions of point-to-point communication with large counts, around a ring. With the argument
// `long`, rank 0 sends one message of more than 2^31 bytes to the last rank.
//
// usage: large_counts [long]
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/support/check.hpp"

#if MPI_VERSION < 4
int main() {
  std::printf("left out: this MPI library has no functions with large counts\n");
  return 0;
}
#else
namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr MPI_Count kCount = 1000;

/// What travels to the next rank, and where what comes from the one before goes.
class Ring {
 public:
  Ring() : out_(kCount), in_(kCount, -1) {
    for (std::size_t i = 0; i < out_.size(); ++i)
      out_[i] = 10000 * rank_in(kWorld) + static_cast<int>(i);
  }
  [[nodiscard]] int next() const { return (rank_in(kWorld) + 1) % size_of(kWorld); }
  [[nodiscard]] int before() const {
    return (rank_in(kWorld) + size_of(kWorld) - 1) % size_of(kWorld);
  }
  [[nodiscard]] const int* out() const { return out_.data(); }
  [[nodiscard]] int* in() { return in_.data(); }
  /// Checks what has come, and forgets it.
  void check(const MPI_Status& status) {
    REQUIRE_EQUAL(status.MPI_SOURCE, before());
    MPI_Count count = 0;
    MPI_Get_count_c(&status, MPI_INT, &count);
    REQUIRE_EQUAL(count, kCount);
    for (std::size_t i = 0; i < in_.size(); ++i)
      REQUIRE_EQUAL(in_[i], 10000 * before() + static_cast<int>(i));
    in_.assign(in_.size(), -1);
  }

 private:
  std::vector<int> out_;
  std::vector<int> in_;
};

using SendCall = int (*)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
using StartCall = int (*)(const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void check_blocking(Ring& ring) {
  const SendCall sends[] = {MPI_Send_c, MPI_Ssend_c, MPI_Rsend_c, MPI_Bsend_c};
  for (int kind = 0; kind < 4; ++kind) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv_c(ring.in(), kCount, MPI_INT, ring.before(), kind, kWorld, &request);
    MPI_Barrier(kWorld);
    sends[kind](ring.out(), kCount, MPI_INT, ring.next(), kind, kWorld);
    MPI_Status status;
    MPI_Wait(&request, &status);
    ring.check(status);
  }
}

void check_nonblocking(Ring& ring) {
  const StartCall starts[] = {MPI_Isend_c, MPI_Issend_c, MPI_Irsend_c, MPI_Ibsend_c};
  for (int kind = 0; kind < 4; ++kind) {
    MPI_Request requests[2];
    MPI_Irecv_c(ring.in(), kCount, MPI_INT, ring.before(), kind, kWorld, &requests[0]);
    MPI_Barrier(kWorld);
    starts[kind](ring.out(), kCount, MPI_INT, ring.next(), kind, kWorld, &requests[1]);
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    ring.check(statuses[0]);
  }
  // The other side of it: a blocking receive.
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend_c(ring.out(), kCount, MPI_INT, ring.next(), 9, kWorld, &request);
  MPI_Status status;
  MPI_Recv_c(ring.in(), kCount, MPI_INT, ring.before(), 9, kWorld, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ring.check(status);
}

void check_persistent(Ring& ring) {
  const StartCall inits[] = {MPI_Send_init_c, MPI_Ssend_init_c, MPI_Rsend_init_c, MPI_Bsend_init_c};
  for (int kind = 0; kind < 4; ++kind) {
    MPI_Request requests[2];
    MPI_Recv_init_c(ring.in(), kCount, MPI_INT, ring.before(), kind, kWorld, &requests[0]);
    inits[kind](ring.out(), kCount, MPI_INT, ring.next(), kind, kWorld, &requests[1]);
    for (int round = 0; round < 2; ++round) {
      MPI_Start(&requests[0]);
      MPI_Barrier(kWorld);
      MPI_Start(&requests[1]);
      MPI_Status statuses[2];
      MPI_Waitall(2, requests, statuses);
      ring.check(statuses[0]);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  }
}

void check_both_ways(Ring& ring) {
  MPI_Status status;
  MPI_Sendrecv_c(ring.out(), kCount, MPI_INT, ring.next(), 1, ring.in(), kCount, MPI_INT,
                 ring.before(), 1, kWorld, &status);
  ring.check(status);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isendrecv_c(ring.out(), kCount, MPI_INT, ring.next(), 2, ring.in(), kCount, MPI_INT,
                  ring.before(), 2, kWorld, &request);
  MPI_Wait(&request, &status);
  ring.check(status);
  std::memcpy(ring.in(), ring.out(), sizeof(int) * kCount);
  MPI_Sendrecv_replace_c(ring.in(), kCount, MPI_INT, ring.next(), 3, ring.before(), 3, kWorld,
                         &status);
  ring.check(status);
  std::memcpy(ring.in(), ring.out(), sizeof(int) * kCount);
  MPI_Isendrecv_replace_c(ring.in(), kCount, MPI_INT, ring.next(), 4, ring.before(), 4, kWorld,
                          &request);
  MPI_Wait(&request, &status);
  ring.check(status);
}

void check_matched(Ring& ring) {
  MPI_Request requests[2];
  for (int round = 0; round < 2; ++round) {
    MPI_Isend_c(ring.out(), kCount, MPI_INT, ring.next(), 5, kWorld, &requests[0]);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Mprobe(ring.before(), 5, kWorld, &message, &status);
    if (round == 0) {
      MPI_Mrecv_c(ring.in(), kCount, MPI_INT, &message, &status);
    } else {
      MPI_Imrecv_c(ring.in(), kCount, MPI_INT, &message, &requests[1]);
      MPI_Wait(&requests[1], &status);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    ring.check(status);
  }
}

/// One message of more than 2^31 elements of a byte.
void check_long() {
  constexpr std::size_t kBytes = (std::size_t{1} << 31U) + 12345;
  const int last = size_of(kWorld) - 1;
  if (rank_in(kWorld) == 0) {
    std::vector<unsigned char> bytes(kBytes);
    for (std::size_t i = 0; i < kBytes; i += 4093) bytes[i] = static_cast<unsigned char>(i >> 12U);
    bytes[kBytes - 1] = 77;
    MPI_Send_c(bytes.data(), static_cast<MPI_Count>(kBytes), MPI_BYTE, last, 1, kWorld);
  } else if (rank_in(kWorld) == last) {
    std::vector<unsigned char> bytes(kBytes, 1);
    MPI_Status status;
    MPI_Recv_c(bytes.data(), static_cast<MPI_Count>(kBytes), MPI_BYTE, 0, 1, kWorld, &status);
    MPI_Count count = 0;
    MPI_Get_count_c(&status, MPI_BYTE, &count);
    REQUIRE_EQUAL(count, kBytes);
    for (std::size_t i = 0; i < kBytes; i += 4093)
      REQUIRE_EQUAL(bytes[i], static_cast<unsigned char>(i >> 12U));
    REQUIRE_EQUAL(bytes[1], 0);
    REQUIRE_EQUAL(bytes[kBytes - 1], 77);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && std::strcmp(argv[1], "long") == 0) {
    check_long();
  } else {
    std::vector<char> buffer(8 * sizeof(int) * kCount + 8 * MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    Ring ring;
    check_blocking(ring);
    check_nonblocking(ring);
    check_persistent(ring);
    check_both_ways(ring);
    check_matched(ring);
    void* detached = nullptr;
    int size = 0;
    MPI_Buffer_detach(&detached, &size);
  }
  if (rank_in(kWorld) == 0) std::printf("large counts: right\n");
  MPI_Finalize();
  return 0;
}
#endif
