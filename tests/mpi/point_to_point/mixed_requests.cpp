// SPDX-License-Identifier: Apache-2.0
// Waiting and testing on arrays that hold requests of every kind: to one's own and to other
// systems, from anybody, generalized, persistent and inactive, and null.
#include <array>
#include <set>
#include <vector>

#include "tests/support/check.hpp"

namespace {

int query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, 11);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int nothing_to_free(void*) { return MPI_SUCCESS; }
int nothing_to_cancel(void*, int) { return MPI_SUCCESS; }

/// One request from each peer, one from anybody, one generalized, an inactive one and a null one.
/// Peers answer when they are told.
class Mixture {
 public:
  Mixture(int rank, int ranks)
      : rank_(rank), ranks_(ranks), values_(static_cast<std::size_t>(ranks) + 1, -1) {
    MPI_Recv_init(&idle_value_, 1, MPI_INT, (rank + 1) % ranks, 90, MPI_COMM_WORLD, &idle_);
    MPI_Send_init(&idle_value_, 1, MPI_INT, rank, 91, MPI_COMM_WORLD, &idle_here_);
  }
  ~Mixture() {
    MPI_Request_free(&idle_);
    MPI_Request_free(&idle_here_);
  }
  Mixture(const Mixture&) = delete;
  Mixture& operator=(const Mixture&) = delete;

  /// Starts everything; returns the number of active requests.
  int start() {
    requests_.clear();
    for (int peer = 0; peer < ranks_; ++peer) {
      values_[static_cast<std::size_t>(peer)] = -1;
      requests_.emplace_back();
      MPI_Irecv(&values_[static_cast<std::size_t>(peer)], 1, MPI_INT, peer, 20, MPI_COMM_WORLD,
                &requests_.back());
    }
    requests_.push_back(MPI_REQUEST_NULL);
    values_.back() = -1;
    requests_.emplace_back();
    MPI_Irecv(&values_.back(), 1, MPI_INT, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &requests_.back());
    requests_.push_back(idle_);
    requests_.emplace_back();
    MPI_Grequest_start(query, nothing_to_free, nothing_to_cancel, nullptr, &requests_.back());
    general_ = requests_.back();
    requests_.push_back(idle_here_);
    return ranks_ + 2;
  }
  /// Lets all of them complete.
  void answer() {
    for (int peer = 0; peer < ranks_; ++peer) {
      const int value = rank_ * 10 + peer;
      MPI_Request request;
      MPI_Isend(&value, 1, MPI_INT, peer, 20, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Send(&rank_, 1, MPI_INT,
             (rank_ + 2) % ranks_ == rank_ ? (rank_ + 1) % ranks_ : (rank_ + 2) % ranks_, 21,
             MPI_COMM_WORLD);
    MPI_Grequest_complete(general_);
  }
  [[nodiscard]] MPI_Request* requests() { return requests_.data(); }
  [[nodiscard]] int size() const { return static_cast<int>(requests_.size()); }
  /// Index of what is never active.
  [[nodiscard]] bool never_active(int i) const {
    return i == ranks_ || i == ranks_ + 2 || i == ranks_ + 4;
  }

  /// Checks a completed one.
  void check(int i, const MPI_Status& status) {
    REQUIRE(i >= 0 && i < size());
    REQUIRE(!never_active(i));
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    if (i < ranks_) {
      REQUIRE_EQUAL(status.MPI_SOURCE, i);
      REQUIRE_EQUAL(status.MPI_TAG, 20);
      REQUIRE_EQUAL(count, 1);
      REQUIRE_EQUAL(values_[static_cast<std::size_t>(i)], i * 10 + rank_);
    } else if (i == ranks_ + 1) {
      REQUIRE_EQUAL(status.MPI_SOURCE, values_.back());
      REQUIRE_EQUAL(status.MPI_TAG, 21);
    } else {
      REQUIRE_EQUAL(count, 11);
      REQUIRE_EQUAL(status.MPI_SOURCE, MPI_UNDEFINED);
    }
    REQUIRE(requests_[static_cast<std::size_t>(i)] == MPI_REQUEST_NULL);
  }
  void check_empty(const MPI_Status& status) {
    REQUIRE_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    REQUIRE_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    REQUIRE_EQUAL(count, 0);
  }

 private:
  int rank_;
  int ranks_;
  std::vector<int> values_;
  std::vector<MPI_Request> requests_;
  MPI_Request idle_ = MPI_REQUEST_NULL;
  MPI_Request idle_here_ = MPI_REQUEST_NULL;
  MPI_Request general_ = MPI_REQUEST_NULL;
  int idle_value_ = -1;
};

void all(Mixture& mixture) {
  for (const bool test : {false, true}) {
    mixture.start();
    std::vector<MPI_Status> statuses(static_cast<std::size_t>(mixture.size()));
    int flag = 1;
    MPI_Testall(mixture.size(), mixture.requests(), &flag, statuses.data());
    REQUIRE_EQUAL(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    mixture.answer();
    if (test) {
      for (flag = 0; flag == 0;)
        MPI_Testall(mixture.size(), mixture.requests(), &flag, statuses.data());
    } else {
      MPI_Waitall(mixture.size(), mixture.requests(), statuses.data());
    }
    for (int i = 0; i < mixture.size(); ++i) {
      if (mixture.never_active(i)) {
        mixture.check_empty(statuses[static_cast<std::size_t>(i)]);
      } else {
        mixture.check(i, statuses[static_cast<std::size_t>(i)]);
      }
    }
    // All inactive now.
    MPI_Testall(mixture.size(), mixture.requests(), &flag, MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(flag, 1);
    MPI_Waitall(mixture.size(), mixture.requests(), MPI_STATUSES_IGNORE);
  }
}

void any(Mixture& mixture) {
  for (const bool test : {false, true}) {
    int active = mixture.start();
    int index = 0;
    int flag = 1;
    MPI_Status status;
    MPI_Testany(mixture.size(), mixture.requests(), &index, &flag, &status);
    REQUIRE_EQUAL(flag, 0);
    REQUIRE_EQUAL(index, MPI_UNDEFINED);
    MPI_Barrier(MPI_COMM_WORLD);
    mixture.answer();
    std::set<int> seen;
    for (; active > 0; --active) {
      if (test) {
        for (flag = 0; flag == 0;)
          MPI_Testany(mixture.size(), mixture.requests(), &index, &flag, &status);
      } else {
        MPI_Waitany(mixture.size(), mixture.requests(), &index, &status);
      }
      mixture.check(index, status);
      REQUIRE(seen.insert(index).second);
    }
    MPI_Testany(mixture.size(), mixture.requests(), &index, &flag, &status);
    REQUIRE_EQUAL(flag, 1);
    REQUIRE_EQUAL(index, MPI_UNDEFINED);
    mixture.check_empty(status);
    MPI_Waitany(mixture.size(), mixture.requests(), &index, &status);
    REQUIRE_EQUAL(index, MPI_UNDEFINED);
    mixture.check_empty(status);
  }
}

void some(Mixture& mixture) {
  for (const bool test : {false, true}) {
    int active = mixture.start();
    std::vector<int> indices(static_cast<std::size_t>(mixture.size()));
    std::vector<MPI_Status> statuses(indices.size());
    int outcount = -1;
    MPI_Testsome(mixture.size(), mixture.requests(), &outcount, indices.data(), statuses.data());
    REQUIRE_EQUAL(outcount, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    mixture.answer();
    std::set<int> seen;
    while (active > 0) {
      if (test) {
        for (outcount = 0; outcount == 0;) {
          MPI_Testsome(mixture.size(), mixture.requests(), &outcount, indices.data(),
                       statuses.data());
        }
      } else {
        MPI_Waitsome(mixture.size(), mixture.requests(), &outcount, indices.data(),
                     statuses.data());
      }
      REQUIRE(outcount > 0 && outcount <= active);
      for (int i = 0; i < outcount; ++i) {
        mixture.check(indices[static_cast<std::size_t>(i)], statuses[static_cast<std::size_t>(i)]);
        REQUIRE(seen.insert(indices[static_cast<std::size_t>(i)]).second);
      }
      active -= outcount;
    }
    MPI_Testsome(mixture.size(), mixture.requests(), &outcount, indices.data(),
                 MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(outcount, MPI_UNDEFINED);
    MPI_Waitsome(mixture.size(), mixture.requests(), &outcount, indices.data(),
                 MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(outcount, MPI_UNDEFINED);
  }
}

/// MPI_Request_get_status looks and changes nothing.
void status_only(Mixture& mixture) {
  mixture.start();
  mixture.answer();
  for (int i = 0; i < mixture.size(); ++i) {
    MPI_Status status;
    int flag = 0;
    while (flag == 0) MPI_Request_get_status(mixture.requests()[i], &flag, &status);
    const MPI_Request before = mixture.requests()[i];
    MPI_Request_get_status(before, &flag, &status);
    REQUIRE_EQUAL(flag, 1);
    if (mixture.never_active(i)) {
      mixture.check_empty(status);
      continue;
    }
    REQUIRE(before != MPI_REQUEST_NULL);
    MPI_Status final_status;
    MPI_Wait(&mixture.requests()[i], &final_status);
    mixture.check(i, final_status);
    REQUIRE_EQUAL(status.MPI_SOURCE, final_status.MPI_SOURCE);
    REQUIRE_EQUAL(status.MPI_TAG, final_status.MPI_TAG);
  }
}

/// No request at all is no error, and null requests alone are done.
void nothing() {
  int index = 0, flag = 0, outcount = 0;
  MPI_Status status;
  MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE);
  MPI_Testany(0, nullptr, &index, &flag, &status);
  REQUIRE_EQUAL(flag, 1);
  REQUIRE_EQUAL(index, MPI_UNDEFINED);
  MPI_Waitsome(0, nullptr, &outcount, nullptr, MPI_STATUSES_IGNORE);
  REQUIRE_EQUAL(outcount, MPI_UNDEFINED);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Wait(&request, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
  MPI_Test(&request, &flag, &status);
  REQUIRE_EQUAL(flag, 1);
}

/// Active persistent sends of both kinds count as completions, whatever their statuses say.
void persistent_sends(int rank, int ranks) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(ranks) + 1);
  std::vector<int> in(static_cast<std::size_t>(ranks), -1);
  for (int peer = 0; peer < ranks; ++peer) {
    MPI_Send_init(&rank, 1, MPI_INT, peer, 30, MPI_COMM_WORLD,
                  &requests[static_cast<std::size_t>(peer)]);
  }
  MPI_Startall(ranks, requests.data());
  int late = -1;
  MPI_Irecv(&late, 1, MPI_INT, MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, &requests.back());
  for (int peer = 0; peer < ranks; ++peer)
    MPI_Recv(&in[static_cast<std::size_t>(peer)], 1, MPI_INT, peer, 30, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  std::set<int> seen;
  for (int i = 0; i < ranks; ++i) {
    int index = -1;
    MPI_Waitany(ranks + 1, requests.data(), &index, MPI_STATUS_IGNORE);
    REQUIRE(index >= 0 && index < ranks && seen.insert(index).second);
    REQUIRE(requests[static_cast<std::size_t>(index)] != MPI_REQUEST_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Startall(ranks, requests.data());
  for (int peer = 0; peer < ranks; ++peer)
    MPI_Recv(&in[static_cast<std::size_t>(peer)], 1, MPI_INT, peer, 30, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  std::vector<int> indices(requests.size());
  for (int left = ranks; left > 0;) {
    int outcount = -1;
    MPI_Waitsome(ranks + 1, requests.data(), &outcount, indices.data(), MPI_STATUSES_IGNORE);
    REQUIRE(outcount > 0 && outcount <= left);
    left -= outcount;
  }
  MPI_Barrier(MPI_COMM_WORLD);  // a neighbour's message must not be among those that were counted
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % ranks, 31, MPI_COMM_WORLD);
  int index = -1;
  MPI_Waitany(ranks + 1, requests.data(), &index, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(index, ranks);
  REQUIRE_EQUAL(late, (rank + ranks - 1) % ranks);
  for (int peer = 0; peer < ranks; ++peer)
    MPI_Request_free(&requests[static_cast<std::size_t>(peer)]);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int ranks = impishim_test::size_of(MPI_COMM_WORLD);
  {
    Mixture mixture(rank, ranks);
    // Barriers keep one part's answers out of the next part, which begins by looking for none.
    const std::array<void (*)(Mixture&), 3> parts = {all, any, some};
    for (const auto part : parts) {
      part(mixture);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    status_only(mixture);
  }
  nothing();
  MPI_Barrier(MPI_COMM_WORLD);
  persistent_sends(rank, ranks);
  if (rank == 0) std::printf("%d ranks: arrays of mixed requests complete as they should\n", ranks);
  MPI_Finalize();
  return 0;
}
