// MPI_Comm_*: inquiry, construction and destruction of spanning communicators (IMPI 4.4-4.9).
#include <algorithm>
#include <vector>

#include "shim/communicator_parts.hpp"
#include "shim/context.hpp"
#include "shim/errors.hpp"
#include "shim/handled.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Registers the native handle of the local members as the spanning communicator of `members`; native if all are in one client.
void register_if_spanning(Job& job, MPI_Comm handle, wire::ContextId context, std::vector<wire::WorldRank> members) {
  auto made = Communicator::create(job.map, job.here, handle, context, std::move(members));
  if (made->masters.size() < 2) return;
  complete_description(*made);
  job.communicators.insert(std::move(made));
}

/// A process's part in MPI_Comm_split, as IMPI sends it: three MPI_INT.
struct SplitEntry {
  int color;
  int key;
  int rank;
};

std::vector<wire::WorldRank> members_of_color(const Communicator& parent, std::vector<SplitEntry> entries, int color) {
  entries.erase(std::remove_if(entries.begin(), entries.end(), [&](const SplitEntry& entry) { return entry.color != color; }),
                entries.end());
  std::sort(entries.begin(), entries.end(),
            [](const SplitEntry& a, const SplitEntry& b) { return a.key != b.key ? a.key < b.key : a.rank < b.rank; });
  std::vector<wire::WorldRank> members;
  members.reserve(entries.size());
  for (const SplitEntry& entry : entries) members.push_back(parent.members[static_cast<std::size_t>(entry.rank)]);
  return members;
}

template <class Duplicate>
int duplicate(Job& job, MPI_Comm comm, MPI_Comm* newcomm, const char* function, Duplicate&& vendor_duplicate) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) return vendor_duplicate();
  auto context = agree_on_context(job, *parent);
  if (!context) return raise(comm, function, context.error());
  const int code = vendor_duplicate();
  if (code != MPI_SUCCESS) return code;
  register_if_spanning(job, *newcomm, *context, parent->members);
  return MPI_SUCCESS;
}

int free_communicator(Job& job, MPI_Comm* comm, const char* function, int (*vendor_free)(MPI_Comm*)) {
  Communicator* freed = comm == nullptr ? nullptr : spanning(&job, *comm);
  // The vendor has its own word on freeing MPI_COMM_WORLD.
  if (freed == nullptr || *comm == MPI_COMM_WORLD) return vendor_free(comm);
  if (*comm == job.joined_world) return raise(*comm, MPI_ERR_COMM, function, "the joined world belongs to impishim");
  const int code = calls::Barrier(job, *comm);
  if (code != MPI_SUCCESS) return raise_code(*comm, code, function);
  if (freed->pending.load() == 0) {
    job.engine->forget_context(freed->context);
    job.engine->forget_context(freed->context + 1);
  }
  MPI_Comm companion = freed->companion;
  job.communicators.remove(*comm);
  vendor::Comm_free(&companion);
  return vendor_free(comm);
}

}  // namespace

namespace calls {

int Comm_size(Job& job, MPI_Comm comm, int* size) {
  const Communicator* found = spanning(&job, comm);
  if (found == nullptr) return vendor::Comm_size(comm, size);
  *size = found->size();
  return MPI_SUCCESS;
}

int Comm_rank(Job& job, MPI_Comm comm, int* rank) {
  const Communicator* found = spanning(&job, comm);
  if (found == nullptr) return vendor::Comm_rank(comm, rank);
  *rank = found->rank;
  return MPI_SUCCESS;
}

int Comm_test_inter(Job& job, MPI_Comm comm, int* flag) {
  if (spanning(&job, comm) == nullptr) return vendor::Comm_test_inter(comm, flag);
  *flag = 0;
  return MPI_SUCCESS;
}

int Comm_compare(Job& job, MPI_Comm comm1, MPI_Comm comm2, int* result) {
  const Communicator* one = spanning(&job, comm1);
  const Communicator* two = spanning(&job, comm2);
  // Of the same kind: the vendor's answer is right; it also checks the handles.
  if (one == nullptr && two == nullptr) return vendor::Comm_compare(comm1, comm2, result);
  *result = MPI_UNEQUAL;
  if (one == nullptr || two == nullptr) return MPI_SUCCESS;
  if (one == two) {
    *result = MPI_IDENT;
  } else if (one->members == two->members) {
    *result = MPI_CONGRUENT;
  } else if (one->size() == two->size() &&
             std::is_permutation(one->members.begin(), one->members.end(), two->members.begin())) {
    *result = MPI_SIMILAR;
  }
  return MPI_SUCCESS;
}

int Comm_dup(Job& job, MPI_Comm comm, MPI_Comm* newcomm) {
  if (spanning(&job, comm) == nullptr) return native::Comm_dup(job, comm, newcomm);
  return duplicate(job, comm, newcomm, "MPI_Comm_dup", [&] { return native::Comm_dup(job, comm, newcomm); });
}

int Comm_dup_with_info(Job& job, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return duplicate(job, comm, newcomm, "MPI_Comm_dup_with_info",
                   [&] { return vendor::Comm_dup_with_info(comm, info, newcomm); });
}

int Comm_split(Job& job, MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr) return vendor::Comm_split(comm, color, key, newcomm);
  if (color < 0 && color != MPI_UNDEFINED) return raise(comm, MPI_ERR_ARG, "MPI_Comm_split", "the colour is negative");
  const SplitEntry mine{color, key, parent->rank};
  std::vector<SplitEntry> entries(static_cast<std::size_t>(parent->size()));
  int code = Allgather(job, &mine, 3, MPI_INT, entries.data(), 3, MPI_INT, comm);
  if (code != MPI_SUCCESS) return code;
  auto context = agree_on_context(job, *parent);
  if (!context) return raise(comm, "MPI_Comm_split", context.error());
  code = vendor::Comm_split(parent->handle, color, key, newcomm);
  if (code != MPI_SUCCESS || color == MPI_UNDEFINED) return code;
  register_if_spanning(job, *newcomm, *context, members_of_color(*parent, std::move(entries), color));
  return MPI_SUCCESS;
}

int Comm_split_type(Job& job, MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  const bool shared = split_type == MPI_COMM_TYPE_SHARED || split_type == MPI_UNDEFINED;
  if (spanning(&job, comm) != nullptr && !shared) return refuse(comm, "MPI_Comm_split_type");
  // Processes that share memory are in one system: splitting the local members gives them all.
  return vendor::Comm_split_type(comm, split_type, key, info, newcomm);
}

int Comm_free(Job& job, MPI_Comm* comm) { return free_communicator(job, comm, "MPI_Comm_free", vendor::Comm_free); }

int Comm_disconnect(Job& job, MPI_Comm* comm) {
  return free_communicator(job, comm, "MPI_Comm_disconnect", vendor::Comm_disconnect);
}

}  // namespace calls
}  // namespace impishim::shim
