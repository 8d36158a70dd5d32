// SPDX-License-Identifier: Apache-2.0
// Every function of groups on all groups of the first four processes in every order: within a
// system, across systems, and mixed. What sets and lists say is what must come out.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;
using impishim_test::world_ranks;
using Ranks = std::vector<int>;

MPI_Group world_group() {
  MPI_Group world = MPI_GROUP_NULL;
  REQUIRE_EQUAL(MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_SUCCESS);
  return world;
}

void free_group(MPI_Group group) {
  if (group == MPI_GROUP_EMPTY) return;
  REQUIRE_EQUAL(MPI_Group_free(&group), MPI_SUCCESS);
  REQUIRE(group == MPI_GROUP_NULL);
}

MPI_Group group_of(const Ranks& ranks) {
  MPI_Group world = world_group();
  MPI_Group made = MPI_GROUP_NULL;
  REQUIRE_EQUAL(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &made),
                MPI_SUCCESS);
  free_group(world);
  return made;
}

/// All orders of all subsets of the first processes.
std::vector<Ranks> small_lists() {
  const int processes = std::min(size_of(MPI_COMM_WORLD), 4);
  std::vector<Ranks> lists;
  for (int mask = 0; mask < 1 << processes; ++mask) {
    Ranks list;
    for (int process = 0; process < processes; ++process) {
      if ((mask >> process & 1) != 0) list.push_back(process);
    }
    do lists.push_back(list);
    while (std::next_permutation(list.begin(), list.end()));
  }
  return lists;
}

bool has(const Ranks& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void check_one(MPI_Group group, const Ranks& ranks) {
  REQUIRE(world_ranks(group) == ranks);
  int size = -1;
  REQUIRE_EQUAL(MPI_Group_size(group, &size), MPI_SUCCESS);
  REQUIRE_EQUAL(size, ranks.size());
  int rank = -1;
  REQUIRE_EQUAL(MPI_Group_rank(group, &rank), MPI_SUCCESS);
  const auto here = std::find(ranks.begin(), ranks.end(), rank_in(MPI_COMM_WORLD));
  REQUIRE_EQUAL(rank, here == ranks.end() ? MPI_UNDEFINED : here - ranks.begin());
}

void check_result(int code, MPI_Group group, const Ranks& ranks) {
  REQUIRE_EQUAL(code, MPI_SUCCESS);
  check_one(group, ranks);
  free_group(group);
}

void check_pair(MPI_Group one, const Ranks& first, MPI_Group two, const Ranks& second) {
  Ranks all = first;
  Ranks common;
  Ranks rest;
  for (const int rank : second) {
    if (!has(first, rank)) all.push_back(rank);
  }
  for (const int rank : first) (has(second, rank) ? common : rest).push_back(rank);
  MPI_Group result = MPI_GROUP_NULL;
  int code = MPI_Group_union(one, two, &result);
  check_result(code, result, all);
  code = MPI_Group_intersection(one, two, &result);
  check_result(code, result, common);
  code = MPI_Group_difference(one, two, &result);
  check_result(code, result, rest);

  int comparison = -1;
  REQUIRE_EQUAL(MPI_Group_compare(one, two, &comparison), MPI_SUCCESS);
  const bool same_members = first.size() == second.size() && rest.empty();
  REQUIRE_EQUAL(comparison, first == second ? MPI_IDENT : same_members ? MPI_SIMILAR : MPI_UNEQUAL);

  Ranks from(first.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(i);
  from.push_back(MPI_PROC_NULL);
  Ranks to(from.size(), -7);
  REQUIRE_EQUAL(
      MPI_Group_translate_ranks(one, static_cast<int>(from.size()), from.data(), two, to.data()),
      MPI_SUCCESS);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto place = std::find(second.begin(), second.end(), first[i]);
    REQUIRE_EQUAL(to[i], place == second.end() ? MPI_UNDEFINED : place - second.begin());
  }
  // MPICH 4.0.2 and Open MPI 4.1.4 do not know MPI_PROC_NULL where a group is empty.
  if (!first.empty() && !second.empty()) REQUIRE_EQUAL(to.back(), MPI_PROC_NULL);
}

void check_all_pairs() {
  const auto lists = small_lists();
  std::vector<MPI_Group> groups;
  for (const Ranks& ranks : lists) {
    groups.push_back(group_of(ranks));
    check_one(groups.back(), ranks);
    REQUIRE(!ranks.empty() || groups.back() == MPI_GROUP_EMPTY);
    // Through Fortran's integers and back.
    REQUIRE(MPI_Group_f2c(MPI_Group_c2f(groups.back())) == groups.back());
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t j = 0; j < lists.size(); ++j)
      check_pair(groups[i], lists[i], groups[j], lists[j]);
    check_pair(groups[i], lists[i], MPI_GROUP_EMPTY, {});
  }
  for (MPI_Group group : groups) free_group(group);
}

/// Groups of communicators, natively made ones among them, are the same as those chosen from the
/// world.
void check_groups_of_communicators() {
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Group self = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_SELF, &self);
  MPI_Group chosen = group_of({rank});
  int comparison = -1;
  MPI_Group_compare(self, chosen, &comparison);
  REQUIRE_EQUAL(comparison, MPI_IDENT);
  free_group(self);
  free_group(chosen);
  for (const int width : {1, 2, 3}) {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % width, -rank, &part);
    Ranks members;
    for (int each = size - 1; each >= 0; --each) {
      if (each % width == rank % width) members.push_back(each);
    }
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(part, &group);
    check_one(group, members);
    MPI_Comm_free(&part);
    check_one(group, members);  // groups outlive what they came from
    free_group(group);
  }
}

void check_choices() {
  const int size = size_of(MPI_COMM_WORLD);
  MPI_Group world = world_group();
  Ranks backwards;
  for (int rank = size - 1; rank >= 0; --rank) backwards.push_back(rank);
  MPI_Group all = group_of(backwards);
  MPI_Group result = MPI_GROUP_NULL;
  const int last = size - 1;

  int down[1][3] = {{last, 0, -1}};
  int code = MPI_Group_range_incl(all, 1, down, &result);
  Ranks upwards(backwards.rbegin(), backwards.rend());
  check_result(code, result, upwards);
  int strided[2][3] = {{1, last, 2}, {0, last, 2}};
  code = MPI_Group_range_incl(world, 2, strided, &result);
  Ranks expected;
  for (int rank = 1; rank < size; rank += 2) expected.push_back(rank);
  for (int rank = 0; rank < size; rank += 2) expected.push_back(rank);
  check_result(code, result, expected);
  code = MPI_Group_range_excl(world, 2, strided, &result);
  check_result(code, result, {});
  int ends[2][3] = {{0, 0, 1}, {last, last, -1}};
  code = MPI_Group_range_excl(all, 2, ends, &result);
  check_result(code, result, Ranks(backwards.begin() + 1, backwards.end() - 1));
  code = MPI_Group_range_incl(all, 0, ends, &result);
  check_result(code, result, {});

  const int some[2] = {last, 0};
  code = MPI_Group_excl(all, 2, some, &result);
  check_result(code, result, Ranks(backwards.begin() + 1, backwards.end() - 1));
  code = MPI_Group_excl(all, 0, some, &result);
  check_result(code, result, backwards);
  code = MPI_Group_incl(all, 2, some, &result);
  check_result(code, result, {0, last});
  code = MPI_Group_incl(all, 0, some, &result);
  check_result(code, result, {});
  free_group(all);
  free_group(world);
}

void check_errors() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Group world = world_group();
  MPI_Group result = MPI_GROUP_NULL;
  const int size = size_of(MPI_COMM_WORLD);
  const int beyond[1] = {size};
  const int negative[1] = {-1};
  int beyond_range[1][3] = {{0, size, 1}};
  int translated[1] = {0};
  const int codes[] = {MPI_Group_incl(world, 1, beyond, &result),
                       MPI_Group_excl(world, 1, negative, &result),
                       MPI_Group_range_incl(world, 1, beyond_range, &result),
                       MPI_Group_translate_ranks(world, 1, beyond, world, translated)};
  for (const int code : codes) {
    REQUIRE(code != MPI_SUCCESS);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    REQUIRE(error_class == MPI_ERR_RANK || error_class == MPI_ERR_ARG);
  }
  int remote = 0;
  REQUIRE(MPI_Comm_remote_size(MPI_COMM_WORLD, &remote) != MPI_SUCCESS);
  REQUIRE(MPI_Comm_remote_group(MPI_COMM_WORLD, &result) != MPI_SUCCESS);
  free_group(world);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_all_pairs();
  check_groups_of_communicators();
  check_choices();
  if (impishim_test::in_joined_job()) check_errors();
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("groups of %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
