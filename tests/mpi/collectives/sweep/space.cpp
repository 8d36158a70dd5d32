// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/space.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"
#include "tests/support/content.hpp"
#include "tests/support/members.hpp"

namespace sweep {
namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

/// Colour (-1: not in it) and key of a world rank.
struct Place {
  int colour;
  int key;
};
using Placing = std::function<Place(int)>;

/// Of each world rank; all alike if no job is joined.
std::vector<int> systems_of_all() {
  int mine = 0;
  if (impishim_comm_world != nullptr && impishim_test::in_joined_job()) {
    int* colour = nullptr;
    int found = 0;
    REQUIRE_EQUAL(MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &colour, &found),
                  MPI_SUCCESS);
    REQUIRE(found != 0);
    mine = *colour;
  }
  std::vector<int> systems(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)));
  MPI_Allgather(&mine, 1, MPI_INT, systems.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return systems;
}

/// One system only.
bool is_native(const Space& space, const std::vector<int>& systems) {
  const auto system_of = [&](int member) { return systems[static_cast<std::size_t>(member)]; };
  const int mine = system_of(rank_in(MPI_COMM_WORLD));
  const auto is_mine = [&](int member) { return system_of(member) == mine; };
  return std::ranges::all_of(space.members, is_mine) && std::ranges::all_of(space.remote, is_mine);
}

void check(const Space& space) {
  if (space.comm == MPI_COMM_NULL) return;
  REQUIRE_EQUAL(size_of(space.comm), space.size());
  REQUIRE_EQUAL(rank_in(space.comm), space.rank);
  if (!space.inter()) return;
  int remote_size = 0;
  MPI_Comm_remote_size(space.comm, &remote_size);
  REQUIRE_EQUAL(remote_size, space.remote.size());
}

/// World ranks of one colour, ordered by key.
std::vector<int> members_of(int colour, const Placing& placing) {
  std::vector<int> members;
  for (int rank = 0; rank < size_of(MPI_COMM_WORLD); ++rank) {
    if (placing(rank).colour == colour) members.push_back(rank);
  }
  std::ranges::stable_sort(members, {}, [&](int rank) { return placing(rank).key; });
  return members;
}

int position(const std::vector<int>& members, int member) {
  return static_cast<int>(std::ranges::find(members, member) - members.begin());
}

Space split(const char* name, const Placing& placing) {
  const int me = rank_in(MPI_COMM_WORLD);
  const Place mine = placing(me);
  Space space;
  space.name = name;
  MPI_Comm_split(MPI_COMM_WORLD, mine.colour < 0 ? MPI_UNDEFINED : mine.colour, mine.key,
                 &space.comm);
  if (mine.colour < 0) return space;
  space.members = members_of(mine.colour, placing);
  space.rank = position(space.members, me);
  return space;
}

Space duplicate(const char* name, const Space& of) {
  Space space = of;
  space.name = name;
  if (of.comm != MPI_COMM_NULL) MPI_Comm_dup(of.comm, &space.comm);
  return space;
}

std::vector<Space> intra_spaces(int size) {
  std::vector<Space> spaces;
  spaces.push_back(split("all", [](int rank) { return Place{0, rank}; }));
  spaces.push_back(duplicate("dup", spaces.front()));
  spaces.push_back(split("reversed", [](int rank) { return Place{0, -rank}; }));
  spaces.push_back(split("rotated", [size](int rank) {
    return Place{0, (rank + size - 1) % size};
  }));
  spaces.push_back(split("interleaved", [](int rank) { return Place{0, rank % 2 * 1000 + rank}; }));
  spaces.push_back(split("even and odd", [](int rank) { return Place{rank % 2, -rank}; }));
  spaces.push_back(split("halves", [size](int rank) { return Place{rank * 2 / size, rank}; }));
  spaces.push_back(split("first and rest", [](int rank) {
    return Place{rank == 0 ? 0 : 1, rank};
  }));
  spaces.push_back(split("all but the second", [](int rank) {
    return Place{rank == 1 ? -1 : 0, rank};
  }));
  spaces.push_back(split("alone", [](int rank) { return Place{rank, 0}; }));
  return spaces;
}

void finish_neighbours(Space& space, std::function<std::vector<int>(int)> neighbours) {
  for (int rank = 0; rank < space.size(); ++rank) space.sources.push_back(neighbours(rank));
  space.destinations = space.sources;
}

/// Neighbours of a rank in a grid: for each dimension the one before and the one behind
/// (MPI-3.1 7.6).
std::vector<int> grid_neighbours(int rank, const std::vector<int>& dims,
                                 const std::vector<int>& periods) {
  std::vector<int> found;
  int below = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    below /= dims[d];
    const int coordinate = rank / below % dims[d];
    for (const int step : {-1, 1}) {
      const int wanted = coordinate + step;
      const int wrapped = (wanted + dims[d]) % dims[d];
      found.push_back(wanted == wrapped || periods[d] != 0 ? rank + (wrapped - coordinate) * below
                                                           : MPI_PROC_NULL);
    }
  }
  return found;
}

Space grid(const char* name, const Space& of, const std::vector<int>& dims,
           const std::vector<int>& periods) {
  Space space = of;
  space.name = name;
  MPI_Cart_create(of.comm, static_cast<int>(dims.size()), dims.data(), periods.data(), 0,
                  &space.comm);
  space.grid = true;
  finish_neighbours(space, [&](int rank) { return grid_neighbours(rank, dims, periods); });
  return space;
}

/// MPI_Graph_create: `edges` are pairs, each of which makes both neighbours of each other.
Space graph(const char* name, const Space& of, const std::vector<std::pair<int, int>>& edges) {
  Space space = of;
  space.name = name;
  finish_neighbours(space, [&](int rank) {
    std::vector<int> found;
    for (const auto& [from, to] : edges) {
      if (from == rank) found.push_back(to);
      if (to == rank) found.push_back(from);
    }
    return found;
  });
  std::vector<int> index;
  std::vector<int> flat;
  for (const auto& neighbours : space.sources) {
    flat.insert(flat.end(), neighbours.begin(), neighbours.end());
    index.push_back(static_cast<int>(flat.size()));
  }
  MPI_Graph_create(of.comm, of.size(), index.data(), flat.data(), 0, &space.comm);
  return space;
}

/// MPI_Dist_graph_create_adjacent of random edges, some of them twice, some to oneself.
Space random_graph(const char* name, const Space& of, int edges, std::uint64_t seed) {
  Space space = of;
  space.name = name;
  space.sources.resize(of.members.size());
  space.destinations.resize(of.members.size());
  impishim_test::Random random(seed);
  for (int i = 0; i < edges; ++i) {
    const auto from = static_cast<std::size_t>(random.below(of.members.size()));
    const auto to = static_cast<std::size_t>(random.below(of.members.size()));
    space.destinations[from].push_back(static_cast<int>(to));
    space.sources[to].push_back(static_cast<int>(from));
  }
  const auto& sources = space.sources[static_cast<std::size_t>(of.rank)];
  const auto& destinations = space.destinations[static_cast<std::size_t>(of.rank)];
  MPI_Dist_graph_create_adjacent(of.comm, static_cast<int>(sources.size()), sources.data(),
                                 MPI_UNWEIGHTED, static_cast<int>(destinations.size()),
                                 destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &space.comm);
  return space;
}

std::vector<Space> topology_spaces(int size) {
  Space all = split("all", [](int rank) { return Place{0, rank}; });
  Space reversed = split("reversed", [](int rank) { return Place{0, -rank}; });
  std::vector<Space> spaces;
  spaces.push_back(grid("ring", all, {size}, {1}));
  spaces.push_back(grid("line of reversed ranks", reversed, {size}, {0}));
  const int rows = size % 2 == 0 ? 2 : 1;
  spaces.push_back(grid("grid", all, {rows, size / rows}, {0, 0}));
  spaces.push_back(grid("torus", reversed, {rows, size / rows}, {1, 1}));
  std::vector<std::pair<int, int>> star;
  for (int rank = 1; rank < size; ++rank) star.emplace_back(0, rank);
  spaces.push_back(graph("star", all, star));
  spaces.push_back(random_graph("sparse graph", all, size, 7));
  spaces.push_back(random_graph("dense graph of reversed ranks", reversed, 4 * size, 11));
  MPI_Comm_free(&all.comm);
  MPI_Comm_free(&reversed.comm);
  return spaces;
}

/// An intercommunicator between the two colours of a placing.
Space bridge(const char* name, const Placing& placing) {
  Space group = split("side", placing);
  Space space = group;
  space.name = name;
  const int colour = placing(rank_in(MPI_COMM_WORLD)).colour;
  if (colour < 0) return space;
  space.remote = members_of(1 - colour, placing);
  MPI_Intercomm_create(group.comm, 0, MPI_COMM_WORLD, space.remote.front(), 77, &space.comm);
  MPI_Comm_free(&group.comm);
  return space;
}

std::vector<Space> inter_spaces(int size) {
  std::vector<Space> spaces;
  spaces.push_back(bridge("halves", [size](int rank) { return Place{rank * 2 / size, rank}; }));
  spaces.push_back(bridge("even and odd", [](int rank) { return Place{rank % 2, rank}; }));
  spaces.push_back(bridge("first and rest", [](int rank) {
    return Place{rank == 0 ? 0 : 1, -rank};
  }));
  spaces.push_back(bridge("last and rest", [size](int rank) {
    return Place{rank == size - 1 ? 0 : 1, rank};
  }));
  spaces.push_back(bridge("third and first", [](int rank) {
    return Place{rank == 2 ? 0 : (rank == 0 ? 1 : -1), rank};
  }));
  spaces.push_back(duplicate("dup of even and odd", spaces[1]));
  return spaces;
}

bool has_repetition(std::vector<int> neighbours) {
  std::erase(neighbours, MPI_PROC_NULL);
  std::ranges::sort(neighbours);
  return std::ranges::adjacent_find(neighbours) != neighbours.end();
}

}  // namespace

bool Space::first_group() const {
  return !inter() || *std::ranges::min_element(members) < *std::ranges::min_element(remote);
}

int Space::identity() const {
  const int lowest = members.empty() ? 0 : *std::ranges::min_element(members);
  return inter() ? std::min(lowest, *std::ranges::min_element(remote)) : lowest;
}

std::vector<Space> make_spaces(const std::string& kind) {
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<Space> spaces = kind == "inter"      ? inter_spaces(size)
                              : kind == "topology" ? topology_spaces(size)
                                                   : intra_spaces(size);
  const std::vector<int> systems = systems_of_all();
  for (Space& space : spaces) {
    check(space);
    space.native = is_native(space, systems);
    for (std::size_t i = 0; i < space.sources.size(); ++i) {
      space.one_sided =
          space.one_sided || space.sources[i].empty() != space.destinations[i].empty();
    }
    space.parallel = std::ranges::any_of(space.sources, has_repetition);
  }
  return spaces;
}

void free_spaces(std::vector<Space>& spaces) {
  for (Space& space : spaces) {
    if (space.comm != MPI_COMM_NULL) MPI_Comm_free(&space.comm);
  }
}

}  // namespace sweep
