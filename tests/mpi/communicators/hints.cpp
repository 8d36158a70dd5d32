// SPDX-License-Identifier: Apache-2.0
// The hints of communicators (MPI-3.1 6.4.4): MPI_Comm_set_info, MPI_Comm_get_info,
// MPI_Comm_dup_with_info and, where all MPIs of the job have it, MPI_Comm_idup_with_info. Which
// hints an MPI keeps is its own affair: a communicator over several systems has those that a
// process's own communicator has after the same calls.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::size_of;
using Hints = std::map<std::string, std::string>;

// All MPIs here keep these. What they promise is true here: receives name their sources, and
// messages may come in any order.
constexpr const char* kNamedSources = "mpi_assert_no_any_source";
constexpr const char* kAnyOrder = "mpi_assert_allow_overtaking";
const Hints kFirst{{kNamedSources, "true"}, {"impishim_unknown_to_all", "first"}};
const Hints kSecond{{kNamedSources, "false"}};
// Only from the beginning: Open MPI 4.1.4 loses messages of a communicator that gets it later.
const Hints kFromBirth{{kAnyOrder, "true"}};

/// An info object of these, freed at the end.
class Info {
 public:
  explicit Info(const Hints& hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

Hints hints_of(MPI_Comm comm) {
  MPI_Info used = MPI_INFO_NULL;
  REQUIRE_EQUAL(MPI_Comm_get_info(comm, &used), MPI_SUCCESS);
  REQUIRE(used != MPI_INFO_NULL);
  int count = -1;
  MPI_Info_get_nkeys(used, &count);
  Hints hints;
  for (int i = 0; i < count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    MPI_Info_get_nthkey(used, i, key);
    int length = -1;
    int found = 0;
    MPI_Info_get_valuelen(used, key, &length, &found);
    REQUIRE(found != 0);
    std::vector<char> value(static_cast<std::size_t>(length) + 1);
    MPI_Info_get(used, key, length, value.data(), &found);
    hints[key] = value.data();
  }
  MPI_Info_set(used, "impishim_added", "to a copy");
  REQUIRE_EQUAL(MPI_Info_free(&used), MPI_SUCCESS);
  return hints;
}

void set_hints(MPI_Comm comm, const Hints& hints) {
  const Info info(hints);
  REQUIRE_EQUAL(MPI_Comm_set_info(comm, info), MPI_SUCCESS);
}

MPI_Comm duplicate(MPI_Comm comm) {
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &twin);
  return twin;
}

MPI_Comm duplicate_with(MPI_Comm comm, const Hints& hints) {
  const Info info(hints);
  MPI_Comm twin = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_dup_with_info(comm, info, &twin), MPI_SUCCESS);
  return twin;
}

/// What this process's MPI keeps of these hints, given in either way.
Hints kept_when_set(const Hints& hints) {
  MPI_Comm self = duplicate(MPI_COMM_SELF);
  set_hints(self, hints);
  const Hints kept = hints_of(self);
  MPI_Comm_free(&self);
  return kept;
}

Hints kept_when_duplicated(const Hints& hints) {
  MPI_Comm self = duplicate_with(MPI_COMM_SELF, hints);
  const Hints kept = hints_of(self);
  MPI_Comm_free(&self);
  return kept;
}

/// The twin is to the original what MPI_Comm_dup makes, and carries messages.
void check_twin(MPI_Comm twin, MPI_Comm original) {
  int comparison = -1;
  MPI_Comm_compare(twin, original, &comparison);
  REQUIRE_EQUAL(comparison, MPI_CONGRUENT);
  int inter = -1;
  MPI_Comm_test_inter(twin, &inter);
  if (inter == 0) return check_members(twin, members_of(original));
  REQUIRE(members_of(twin) == members_of(original));
  const auto others = impishim_test::remote_members_of(twin);
  REQUIRE(others == impishim_test::remote_members_of(original));
  const int mine = rank_in(MPI_COMM_WORLD);
  std::vector<int> got(others.size(), -1);
  MPI_Allgather(&mine, 1, MPI_INT, got.data(), 1, MPI_INT, twin);
  REQUIRE(got == others);
}

void check_set(MPI_Comm original) {
  MPI_Comm comm = duplicate(original);
  const Hints before = hints_of(original);
  REQUIRE(hints_of(comm) == kept_when_set({}));
  set_hints(comm, kFirst);
  REQUIRE(hints_of(comm) == kept_when_set(kFirst));
  REQUIRE(hints_of(comm).at(kNamedSources) == "true");
  check_twin(comm, original);
  set_hints(comm, kSecond);
  REQUIRE(hints_of(comm).at(kNamedSources) == "false");
  check_twin(comm, original);
  REQUIRE(hints_of(original) == before);
  MPI_Comm_free(&comm);
}

/// The new hints count in place of the original's.
void check_duplicate(MPI_Comm original) {
  MPI_Comm comm = duplicate_with(original, kFirst);
  REQUIRE(hints_of(comm) == kept_when_duplicated(kFirst));
  MPI_Comm other = duplicate_with(comm, kFromBirth);
  REQUIRE(hints_of(other) == kept_when_duplicated(kFromBirth));
  REQUIRE(hints_of(other).at(kAnyOrder) == "true");
  REQUIRE(hints_of(comm) == kept_when_duplicated(kFirst));
  MPI_Comm plain = MPI_COMM_NULL;
  MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &plain);
  REQUIRE(hints_of(plain) == kept_when_duplicated({}));
  for (MPI_Comm* twin : {&comm, &other, &plain}) {
    check_twin(*twin, original);
    MPI_Comm_free(twin);
  }
}

#if MPI_VERSION >= 4
/// Several at once, completed in any order. Info objects change and are freed before the duplicates
/// are there (MPI-4.0 10).
void check_several_duplicates(MPI_Comm original) {
  const std::vector<Hints> given{kFirst, kFromBirth, kSecond};
  std::vector<MPI_Comm> twins(given.size(), MPI_COMM_NULL);
  std::vector<MPI_Request> requests(given.size(), MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Info info(given[i]);
    REQUIRE_EQUAL(MPI_Comm_idup_with_info(original, info, &twins[i], &requests[i]), MPI_SUCCESS);
    MPI_Info_set(info, kAnyOrder, i % 2 == 0 ? "false" : "true");
  }
  const Info other(Hints{{kNamedSources, "false"}});  // the handle may be one of those
  if (rank_in(MPI_COMM_WORLD) % 2 == 0) {
    for (auto request = requests.rbegin(); request != requests.rend(); ++request)
      MPI_Wait(&*request, MPI_STATUS_IGNORE);
  } else {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    REQUIRE(hints_of(twins[i]) == kept_when_duplicated(given[i]));
    check_twin(twins[i], original);
    MPI_Comm_free(&twins[i]);
  }
}
#endif

/// The MPIs of all systems are of this version at least.
bool everybody_has(int wanted) {
  int version = 0;
  int minor = 0;
  MPI_Get_version(&version, &minor);
  MPI_Allreduce(MPI_IN_PLACE, &version, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return version >= wanted;
}

void check(MPI_Comm comm, [[maybe_unused]] bool nonblocking) {
  check_set(comm);
  check_duplicate(comm);
#if MPI_VERSION >= 4
  if (nonblocking) check_several_duplicates(comm);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const int half = rank < size / 2 ? 0 : 1;
  MPI_Comm backwards = impishim_test::world_backwards();
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, half, rank, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, half == 0 ? size / 2 : 0, 9, &bridge);
  const bool nonblocking = everybody_has(4);
  for (MPI_Comm comm : {MPI_COMM_WORLD, backwards, part, bridge, MPI_COMM_SELF})
    check(comm, nonblocking);
  for (MPI_Comm* comm : {&bridge, &part, &backwards}) MPI_Comm_free(comm);
  if (rank == 0) std::printf("hints on %d ranks: right\n", size);
  MPI_Finalize();
}
