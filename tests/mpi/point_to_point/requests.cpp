// SPDX-License-Identifier: Apache-2.0
// Completion of request arrays that mix requests of the vendor, of the library, generalized,
// persistent inactive and null ones.
#include <array>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr int kGeneralizedElements = 3;

int query(void* /*state*/, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, kGeneralizedElements);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int release(void* /*state*/) { return MPI_SUCCESS; }
int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

/// One receive from every rank (this one too), a generalized request, an inactive persistent one, a
/// null one.
struct Mixed {
  explicit Mixed(int tag_of_messages)
      : tag(tag_of_messages), values(static_cast<std::size_t>(size_of(kWorld)), -1) {
    const int size = size_of(kWorld);
    requests.resize(static_cast<std::size_t>(size) + 3, MPI_REQUEST_NULL);
    for (int from = 0; from < size; ++from) {
      const auto at = static_cast<std::size_t>(from);
      MPI_Irecv(&values[at], 1, MPI_INT, from, tag, kWorld, &requests[at]);
    }
    MPI_Grequest_start(query, release, cancel, nullptr, &generalized);
    requests[generalized_at()] = generalized;
    MPI_Recv_init(&unused, 1, MPI_INT, (rank_in(kWorld) + size / 2) % size, 999, kWorld,
                  &requests[inactive_at()]);
  }
  ~Mixed() { MPI_Request_free(&requests[inactive_at()]); }
  Mixed(const Mixed&) = delete;
  Mixed& operator=(const Mixed&) = delete;

  void send_all() const {
    const int rank = rank_in(kWorld);
    for (int to = 0; to < size_of(kWorld); ++to) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(&rank, 1, MPI_INT, to, tag, kWorld, &request);
      MPI_Request_free(&request);
    }
  }
  std::size_t generalized_at() const { return values.size(); }
  std::size_t inactive_at() const { return values.size() + 1; }
  int count() const { return static_cast<int>(requests.size()); }

  void check(std::size_t at, const MPI_Status& status) const {
    int elements = -1;
    if (at < values.size()) {
      MPI_Get_count(&status, MPI_INT, &elements);
      REQUIRE_EQUAL(elements, 1);
      REQUIRE_EQUAL(status.MPI_SOURCE, at);
      REQUIRE_EQUAL(status.MPI_TAG, tag);
      REQUIRE_EQUAL(values[at], at);
      REQUIRE(requests[at] == MPI_REQUEST_NULL);
    } else if (at == generalized_at()) {
      MPI_Get_count(&status, MPI_INT, &elements);
      REQUIRE_EQUAL(elements, kGeneralizedElements);
      REQUIRE(requests[at] == MPI_REQUEST_NULL);
    } else {
      MPI_Get_count(&status, MPI_INT, &elements);
      REQUIRE_EQUAL(elements, 0);
      REQUIRE_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
      REQUIRE_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    }
  }
  void check_all(const std::vector<MPI_Status>& statuses) const {
    for (std::size_t at = 0; at < requests.size(); ++at) check(at, statuses[at]);
    REQUIRE(requests[inactive_at()] != MPI_REQUEST_NULL);
  }

  int tag;
  int unused = 0;
  std::vector<int> values;
  MPI_Request generalized = MPI_REQUEST_NULL;
  std::vector<MPI_Request> requests;
};

void wait_all() {
  Mixed mixed(1);
  std::vector<MPI_Status> statuses(mixed.requests.size());
  int done = 1;
  MPI_Testall(mixed.count(), mixed.requests.data(), &done, statuses.data());
  REQUIRE_EQUAL(done, 0);  // the generalized one is not complete
  mixed.send_all();
  MPI_Grequest_complete(mixed.generalized);
  MPI_Waitall(mixed.count(), mixed.requests.data(), statuses.data());
  mixed.check_all(statuses);
  MPI_Barrier(kWorld);
}

void test_all() {
  Mixed mixed(2);
  std::vector<MPI_Status> statuses(mixed.requests.size());
  mixed.send_all();
  MPI_Grequest_complete(mixed.generalized);
  int done = 0;
  while (done == 0) MPI_Testall(mixed.count(), mixed.requests.data(), &done, statuses.data());
  mixed.check_all(statuses);
  MPI_Barrier(kWorld);
}

void wait_any(bool test) {
  Mixed mixed(test ? 4 : 3);
  mixed.send_all();
  MPI_Grequest_complete(mixed.generalized);
  std::vector<int> seen(mixed.requests.size(), 0);
  for (std::size_t i = 0; i < mixed.values.size() + 1; ++i) {
    int index = MPI_UNDEFINED;
    MPI_Status status;
    if (test) {
      int done = 0;
      while (done == 0) MPI_Testany(mixed.count(), mixed.requests.data(), &index, &done, &status);
    } else {
      MPI_Waitany(mixed.count(), mixed.requests.data(), &index, &status);
    }
    REQUIRE(index >= 0 && index <= static_cast<int>(mixed.generalized_at()));
    ++seen[static_cast<std::size_t>(index)];
    mixed.check(static_cast<std::size_t>(index), status);
  }
  for (std::size_t at = 0; at <= mixed.generalized_at(); ++at) REQUIRE_EQUAL(seen[at], 1);
  int index = 0;
  MPI_Waitany(mixed.count(), mixed.requests.data(), &index, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(index, MPI_UNDEFINED);
  MPI_Barrier(kWorld);
}

void wait_some(bool test) {
  Mixed mixed(test ? 6 : 5);
  mixed.send_all();
  MPI_Grequest_complete(mixed.generalized);
  std::size_t complete = 0;
  std::vector<int> indices(mixed.requests.size());
  std::vector<MPI_Status> statuses(mixed.requests.size());
  while (complete < mixed.values.size() + 1) {
    int count = 0;
    if (test) {
      MPI_Testsome(mixed.count(), mixed.requests.data(), &count, indices.data(), statuses.data());
    } else {
      MPI_Waitsome(mixed.count(), mixed.requests.data(), &count, indices.data(), statuses.data());
      REQUIRE(count > 0);
    }
    REQUIRE(count >= 0);
    for (int i = 0; i < count; ++i) {
      mixed.check(static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]),
                  statuses[static_cast<std::size_t>(i)]);
    }
    complete += static_cast<std::size_t>(count);
  }
  int count = 0;
  MPI_Waitsome(mixed.count(), mixed.requests.data(), &count, indices.data(), statuses.data());
  REQUIRE_EQUAL(count, MPI_UNDEFINED);
  MPI_Barrier(kWorld);
}

/// MPI_Request_get_status leaves the request alone, and tells the truth.
void get_status() {
  const int peer = size_of(kWorld) - 1 - rank_in(kWorld);
  int value = -1;
  const int mine = rank_in(kWorld);
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, kWorld, &receive);
  int done = 1;
  MPI_Status status;
  MPI_Request_get_status(receive, &done, &status);
  REQUIRE_EQUAL(done, 0);
  MPI_Barrier(kWorld);
  MPI_Send(&mine, 1, MPI_INT, peer, 7, kWorld);
  while (done == 0) MPI_Request_get_status(receive, &done, &status);
  REQUIRE(receive != MPI_REQUEST_NULL);
  REQUIRE_EQUAL(status.MPI_SOURCE, peer);
  MPI_Wait(&receive, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, peer);
  REQUIRE_EQUAL(value, peer);
  MPI_Request_get_status(MPI_REQUEST_NULL, &done, &status);
  REQUIRE_EQUAL(done, 1);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
  MPI_Barrier(kWorld);
}

/// Persistent requests among all ranks, started together many times.
void persistent() {
  constexpr int kRounds = 30;
  const int size = size_of(kWorld);
  const auto ranks = static_cast<std::size_t>(size);
  std::vector<int> in(ranks);
  int out = 0;
  std::vector<MPI_Request> requests(2 * ranks);
  for (int other = 0; other < size; ++other) {
    const auto at = static_cast<std::size_t>(other);
    MPI_Recv_init(&in[at], 1, MPI_INT, other, 8, kWorld, &requests[at]);
    MPI_Send_init(&out, 1, MPI_INT, other, 8, kWorld, &requests[ranks + at]);
  }
  for (int round = 0; round < kRounds; ++round) {
    out = rank_in(kWorld) * 1000 + round;
    MPI_Startall(2 * size, requests.data());
    MPI_Waitall(2 * size, requests.data(), MPI_STATUSES_IGNORE);
    for (int other = 0; other < size; ++other)
      REQUIRE_EQUAL(in[static_cast<std::size_t>(other)], other * 1000 + round);
  }
  for (auto& request : requests) {
    REQUIRE(request != MPI_REQUEST_NULL);
    MPI_Request_free(&request);
    REQUIRE(request == MPI_REQUEST_NULL);
  }
}

/// A send whose request is freed is still delivered whole, however long it is.
void freed_sends() {
  constexpr int kElements = 100000;
  const int peer = size_of(kWorld) - 1 - rank_in(kWorld);
  std::vector<int> out(kElements, rank_in(kWorld));
  std::vector<int> in(kElements, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(out.data(), kElements, MPI_INT, peer, 9, kWorld, &request);
  MPI_Request_free(&request);
  REQUIRE(request == MPI_REQUEST_NULL);
  MPI_Recv(in.data(), kElements, MPI_INT, peer, 9, kWorld, MPI_STATUS_IGNORE);
  for (const int value : in) REQUIRE_EQUAL(value, peer);
  MPI_Barrier(kWorld);  // the buffer lives until the peer has it
}

/// A persistent request keeps its datatype, though the user frees the handle.
void freed_datatype() {
  const int size = size_of(kWorld);
  const int rank = rank_in(kWorld);
  const int above = (rank + 1) % size;
  const int below = (rank + size - 1) % size;
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(5, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  int out[9];
  int in[9];
  MPI_Request requests[2];
  MPI_Send_init(out, 1, every_other, above, 8, kWorld, &requests[0]);
  MPI_Recv_init(in, 1, every_other, below, 8, kWorld, &requests[1]);
  MPI_Type_free(&every_other);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 9; ++i) out[i] = rank * 100 + round * 10 + i;
    for (int& value : in) value = -1;
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 9; ++i)
      REQUIRE_EQUAL(in[i], i % 2 == 0 ? below * 100 + round * 10 + i : -1);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  freed_datatype();
  for (int round = 0; round < 5; ++round) {
    wait_all();
    test_all();
    wait_any(false);
    wait_any(true);
    wait_some(false);
    wait_some(true);
    get_status();
    persistent();
    freed_sends();
    std::printf("rank %d: round %d\n", rank_in(kWorld), round);
  }
  MPI_Finalize();
  return 0;
}
