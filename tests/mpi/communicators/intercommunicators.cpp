// SPDX-License-Identifier: Apache-2.0
// Intercommunicators between groups of every kind: halves, odd and even ranks, one against the
// rest, backwards, with processes left out; made over a bridge of each kind. Each proves its
// groups, point-to-point messages, probes and wildcards; is duplicated, split, created from, merged
// in every order, and freed.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::remote_members_of;
using impishim_test::size_of;
using Ranks = std::vector<int>;

struct Groups {
  Ranks local;
  Ranks remote;
};

void check_inquiry(MPI_Comm inter, const Groups& groups) {
  int flag = 0;
  REQUIRE_EQUAL(MPI_Comm_test_inter(inter, &flag), MPI_SUCCESS);
  REQUIRE_EQUAL(flag, 1);
  REQUIRE_EQUAL(size_of(inter), groups.local.size());
  int remote_size = -1;
  REQUIRE_EQUAL(MPI_Comm_remote_size(inter, &remote_size), MPI_SUCCESS);
  REQUIRE_EQUAL(remote_size, groups.remote.size());
  REQUIRE_EQUAL(groups.local[static_cast<std::size_t>(rank_in(inter))], rank_in(MPI_COMM_WORLD));
  REQUIRE(members_of(inter) == groups.local);
  REQUIRE(remote_members_of(inter) == groups.remote);
  int comparison = -1;
  MPI_Comm_compare(inter, inter, &comparison);
  REQUIRE_EQUAL(comparison, MPI_IDENT);
  MPI_Comm_compare(inter, MPI_COMM_WORLD, &comparison);
  REQUIRE_EQUAL(comparison, MPI_UNEQUAL);
}

/// Everybody sends its world rank to each process of the other group, and hears from each.
void check_messages(MPI_Comm inter, const Groups& groups) {
  const int mine = rank_in(MPI_COMM_WORLD);
  const int rank = rank_in(inter);
  const int peers = static_cast<int>(groups.remote.size());
  std::vector<MPI_Request> requests;
  for (const int tag : {1, 2, 3, 4}) {
    for (int peer = 0; peer < peers; ++peer) {
      auto send = tag == 3 ? MPI_Issend : MPI_Isend;
      send(&mine, 1, MPI_INT, peer, tag, inter, &requests.emplace_back());
    }
  }
  // Named sources, blocking; wildcards, blocking; wildcards, nonblocking; matched probes.
  for (int peer = 0; peer < peers; ++peer) {
    int got = -1;
    MPI_Status status;
    MPI_Recv(&got, 1, MPI_INT, peer, 1, inter, &status);
    REQUIRE_EQUAL(got, groups.remote[static_cast<std::size_t>(peer)]);
    REQUIRE_EQUAL(status.MPI_SOURCE, peer);
  }
  Ranks heard;
  for (int i = 0; i < peers; ++i) {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, 2, inter, &status);
    const int source = status.MPI_SOURCE;
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, i % 2 == 0 ? source : MPI_ANY_SOURCE, 2, inter, &status);
    REQUIRE_EQUAL(got, groups.remote[static_cast<std::size_t>(status.MPI_SOURCE)]);
    heard.push_back(status.MPI_SOURCE);
  }
  std::sort(heard.begin(), heard.end());
  for (int peer = 0; peer < peers; ++peer)
    REQUIRE_EQUAL(heard[static_cast<std::size_t>(peer)], peer);
  Ranks got(static_cast<std::size_t>(peers), -1);
  std::vector<MPI_Request> receives(static_cast<std::size_t>(peers));
  std::vector<MPI_Status> statuses(static_cast<std::size_t>(peers));
  for (std::size_t i = 0; i < got.size(); ++i) {
    MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 3, inter, &receives[i]);
  }
  MPI_Waitall(peers, receives.data(), statuses.data());
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE_EQUAL(got[i], groups.remote[static_cast<std::size_t>(statuses[i].MPI_SOURCE)]);
  }
  for (int i = 0; i < peers; ++i) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Mprobe(MPI_ANY_SOURCE, 4, inter, &message, &status);
    int value = -1;
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    REQUIRE_EQUAL(value, groups.remote[static_cast<std::size_t>(status.MPI_SOURCE)]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);

  // Exchange with a counterpart, where there is one.
  if (rank < peers) {
    int value = -1;
    MPI_Status status;
    MPI_Sendrecv(&mine, 1, MPI_INT, rank, 9, &value, 1, MPI_INT, rank, 9, inter, &status);
    REQUIRE_EQUAL(value, groups.remote[static_cast<std::size_t>(rank)]);
  }
}

void check_it(MPI_Comm inter, const Groups& groups) {
  check_inquiry(inter, groups);
  check_messages(inter, groups);
}

Ranks joined(const Ranks& first, const Ranks& second) {
  Ranks all = first;
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

void check_merges(MPI_Comm inter, const Groups& groups, bool is_left) {
  for (const bool left_high : {false, true}) {
    MPI_Comm merged = MPI_COMM_NULL;
    const bool high = is_left == left_high;
    REQUIRE_EQUAL(MPI_Intercomm_merge(inter, high ? 1 : 0, &merged), MPI_SUCCESS);
    check_members(merged,
                  high ? joined(groups.remote, groups.local) : joined(groups.local, groups.remote));
    MPI_Comm_free(&merged);
  }
  // Equal flags: either group may come first, but all must see the same.
  for (const int high : {0, 1}) {
    MPI_Comm merged = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Intercomm_merge(inter, high, &merged), MPI_SUCCESS);
    const bool own_first = members_of(merged).front() == groups.local.front();
    check_members(merged, own_first ? joined(groups.local, groups.remote)
                                    : joined(groups.remote, groups.local));
    MPI_Comm_free(&merged);
  }
}

Ranks chosen(const Ranks& ranks, const std::function<bool(std::size_t)>& choose, bool backwards) {
  Ranks result;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (choose(rank)) result.push_back(ranks[rank]);
  }
  if (backwards) std::reverse(result.begin(), result.end());
  return result;
}

void check_splits(MPI_Comm inter, const Groups& groups) {
  const int rank = rank_in(inter);
  struct Way {
    std::function<int(int)> color;
    bool backwards;
  };
  for (const Way& way :
       {Way{[](int) { return 3; }, true}, Way{[](int each) { return each % 2; }, false},
        Way{[](int each) { return each % 2 == 0 ? 1 : MPI_UNDEFINED; }, true},
        Way{[&](int each) { return each; }, false}}) {
    MPI_Comm part = MPI_COMM_WORLD;
    const int color = way.color(rank);
    REQUIRE_EQUAL(MPI_Comm_split(inter, color, way.backwards ? -rank : rank, &part), MPI_SUCCESS);
    const auto same = [&](std::size_t each) { return way.color(static_cast<int>(each)) == color; };
    const Groups parts{chosen(groups.local, same, way.backwards),
                       chosen(groups.remote, same, way.backwards)};
    if (color == MPI_UNDEFINED || parts.remote.empty()) {
      REQUIRE(part == MPI_COMM_NULL);
      continue;
    }
    check_it(part, parts);
    MPI_Comm_free(&part);
  }
}

void check_create(MPI_Comm inter, const Groups& groups) {
  // Of each group the first member stays out if there are enough, and the last comes first; not
  // natively, since Open MPI 4.1.4 loses the order of the remote group.
  const bool backwards = impishim_test::in_joined_job();
  const auto choice = [&](const Ranks& ranks) {
    const auto choose = [&](std::size_t rank) { return rank != 0 || ranks.size() == 1; };
    return chosen(ranks, choose, backwards);
  };
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm_group(inter, &all);
  const int first = groups.local.size() == 1 ? 0 : 1;
  const int last = static_cast<int>(groups.local.size()) - 1;
  int range[1][3] = {{backwards ? last : first, backwards ? first : last, backwards ? -1 : 1}};
  MPI_Group_range_incl(all, 1, range, &some);
  MPI_Comm made = MPI_COMM_WORLD;
  REQUIRE_EQUAL(MPI_Comm_create(inter, some, &made), MPI_SUCCESS);
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  const Ranks local = choice(groups.local);
  if (std::find(local.begin(), local.end(), rank_in(MPI_COMM_WORLD)) == local.end()) {
    REQUIRE(made == MPI_COMM_NULL);
    return;
  }
  check_it(made, {local, choice(groups.remote)});
  MPI_Comm_free(&made);
}

void check_duplicates(MPI_Comm inter, const Groups& groups) {
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm second = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_dup(inter, &twin), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Comm_dup_with_info(twin, MPI_INFO_NULL, &second), MPI_SUCCESS);
  for (MPI_Comm each : {twin, second}) {
    check_it(each, groups);
    int comparison = -1;
    MPI_Comm_compare(inter, each, &comparison);
    REQUIRE_EQUAL(comparison, MPI_CONGRUENT);
  }
  MPI_Comm_free(&twin);
  REQUIRE_EQUAL(MPI_Comm_disconnect(&second), MPI_SUCCESS);
}

/// Who is in which group: 0, 1 or MPI_UNDEFINED; and the order of ranks in them.
struct Sides {
  std::function<int(int)> side;
  std::function<int(int)> key;
};

Ranks side_of(const Sides& sides, int side) {
  Ranks members;
  for (int rank = 0; rank < size_of(MPI_COMM_WORLD); ++rank) {
    if (sides.side(rank) == side) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return sides.key(a) < sides.key(b); });
  return members;
}

void check_sides(const Sides& sides, MPI_Comm bridge, bool last_leads) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int side = sides.side(rank);
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, side, sides.key(rank), &local);
  if (side == MPI_UNDEFINED) return;
  const Groups groups{side_of(sides, side), side_of(sides, 1 - side)};
  const int leader = last_leads ? static_cast<int>(groups.local.size()) - 1 : 0;
  const int other_leader = groups.remote[last_leads ? groups.remote.size() - 1 : 0];
  MPI_Comm inter = MPI_COMM_NULL;
  // The bridge counts at the leader only, and has the world's ranks.
  const bool leads = rank_in(local) == leader;
  REQUIRE_EQUAL(MPI_Intercomm_create(local, leader, leads ? bridge : MPI_COMM_NULL,
                                     leads ? other_leader : -5, 17, &inter),
                MPI_SUCCESS);
  check_it(inter, groups);
  check_duplicates(inter, groups);
  check_merges(inter, groups, side == 0);
  check_splits(inter, groups);
  check_create(inter, groups);
  MPI_Comm_free(&local);
  check_it(inter, groups);  // it does not depend on what it was made from
  REQUIRE_EQUAL(MPI_Comm_free(&inter), MPI_SUCCESS);
  REQUIRE(inter == MPI_COMM_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  const auto by_rank = [](int rank) { return rank; };
  const auto backwards = [](int rank) { return -rank; };
  const std::vector<Sides> all = {
      {[&](int rank) { return rank < size / 2 ? 0 : 1; }, by_rank},
      {[&](int rank) { return rank < size / 2 ? 1 : 0; }, backwards},
      {[](int rank) { return rank % 2; }, by_rank},
      {[](int rank) { return rank % 2; }, backwards},
      {[](int rank) { return rank == 0 ? 0 : 1; }, by_rank},
      {[&](int rank) { return rank == size - 1 ? 0 : 1; }, backwards},
      {[](int rank) { return rank == 1 ? 1 : 0; }, by_rank},
      {[](int rank) { return rank == 0   ? 0
                             : rank == 1 ? 1
                                         : MPI_UNDEFINED; }, by_rank},
      {[&](int rank) { return rank == size - 2   ? 0
                              : rank == size - 1 ? 1
                                                 : MPI_UNDEFINED; },
       by_rank},
      {[&](int rank) { return rank == 1          ? 0
                              : rank == size - 1 ? 1
                                                 : MPI_UNDEFINED; }, by_rank},
  };
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &bridge);
  bool last_leads = false;
  for (const Sides& sides : all) {
    check_sides(sides, last_leads ? bridge : MPI_COMM_WORLD, last_leads);
    last_leads = !last_leads;
  }
  MPI_Comm_free(&bridge);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("intercommunicators of %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
