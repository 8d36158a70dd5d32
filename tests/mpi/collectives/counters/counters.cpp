// SPDX-License-Identifier: Apache-2.0
/// What collectives send between systems, counted and compared with the formulas of
/// collectives/README.md, call by call.
///
/// The forms that count are those that IMPISHIM_WIRE_FORMAT and IMPISHIM_COLLECTIVES choose: the
/// program reads the same variables, and so tells which formula is the right one. Every call that
/// sends something else is reported with its figures, and the program then ends with 1.
#include <cstring>

#include "tests/mpi/collectives/counters/meter.hpp"

namespace {

using namespace impishim_test;

/// a op b = a, of elements of eight bytes.
void keep_left(void* left, void* right, int* count, MPI_Datatype*) {
  std::memcpy(right, left, 8 * static_cast<std::size_t>(*count));
}

int attribute(MPI_Comm comm, int key) {
  int* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, key, &value, &found);
  REQUIRE(found != 0);
  return *value;
}

/// The client of each rank of the world.
std::vector<int> clients_of_world() {
  const int color = attribute(MPI_COMM_WORLD, IMPI_CLIENT_COLOR);
  std::vector<int> colors(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)));
  MPI_Allgather(&color, 1, MPI_INT, colors.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return colors;
}

std::string named(const char* what, const std::vector<int>& client) {
  std::string name = what;
  for (const int each : client) name += ' ' + std::to_string(each);
  return name;
}

/// `key`: the order of ranks.
void check_all_of_world(Bench& bench, const std::vector<int>& client_of_world, int key,
                        const char* what) {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
  std::vector<int> colors(client_of_world.size());
  MPI_Allgather(&client_of_world[static_cast<std::size_t>(rank)], 1, MPI_INT, colors.data(), 1,
                MPI_INT, comm);
  const Members members = numbered(colors);
  REQUIRE_EQUAL(members.clients(), attribute(comm, IMPI_CLIENT_SIZE));
  const std::string where = named(what, members.client);
  check_movements(bench, comm, members, where);
  check_reductions(bench, comm, members, where);
  check_nonblocking(bench, comm, members, where);
  MPI_Comm_free(&comm);
}

/// `in_first`: whether a rank of the world is in the first group; rank 0 is.
template <class InFirst>
void check_two_groups(Bench& bench, const std::vector<int>& client_of_world, InFirst&& in_first,
                      const char* what) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  TwoGroups groups;
  int leader_of_second = -1;
  for (int each = 0; each < size; ++each) {
    (in_first(each) ? groups.first : groups.second)
        .push_back(client_of_world[static_cast<std::size_t>(each)]);
    if (leader_of_second < 0 && !in_first(each)) leader_of_second = each;
  }
  const bool mine_is_first = in_first(rank);
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, mine_is_first ? 0 : 1, 0, &local);
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, mine_is_first ? leader_of_second : 0, 1, &inter);
  const std::string where = named(what, groups.first) + named(" and", groups.second);
  check_between_groups(bench, inter, groups, mine_is_first, where);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

int check_all() {
  const Setting setting = Setting::from_environment();
  Meter meter;
  Bench bench{meter, setting};
  MPI_Op_create(keep_left, 0, &bench.keep_left);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const auto client = clients_of_world();
  check_all_of_world(bench, client, rank, "world");
  // Ranks dealt from both ends: clients alternate.
  check_all_of_world(bench, client, rank < size / 2 ? 2 * rank : 2 * (size - rank) - 1, "dealt");
  check_two_groups(
      bench, client, [&](int each) { return each < size / 2; }, "halves");
  check_two_groups(
      bench, client, [](int each) { return each % 2 == 0; }, "odd and even");
  MPI_Op_free(&bench.keep_left);
  return meter.report();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  if (impishim_get_counters == nullptr) {
    std::fprintf(stderr, "there are no counters: the library is not loaded\n");
  } else {
    code = check_all();
  }
  MPI_Finalize();
  return code;
}
