// SPDX-License-Identifier: Apache-2.0
/// Measures collectives by impishim_get_counters and compares them with what is documented.
#pragma once

#include <impishim/impishim.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/mpi/collectives/counters/setting.hpp"
#include "tests/support/check.hpp"

namespace impishim_test {

class Meter {
 public:
  /// `call` is made by all processes of the world; `expected` is of all of them together. Every
  /// message that is sent must be received in the same call. Bytes that are received are not
  /// compared: they count as they come, which may be before the receiver has entered the call.
  template <class Call>
  void check(const std::string& collective, const std::string& circumstances,
             const Traffic& expected, Call&& call) {
    const impishim_counters before = read();
    call();
    const impishim_counters after = read();
    const std::array<unsigned long long, 3> mine{
        after.messages_sent - before.messages_sent, after.bytes_sent - before.bytes_sent,
        after.messages_received - before.messages_received};
    std::array<unsigned long long, 3> all{};
    MPI_Allreduce(mine.data(), all.data(), 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    const Traffic sent{static_cast<long long>(all[0]), static_cast<long long>(all[1])};
    ++checked_[collective];
    if (sent == expected && all[2] == all[0]) return;
    ++wrong_;
    if (rank_in(MPI_COMM_WORLD) != 0) return;
    std::fprintf(stderr,
                 "%s %s: %lld messages and %lld bytes sent, %llu messages received; documented are "
                 "%lld and %lld\n",
                 collective.c_str(), circumstances.c_str(), sent.messages, sent.bytes, all[2],
                 expected.messages, expected.bytes);
  }

  /// The program's exit code.
  [[nodiscard]] int report() const {
    if (rank_in(MPI_COMM_WORLD) != 0) return wrong_ == 0 ? 0 : 1;
    if (wrong_ > 0) {
      std::fprintf(stderr, "%d calls sent something else than documented\n", wrong_);
      return 1;
    }
    for (const auto& [collective, calls] : checked_)
      std::printf("%s: %d calls as documented\n", collective.c_str(), calls);
    std::printf("counters: well\n");
    return 0;
  }

 private:
  static impishim_counters read() {
    impishim_counters counters{};
    REQUIRE_EQUAL(impishim_get_counters(&counters), MPI_SUCCESS);
    return counters;
  }

  std::map<std::string, int> checked_;
  int wrong_ = 0;  ///< the same on all processes
};

/// What every part of the program is given.
struct Bench {
  Meter& meter;
  const Setting& setting;
  MPI_Op keep_left = MPI_OP_NULL;  ///< does not commute
};

/// Data to send: of each size, and of a type that is longer here than in external32.
struct Sample {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Elements data;
  [[nodiscard]] int count() const { return static_cast<int>(data.count); }
};

inline std::vector<Sample> samples(const Setting& setting) {
  std::vector<Sample> all;
  for (const long long count : {0, 1, 375, 12801, 131072})
    all.push_back({MPI_DOUBLE, setting.doubles(count)});
  for (const long long count : {300, 20001}) all.push_back({MPI_LONG, setting.longs(count)});
  return all;
}

/// Room for elements of either type.
inline std::vector<long long> room(long long count) {
  return std::vector<long long>(static_cast<std::size_t>(count) + 1);
}

inline std::string described(const Sample& sample) {
  return std::to_string(sample.data.count) + (sample.type == MPI_LONG ? " longs" : " doubles");
}

/// The last member of each client: a root that is not its master wherever that can be.
inline std::vector<int> roots_of(const std::vector<int>& client) {
  std::map<int, int> last;
  for (std::size_t rank = 0; rank < client.size(); ++rank)
    last[client[rank]] = static_cast<int>(rank);
  std::vector<int> roots;
  for (const auto& [number, rank] : last) roots.push_back(rank);
  return roots;
}

/// Different numbers for each rank; nothing for the second one.
inline std::vector<int> uneven(int ranks, long long count) {
  std::vector<int> counts;
  for (int rank = 0; rank < ranks; ++rank)
    counts.push_back(rank == 1 ? 0 : static_cast<int>(count * (rank + 1) / 2));
  return counts;
}

inline std::vector<int> displacements(const std::vector<int>& counts) {
  std::vector<int> places{0};
  for (const int count : counts) places.push_back(places.back() + count);
  return places;
}

/// `where` names the communicator; `client` has each rank's.
void check_movements(Bench& bench, MPI_Comm comm, const Members& members, const std::string& where);
void check_reductions(Bench& bench, MPI_Comm comm, const Members& members,
                      const std::string& where);
void check_nonblocking(Bench& bench, MPI_Comm comm, const Members& members,
                       const std::string& where);
/// `groups`: clients by rank; this process is in the first group or not.
void check_between_groups(Bench& bench, MPI_Comm comm, const TwoGroups& groups, bool in_first,
                          const std::string& where);

}  // namespace impishim_test
