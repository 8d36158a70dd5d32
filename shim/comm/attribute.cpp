// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/attribute.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "impishim/impishim.h"
#include "shim/entry_points.hpp"
#include "shim/error/refusal.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

int delete_self_attributes(Job& job) {
  int outcome = MPI_SUCCESS;
  // Takes one key at a time, since a callback may itself set and delete attributes.
  while (const auto keyval = job.self_attributes.take_last()) {
    const int code = vendor::Comm_delete_attr(MPI_COMM_SELF, *keyval);
    if (outcome == MPI_SUCCESS) outcome = code;
  }
  return outcome;
}

namespace {

bool is_impi_key(int keyval) {
  return keyval == IMPI_CLIENT_SIZE || keyval == IMPI_CLIENT_COLOR || keyval == IMPI_HOST_SIZE ||
         keyval == IMPI_HOST_COLOR;
}

/// The four values of IMPI 2.5 for one communicator.
struct Whereabouts {
  int client_size = 1;
  int client_color = 0;
  int host_size = 1;
  int host_color = 0;
};

/// Computes the values of a native communicator, whose processes are all in this client.
int whereabouts_of_native(Job& job, MPI_Comm comm, Whereabouts& out) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int code = vendor::Comm_group(comm, &group);
  if (code != MPI_SUCCESS) return code;
  vendor::Comm_group(job.private_comm, &world);
  int size = 0;
  vendor::Group_size(group, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::vector<int> native_ranks(ranks.size());
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  code = vendor::Group_translate_ranks(group, size, ranks.data(), world, native_ranks.data());
  vendor::Group_free(&group);
  vendor::Group_free(&world);
  if (code != MPI_SUCCESS) return code;

  const wire::WorldRank first = job.map.client(job.client).first_proc;
  std::set<std::int32_t> hosts;
  for (const int native : native_ranks) {
    // Processes that were started later (MPI_Comm_spawn) are on no host of the job.
    if (native != MPI_UNDEFINED)
      hosts.insert(
          job.map.procs()[static_cast<std::size_t>(first) + static_cast<std::size_t>(native)].host);
  }
  const std::int32_t my_host = job.map.proc(job.here).host;
  out.host_size = static_cast<int>(hosts.size());
  out.host_color = static_cast<int>(std::distance(hosts.begin(), hosts.lower_bound(my_host)));
  return MPI_SUCCESS;
}

Whereabouts whereabouts_of(const Communicator& communicator) {
  const Communicator& all =
      communicator.inter == nullptr ? communicator : *communicator.inter->both;
  return {static_cast<int>(all.masters.size()), all.client_color, all.host_count, all.host_color};
}

int value_of(const Whereabouts& whereabouts, int keyval) {
  if (keyval == IMPI_CLIENT_SIZE) return whereabouts.client_size;
  if (keyval == IMPI_CLIENT_COLOR) return whereabouts.client_color;
  if (keyval == IMPI_HOST_SIZE) return whereabouts.host_size;
  return whereabouts.host_color;
}

/// Returns the value that the joined job reports for a predefined key instead of the vendor's, or
/// nothing.
std::optional<int> joined_value(const Job& job, const Communicator* spanning, int keyval) {
  // The client number is the same in every communicator of this process: coupled programs read it
  // from MPI_COMM_WORLD in both world modes.
  if (keyval == MPI_APPNUM) return job.client;
  if (spanning == nullptr) return std::nullopt;
  if (keyval == MPI_TAG_UB) return job.map.values().tag_ub;
  if (keyval == MPI_UNIVERSE_SIZE) return job.map.at_start().size();
  if (keyval == MPI_WTIME_IS_GLOBAL) return 0;  // every system has its own clock
  if (keyval == MPI_HOST) return MPI_PROC_NULL;
  // The I/O abilities of processes of other libraries are unknown. Both vendors of known processes
  // report that all can do I/O.
  const bool all_known = std::ranges::all_of(job.map.at_start().clients(), &wire::Client::impishim);
  if (keyval == MPI_IO && !all_known) return spanning->rank;
  return std::nullopt;
}

}  // namespace

int joined_attribute(Job& job, MPI_Comm comm, int keyval, std::optional<int>& value) {
  const Communicator* communicator = spanning(&job, comm);
  if (!is_impi_key(keyval)) {
    value = joined_value(job, communicator, keyval);
    return MPI_SUCCESS;
  }
  Whereabouts whereabouts;
  int code = MPI_SUCCESS;
  if (communicator != nullptr) {
    whereabouts = whereabouts_of(*communicator);
  } else {
    code = whereabouts_of_native(job, comm, whereabouts);
  }
  if (code == MPI_SUCCESS) value = value_of(whereabouts, keyval);
  return code;
}

int check_attribute_change(const Job& job, MPI_Comm comm, const char* function) {
  // The vendor copies a spanning communicator's attributes for MPI_Comm_idup when all members have
  // called it, with their values at that time. MPI requires the values at the time of the call
  // (MPI-3.1 6.4.2).
  const Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr || communicator->duplications.load() == 0) return MPI_SUCCESS;
  return refuse(comm, function,
                "an MPI_Comm_idup of this communicator, which spans systems, is outstanding and "
                "has yet to copy its attributes: "
                "complete it first (see README, limits)");
}

void attribute_was_set(Job& job, MPI_Comm comm, int keyval) {
  if (comm == MPI_COMM_SELF) job.self_attributes.set(keyval);
}

void reserve_impi_keys() {
#ifndef IMPI_CLIENT_SIZE
  // The keys are enumerators of the vendor, not macros. The loop creates keys one by one. The first
  // key with another number shows that all of these numbers are taken.
  int keyval = MPI_KEYVAL_INVALID;
  do {
    if (vendor::Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval,
                                   nullptr) != MPI_SUCCESS)
      return;
  } while (is_impi_key(keyval));
  vendor::Comm_free_keyval(&keyval);
#endif
}

namespace calls {

int Comm_get_attr(Job& job, MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  std::optional<int> value;
  int code = joined_attribute(job, comm, comm_keyval, value);
  // The vendor checks the arguments in any case, with a key that it knows.
  if (code == MPI_SUCCESS)
    code = vendor::Comm_get_attr(comm, value ? MPI_TAG_UB : comm_keyval, attribute_val, flag);
  if (code != MPI_SUCCESS || !value) return code;
  *static_cast<int**>(attribute_val) = job.attribute_values.of(*value);
  *flag = 1;
  return MPI_SUCCESS;
}

int Comm_set_attr(Job& job, MPI_Comm comm, int comm_keyval, void* attribute_val) {
  int code = check_attribute_change(job, comm, "MPI_Comm_set_attr");
  if (code == MPI_SUCCESS) code = vendor::Comm_set_attr(comm, comm_keyval, attribute_val);
  if (code == MPI_SUCCESS) attribute_was_set(job, comm, comm_keyval);
  return code;
}

int Comm_delete_attr(Job& job, MPI_Comm comm, int comm_keyval) {
  int code = check_attribute_change(job, comm, "MPI_Comm_delete_attr");
  if (code == MPI_SUCCESS) code = vendor::Comm_delete_attr(comm, comm_keyval);
  if (code == MPI_SUCCESS && comm == MPI_COMM_SELF) job.self_attributes.deleted(comm_keyval);
  return code;
}

// The names of MPI-1, which are deprecated since MPI-2 and still used.
#ifdef IMPISHIM_HAVE_MPI_Attr_get
int Attr_get(Job& job, MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return Comm_get_attr(job, comm, keyval, attribute_val, flag);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Attr_put
int Attr_put(Job& job, MPI_Comm comm, int keyval, void* attribute_val) {
  return Comm_set_attr(job, comm, keyval, attribute_val);
}
#endif

#ifdef IMPISHIM_HAVE_MPI_Attr_delete
int Attr_delete(Job& job, MPI_Comm comm, int keyval) { return Comm_delete_attr(job, comm, keyval); }
#endif

}  // namespace calls
}  // namespace impishim::shim
