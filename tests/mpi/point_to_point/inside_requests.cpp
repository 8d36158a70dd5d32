// SPDX-License-Identifier: Apache-2.0
// Arrays of receives from one neighbour, which is in the same system or not, on communicators whose
// ranks the vendor counts as the user does and on others: each way to complete them names the
// source as the user knows it, and nothing is left behind that a later request with the same handle
// could meet.
#include <array>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kMessages =
    150;  // more than any array of a call's own, and than the first table of sources

/// Receives from one neighbour, with tags from 0 on. Where `persistent` says so they stay when they
/// are over.
class Receives {
 public:
  Receives(MPI_Comm comm, bool persistent)
      : comm_(comm),
        neighbour_(rank_in(comm) ^ 1),
        persistent_(persistent),
        values_(kMessages, -1),
        requests_(kMessages + 1, MPI_REQUEST_NULL),
        seen_(kMessages, 0) {
    for (int tag = 0; tag < kMessages; ++tag) {
      if (persistent) {
        MPI_Recv_init(value(tag), 1, MPI_INT, neighbour_, tag, comm, &requests_[at(tag)]);
      } else {
        MPI_Irecv(value(tag), 1, MPI_INT, neighbour_, tag, comm, &requests_[at(tag)]);
      }
    }
    if (persistent) MPI_Startall(kMessages, requests_.data());
  }
  ~Receives() {
    for (const int seen : seen_) REQUIRE_EQUAL(seen, 1);
    if (persistent_) {
      for (int tag = 0; tag < kMessages; ++tag) MPI_Request_free(&requests_[at(tag)]);
    }
    for (const MPI_Request request : requests_) REQUIRE(request == MPI_REQUEST_NULL);
    MPI_Barrier(comm_);
  }
  Receives(const Receives&) = delete;
  Receives& operator=(const Receives&) = delete;

  /// Lets the neighbour's complete, the last first.
  void answer() const {
    for (int tag = kMessages; tag-- > 0;) MPI_Send(&tag, 1, MPI_INT, neighbour_, tag, comm_);
  }
  void check(int tag, const MPI_Status& status) {
    REQUIRE(tag >= 0 && tag < kMessages);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    REQUIRE_EQUAL(count, 1);
    REQUIRE_EQUAL(status.MPI_SOURCE, neighbour_);
    REQUIRE_EQUAL(status.MPI_TAG, tag);
    REQUIRE_EQUAL(*value(tag), tag);
    ++seen_[at(tag)];
  }
  /// The null request at the end included, unless they are persistent: the status of one that is
  /// inactive is the vendor's.
  [[nodiscard]] int count() const { return persistent_ ? kMessages : kMessages + 1; }
  [[nodiscard]] MPI_Request* requests() { return requests_.data(); }

 private:
  static std::size_t at(int tag) { return static_cast<std::size_t>(tag); }
  int* value(int tag) { return &values_[at(tag)]; }

  MPI_Comm comm_;
  int neighbour_;
  bool persistent_;
  std::vector<int> values_;
  std::vector<MPI_Request> requests_;
  std::vector<int> seen_;
};

void all(MPI_Comm comm, bool persistent, bool test) {
  Receives receives(comm, persistent);
  std::vector<MPI_Status> statuses(kMessages + 1);
  int done = test ? 0 : 1;
  if (test) {
    MPI_Testall(receives.count(), receives.requests(), &done, statuses.data());
    receives.answer();
    while (done == 0) MPI_Testall(receives.count(), receives.requests(), &done, statuses.data());
  } else {
    receives.answer();
    MPI_Waitall(receives.count(), receives.requests(), statuses.data());
  }
  for (int tag = 0; tag < kMessages; ++tag)
    receives.check(tag, statuses[static_cast<std::size_t>(tag)]);
}

void any(MPI_Comm comm, bool persistent, bool test) {
  Receives receives(comm, persistent);
  receives.answer();
  for (int i = 0; i < kMessages; ++i) {
    int index = MPI_UNDEFINED;
    MPI_Status status;
    int done = test ? 0 : 1;
    while (done == 0) MPI_Testany(receives.count(), receives.requests(), &index, &done, &status);
    if (!test) MPI_Waitany(receives.count(), receives.requests(), &index, &status);
    receives.check(index, status);
  }
}

void some(MPI_Comm comm, bool persistent, bool test) {
  Receives receives(comm, persistent);
  receives.answer();
  std::vector<int> indices(kMessages + 1);
  std::vector<MPI_Status> statuses(kMessages + 1);
  for (int complete = 0; complete < kMessages;) {
    int count = 0;
    if (test) {
      MPI_Testsome(receives.count(), receives.requests(), &count, indices.data(), statuses.data());
    } else {
      MPI_Waitsome(receives.count(), receives.requests(), &count, indices.data(), statuses.data());
    }
    for (int i = 0; i < count; ++i) {
      receives.check(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
    }
    complete += count;
  }
}

void single(MPI_Comm comm, bool persistent, bool test) {
  Receives receives(comm, persistent);
  receives.answer();
  for (int tag = 0; tag < kMessages; ++tag) {
    MPI_Status status;
    MPI_Request* request = &receives.requests()[tag];
    int done = test ? 0 : 1;
    while (done == 0) MPI_Request_get_status(*request, &done, &status);
    if (test) {
      REQUIRE_EQUAL(status.MPI_SOURCE, rank_in(comm) ^ 1);
      done = 0;
    }
    while (done == 0) MPI_Test(request, &done, &status);
    if (!test) MPI_Wait(request, &status);
    receives.check(tag, status);
  }
}

/// Windows as programs post them, nothing but receives, each completed by a call of its own: in the
/// order in which they were started or in another, with statuses or without.
void windows(MPI_Comm comm, int size, const std::array<int, 3>& order) {
  const int neighbour = rank_in(comm) ^ 1;
  const int all = size * static_cast<int>(order.size());
  std::vector<int> values(static_cast<std::size_t>(all), -1);
  std::vector<MPI_Request> requests(values.size(), MPI_REQUEST_NULL);
  for (int tag = 0; tag < all; ++tag)
    MPI_Irecv(&values[tag], 1, MPI_INT, neighbour, tag, comm, &requests[tag]);
  for (int tag = all; tag-- > 0;) MPI_Send(&tag, 1, MPI_INT, neighbour, tag, comm);
  for (const int window : order) {
    std::vector<MPI_Status> statuses(static_cast<std::size_t>(size));
    const bool ignored = window == 1;
    MPI_Waitall(size, &requests[window * size], ignored ? MPI_STATUSES_IGNORE : statuses.data());
    for (int i = 0; i < size; ++i) {
      const int tag = window * size + i;
      REQUIRE_EQUAL(values[tag], tag);
      REQUIRE(requests[tag] == MPI_REQUEST_NULL);
      if (!ignored) REQUIRE_EQUAL(statuses[i].MPI_SOURCE, neighbour);
    }
  }
  MPI_Barrier(comm);
}

/// Nothing of the communicator's may be left on handles that are used again: not of receives
/// without a status, of freed ones, of cancelled ones, of such as failed.
void leave_handles(MPI_Comm comm) {
  const int neighbour = rank_in(comm) ^ 1;
  std::array<int, 3> values{-1, -1, -1};
  std::array<MPI_Request, 4> requests;
  MPI_Irecv(&values[0], 1, MPI_INT, neighbour, 0, comm, &requests[0]);
  MPI_Irecv(&values[1], 1, MPI_INT, neighbour, 1, comm, &requests[1]);
  MPI_Irecv(&values[2], 1, MPI_INT, neighbour, 2, comm, &requests[2]);
  MPI_Irecv(nullptr, 0, MPI_INT, neighbour, 3, comm, &requests[3]);
  MPI_Request_free(&requests[1]);
  MPI_Cancel(&requests[2]);
  MPI_Status status;
  MPI_Wait(&requests[2], &status);
  int cancelled = 0;
  MPI_Test_cancelled(&status, &cancelled);
  REQUIRE_EQUAL(cancelled, 1);
  const int value = 5;
  for (const int tag : {0, 1, 3}) MPI_Send(&value, 1, MPI_INT, neighbour, tag, comm);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  const int code = MPI_Wait(&requests[3], &status);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, MPI_ERR_TRUNCATE);
  REQUIRE_EQUAL(status.MPI_SOURCE, neighbour);
  MPI_Barrier(comm);
}

void everything(MPI_Comm comm) {
  for (const bool persistent : {false, true}) {
    for (const bool test : {false, true}) {
      all(comm, persistent, test);
      any(comm, persistent, test);
      some(comm, persistent, test);
      single(comm, persistent, test);
    }
  }
  for (const int size : {80, 100}) {  // all of them in the first table of sources, and more
    windows(comm, size, {0, 1, 2});
    windows(comm, size, {2, 1, 0});
    windows(comm, size, {1, 0, 2});
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size_of(MPI_COMM_WORLD) - rank, &reversed);
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, reversed, copy, pair}) {
    // MPICH raises the error of a request that has completed already at MPI_COMM_WORLD's handler.
    for (const MPI_Comm raising : {MPI_COMM_WORLD, comm})
      MPI_Comm_set_errhandler(raising, MPI_ERRORS_RETURN);
    everything(comm);
    leave_handles(comm);
    everything(pair);
    std::printf("rank %d: communicator of %d over\n", rank, size_of(comm));
  }
  MPI_Comm_free(&copy);
  MPI_Comm_free(&pair);
  MPI_Comm_free(&reversed);
  MPI_Finalize();
  return 0;
}
