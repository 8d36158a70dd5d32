// SPDX-License-Identifier: Apache-2.0
// MPI_Group_*, MPI_Comm_group, MPI_Comm_remote_group (MPI-3.1 6.3). The vendor handles calls on its
// own groups. This library handles a call as soon as one argument is its own group. Errors are
// raised through the handler of MPI_COMM_WORLD, since groups have none (MPI-3.1 8.3).
#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/group/group.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {
namespace {

int group_error(int error_class, const char* function, std::string_view text) {
  return raise(MPI_COMM_WORLD, error_class, function, text);
}

/// Creates the result of a set operation on two groups, at least one of which belongs to this
/// library.
int combine(Job& job, const char* function, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup,
            RankList (*operation)(const RankList&, const RankList&)) {
  RankList one;
  RankList two;
  int code = members_of(job, group1, function, one);
  if (code == MPI_SUCCESS) code = members_of(job, group2, function, two);
  return code == MPI_SUCCESS ? make_group(job, operation(one, two), newgroup) : code;
}

/// Creates the result of a selection of ranks from a group of this library.
int choose(Job& job, const char* function, MPI_Group group, int n, const int* ranks,
           MPI_Group* newgroup,
           Result<RankList> (*operation)(const RankList&, std::span<const std::int32_t>)) {
  RankList members;
  const int code = members_of(job, group, function, members);
  if (code != MPI_SUCCESS) return code;
  if (n < 0) return group_error(MPI_ERR_ARG, function, fmt::format("{} ranks", n));
  const auto chosen = operation(members, {ranks, static_cast<std::size_t>(n)});
  if (!chosen) return group_error(MPI_ERR_RANK, function, chosen.error().text);
  return make_group(job, *chosen, newgroup);
}

int choose_ranges(Job& job, const char* function, MPI_Group group, int n, const int (*ranges)[3],
                  MPI_Group* newgroup,
                  Result<RankList> (*operation)(const RankList&, std::span<const std::int32_t>)) {
  RankList members;
  const int code = members_of(job, group, function, members);
  if (code != MPI_SUCCESS) return code;
  if (n < 0) return group_error(MPI_ERR_ARG, function, fmt::format("{} ranges", n));
  std::vector<RankRange> list;
  for (int i = 0; i < n; ++i) list.push_back({ranges[i][0], ranges[i][1], ranges[i][2]});
  const auto ranks = expanded(list, static_cast<std::int32_t>(members.size()));
  if (!ranks) return group_error(MPI_ERR_ARG, function, ranks.error().text);
  return choose(job, function, group, static_cast<int>(ranks->size()), ranks->data(), newgroup,
                operation);
}

}  // namespace

namespace calls {

int Comm_group(Job& job, MPI_Comm comm, MPI_Group* group) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Comm_group(comm, group);
  return make_group(job, communicator->own_group(), group);
}

int Comm_remote_group(Job& job, MPI_Comm comm, MPI_Group* group) {
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Comm_remote_group(comm, group);
  if (communicator->inter == nullptr)
    return raise(comm, MPI_ERR_COMM, "MPI_Comm_remote_group", "no intercommunicator");
  return make_group(job, communicator->members, group);
}

int Group_size(Job& job, MPI_Group group, int* size) {
  if (!is_own_group(group)) return vendor::Group_size(group, size);
  RankList members;
  const int code = members_of(job, group, "MPI_Group_size", members);
  if (code == MPI_SUCCESS) *size = static_cast<int>(members.size());
  return code;
}

int Group_rank(Job& job, MPI_Group group, int* rank) {
  if (!is_own_group(group)) return vendor::Group_rank(group, rank);
  RankList members;
  const int code = members_of(job, group, "MPI_Group_rank", members);
  if (code != MPI_SUCCESS) return code;
  const std::int32_t here = rank_of(members, job.here);
  *rank = here == kNoMember ? MPI_UNDEFINED : here;
  return MPI_SUCCESS;
}

int Group_translate_ranks(Job& job, MPI_Group group1, int n, const int* ranks1, MPI_Group group2,
                          int* ranks2) {
  constexpr const char* kFunction = "MPI_Group_translate_ranks";
  if (!is_own_group(group1) && !is_own_group(group2)) {
    return vendor::Group_translate_ranks(group1, n, ranks1, group2, ranks2);
  }
  RankList from;
  RankList to;
  int code = members_of(job, group1, kFunction, from);
  if (code == MPI_SUCCESS) code = members_of(job, group2, kFunction, to);
  if (code != MPI_SUCCESS) return code;
  if (n < 0) return group_error(MPI_ERR_ARG, kFunction, fmt::format("{} ranks", n));
  const auto places = ranks_of(to, from);
  for (int i = 0; i < n; ++i) {
    const int rank = ranks1[i];
    if (rank != MPI_PROC_NULL && (rank < 0 || static_cast<std::size_t>(rank) >= from.size())) {
      return group_error(MPI_ERR_RANK, kFunction,
                         fmt::format("rank {} is not in a group of {}", rank, from.size()));
    }
    const std::int32_t place =
        rank == MPI_PROC_NULL ? kNoMember : places[static_cast<std::size_t>(rank)];
    ranks2[i] = rank == MPI_PROC_NULL ? MPI_PROC_NULL : place == kNoMember ? MPI_UNDEFINED : place;
  }
  return MPI_SUCCESS;
}

int Group_compare(Job& job, MPI_Group group1, MPI_Group group2, int* result) {
  if (!is_own_group(group1) && !is_own_group(group2))
    return vendor::Group_compare(group1, group2, result);
  RankList one;
  RankList two;
  int code = members_of(job, group1, "MPI_Group_compare", one);
  if (code == MPI_SUCCESS) code = members_of(job, group2, "MPI_Group_compare", two);
  if (code != MPI_SUCCESS) return code;
  const Likeness likeness = compare(one, two);
  *result = likeness == Likeness::kIdentical ? MPI_IDENT
            : likeness == Likeness::kSimilar ? MPI_SIMILAR
                                             : MPI_UNEQUAL;
  return MPI_SUCCESS;
}

int Group_union(Job& job, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  if (!is_own_group(group1) && !is_own_group(group2))
    return vendor::Group_union(group1, group2, newgroup);
  return combine(job, "MPI_Group_union", group1, group2, newgroup, union_of);
}

int Group_intersection(Job& job, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  if (!is_own_group(group1) && !is_own_group(group2))
    return vendor::Group_intersection(group1, group2, newgroup);
  return combine(job, "MPI_Group_intersection", group1, group2, newgroup, intersection_of);
}

int Group_difference(Job& job, MPI_Group group1, MPI_Group group2, MPI_Group* newgroup) {
  if (!is_own_group(group1) && !is_own_group(group2))
    return vendor::Group_difference(group1, group2, newgroup);
  return combine(job, "MPI_Group_difference", group1, group2, newgroup, difference_of);
}

int Group_incl(Job& job, MPI_Group group, int n, const int* ranks, MPI_Group* newgroup) {
  if (!is_own_group(group)) return vendor::Group_incl(group, n, ranks, newgroup);
  return choose(job, "MPI_Group_incl", group, n, ranks, newgroup, included);
}

int Group_excl(Job& job, MPI_Group group, int n, const int* ranks, MPI_Group* newgroup) {
  if (!is_own_group(group)) return vendor::Group_excl(group, n, ranks, newgroup);
  return choose(job, "MPI_Group_excl", group, n, ranks, newgroup, excluded);
}

int Group_range_incl(Job& job, MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  if (!is_own_group(group)) return vendor::Group_range_incl(group, n, ranges, newgroup);
  return choose_ranges(job, "MPI_Group_range_incl", group, n, ranges, newgroup, included);
}

int Group_range_excl(Job& job, MPI_Group group, int n, int ranges[][3], MPI_Group* newgroup) {
  if (!is_own_group(group)) return vendor::Group_range_excl(group, n, ranges, newgroup);
  return choose_ranges(job, "MPI_Group_range_excl", group, n, ranges, newgroup, excluded);
}

int Group_free(Job& job, MPI_Group* group) {
  if (!is_own_group(*group)) return vendor::Group_free(group);
  if (!job.groups.release(*group)) {
    return group_error(MPI_ERR_GROUP, "MPI_Group_free", "the group has been freed");
  }
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
