// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups (MPI-4.0 7.4.2, 7.6.2): all
// groups of the processes, disjoint ones at once, hints, error handlers, wrong arguments. A joined
// run adds what MPICH 4.0.2 by itself does wrong.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::rank_in;
using impishim_test::size_of;
using Ranks = std::vector<int>;

int handled = 0;

void count_errors(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++handled; }

int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

MPI_Group group_of(const Ranks& ranks) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group made = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &made);
  MPI_Group_free(&all);
  return made;
}

bool has(const Ranks& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void check_one(const Ranks& ranks, const char* tag) {
  if (!has(ranks, rank_in(MPI_COMM_WORLD))) return;
  MPI_Group group = group_of(ranks);
  MPI_Comm made = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
                MPI_SUCCESS);
  check_members(made, ranks);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(made, &handler);
  REQUIRE(handler == MPI_ERRORS_RETURN);
  MPI_Comm_free(&made);
  MPI_Group_free(&group);
}

/// Every group of two or more of the processes, in ascending and in descending order.
void check_all_groups(int size) {
  for (int mask = 1; mask < 1 << size; ++mask) {
    Ranks ranks;
    for (int rank = 0; rank < size; ++rank) {
      if ((mask >> rank & 1) != 0) ranks.push_back(rank);
    }
    check_one(ranks, "ascending");
    std::reverse(ranks.begin(), ranks.end());
    check_one(ranks, "descending");
  }
}

/// Two disjoint groups use the same string tag at the same time.
void check_disjoint(int size) {
  Ranks even;
  Ranks odd;
  for (int rank = 0; rank < size; ++rank) (rank % 2 == 0 ? even : odd).push_back(rank);
  check_one(rank_in(MPI_COMM_WORLD) % 2 == 0 ? even : odd, "the same");
}

void check_empty_group() {
  MPI_Comm made = MPI_COMM_WORLD;
  REQUIRE_EQUAL(
      MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "empty", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
      MPI_SUCCESS);
  REQUIRE(made == MPI_COMM_NULL);
}

/// Hints reach the communicator, and the call's error handler stands on it.
void check_hints_and_handler(const Ranks& all) {
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info used = MPI_INFO_NULL;
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group = group_of(all);
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
  MPI_Comm_create_errhandler(count_errors, &counting);
  REQUIRE_EQUAL(MPI_Comm_create_from_group(group, "hints", hints, counting, &made), MPI_SUCCESS);
  char value[16] = "";
  int found = 0;
  MPI_Comm_get_info(made, &used);
  MPI_Info_get(used, "mpi_assert_no_any_tag", sizeof(value) - 1, value, &found);
  REQUIRE(found != 0 && std::string_view(value) == "true");
  MPI_Info_free(&used);
  MPI_Info_free(&hints);
  handled = 0;
  int nothing = 0;
  REQUIRE_EQUAL(class_of(MPI_Send(&nothing, 1, MPI_INT, size_of(made), 0, made)), MPI_ERR_RANK);
  REQUIRE_EQUAL(handled, 1);
  MPI_Comm_free(&made);
  if (impishim_test::in_joined_job()) {
    // Errors of the call itself go to its handler, too.
    const std::string longest(MPI_MAX_STRINGTAG_LEN + 1, 'x');
    REQUIRE_EQUAL(class_of(MPI_Comm_create_from_group(group, longest.c_str(), MPI_INFO_NULL,
                                                      counting, &made)),
                  MPI_ERR_ARG);
    REQUIRE(made == MPI_COMM_NULL);
    REQUIRE_EQUAL(class_of(MPI_Comm_create_from_group(MPI_GROUP_NULL, "null", MPI_INFO_NULL,
                                                      counting, &made)),
                  MPI_ERR_GROUP);
    MPI_Group other = group_of({(rank_in(MPI_COMM_WORLD) + 1) % size_of(MPI_COMM_WORLD)});
    REQUIRE_EQUAL(
        class_of(MPI_Comm_create_from_group(other, "absent", MPI_INFO_NULL, counting, &made)),
        MPI_ERR_GROUP);
    MPI_Group_free(&other);
    REQUIRE_EQUAL(handled, 4);
  }
  MPI_Errhandler_free(&counting);
  MPI_Group_free(&group);
}

/// `leader` and `remote_leader` are ranks in the groups.
void check_inter(const Ranks& one, const Ranks& two, int leader, int remote_leader) {
  const int rank = rank_in(MPI_COMM_WORLD);
  if (!has(one, rank) && !has(two, rank)) return;
  const bool in_one = has(one, rank);
  const Ranks& mine = in_one ? one : two;
  const Ranks& theirs = in_one ? two : one;
  MPI_Group local = group_of(mine);
  MPI_Group remote = group_of(theirs);
  MPI_Comm inter = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Intercomm_create_from_groups(local, in_one ? leader : remote_leader, remote,
                                                 in_one ? remote_leader : leader, "between groups",
                                                 MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter),
                MPI_SUCCESS);
  int is_inter = 0;
  int remote_size = 0;
  MPI_Comm_test_inter(inter, &is_inter);
  MPI_Comm_remote_size(inter, &remote_size);
  REQUIRE(is_inter != 0);
  REQUIRE_EQUAL(remote_size, theirs.size());
  REQUIRE_EQUAL(size_of(inter), mine.size());
  const int here = rank_in(inter);
  std::vector<int> from(theirs.size(), -1);
  MPI_Allgather(&rank, 1, MPI_INT, from.data(), 1, MPI_INT, inter);
  REQUIRE(from == theirs);
  if (here < remote_size) {
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, here, 3, &got, 1, MPI_INT, here, 3, inter, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(got, theirs[static_cast<std::size_t>(here)]);
  }
  MPI_Comm_free(&inter);
  MPI_Group_free(&local);
  MPI_Group_free(&remote);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  Ranks all;
  for (int rank = 0; rank < size; ++rank) all.push_back(rank);
  check_all_groups(size);
  check_disjoint(size);
  check_empty_group();
  check_hints_and_handler(all);
  check_inter({0, 1}, {2, 3}, 0, 0);
  check_inter({0, 2}, {3, 1}, 1, 0);
  check_inter({3}, {2, 1, 0}, 0, 2);
  check_inter({1}, {2}, 0, 0);
  check_inter({0, 1, 2}, {3}, 2, 0);
  std::printf("rank %d of %d: communicators from groups are right\n", rank_in(MPI_COMM_WORLD),
              size);
  MPI_Finalize();
  return 0;
}
