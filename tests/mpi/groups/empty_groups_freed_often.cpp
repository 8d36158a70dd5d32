// SPDX-License-Identifier: Apache-2.0
// Empty groups that every constructor makes, each freed once, many times over: a group that a
// library hands out belongs to its caller, also MPI_GROUP_EMPTY, of which Open MPI counts the
// references.
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using Make = std::function<int(MPI_Group, MPI_Group, MPI_Group*)>;

/// Each makes an empty group, from all processes and from none.
std::vector<Make> makers() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  static std::vector<int> ranks;
  ranks.resize(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  static int everyone[1][3] = {{0, size - 1, 1}};
  return {
      [](MPI_Group all, MPI_Group, MPI_Group* made) {
        return MPI_Group_incl(all, 0, nullptr, made);
      },
      [](MPI_Group all, MPI_Group, MPI_Group* made) {
        return MPI_Group_excl(all, static_cast<int>(ranks.size()), ranks.data(), made);
      },
      [](MPI_Group all, MPI_Group, MPI_Group* made) {
        return MPI_Group_range_incl(all, 0, nullptr, made);
      },
      [](MPI_Group all, MPI_Group, MPI_Group* made) {
        return MPI_Group_range_excl(all, 1, everyone, made);
      },
      [](MPI_Group all, MPI_Group, MPI_Group* made) {
        return MPI_Group_difference(all, all, made);
      },
      [](MPI_Group all, MPI_Group none, MPI_Group* made) {
        return MPI_Group_difference(none, all, made);
      },
      [](MPI_Group all, MPI_Group none, MPI_Group* made) {
        return MPI_Group_intersection(all, none, made);
      },
      [](MPI_Group all, MPI_Group none, MPI_Group* made) {
        return MPI_Group_intersection(none, all, made);
      },
      [](MPI_Group, MPI_Group none, MPI_Group* made) { return MPI_Group_union(none, none, made); },
  };
}

void make_and_free(const Make& make, MPI_Group all, MPI_Group none) {
  MPI_Group made = MPI_GROUP_NULL;
  REQUIRE_EQUAL(make(all, none, &made), MPI_SUCCESS);
  int size = -1;
  REQUIRE_EQUAL(MPI_Group_size(made, &size), MPI_SUCCESS);
  REQUIRE_EQUAL(size, 0);
  REQUIRE_EQUAL(MPI_Group_free(&made), MPI_SUCCESS);
  REQUIRE(made == MPI_GROUP_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  const std::vector<Make> all_makers = makers();
  for (int round = 0; round < 100; ++round) {
    for (const Make& make : all_makers) make_and_free(make, all, MPI_GROUP_EMPTY);
  }
  MPI_Group_free(&all);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d: empty groups: well\n", rank);
  MPI_Finalize();
  return 0;
}
