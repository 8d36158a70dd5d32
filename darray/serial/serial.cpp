// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

/// A communicator of one rank. Attributes are deleted in the reverse order of their setting (MPI
/// 8.7.1).
struct ImpishimSerialCommunicator {
  std::vector<std::pair<int, void*>> attributes;
};

ImpishimSerialCommunicator impishim_serial_world;
ImpishimSerialCommunicator impishim_serial_self;
char impishim_serial_in_place = 0;

namespace {

struct Key {
  MPI_Comm_copy_attr_function* copy;
  MPI_Comm_delete_attr_function* drop;
  void* extra;
};

// The one job object.
struct Job {
  bool begun = false;
  bool over = false;
  std::vector<Key> keys;
  std::vector<std::unique_ptr<ImpishimSerialCommunicator>> made;  // and not freed yet
};

Job& job() {
  static Job only;
  return only;
}

std::size_t size_of(MPI_Datatype type) { return static_cast<std::size_t>(type & 0xff); }

int check(MPI_Comm comm) {
  if (!job().begun || job().over) return MPI_ERR_OTHER;
  return comm == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS;
}

int copy(const void* sent, int count, MPI_Datatype type, void* received, std::size_t place,
         MPI_Comm comm) {
  if (const int code = check(comm); code != MPI_SUCCESS) return code;
  if (count < 0) return MPI_ERR_ARG;
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
  if (sent != MPI_IN_PLACE && bytes > 0)
    std::memmove(static_cast<char*>(received) + place, sent, bytes);
  return MPI_SUCCESS;
}

int at_once(int code, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return code;
}

int drop_attributes(MPI_Comm comm) {
  while (!comm->attributes.empty()) {
    const auto [number, value] = comm->attributes.back();
    comm->attributes.pop_back();
    const Key key = job().keys[static_cast<std::size_t>(number)];
    if (key.drop == nullptr) continue;
    if (const int code = key.drop(comm, number, value, key.extra); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

MPI_Comm make() {
  return job().made.emplace_back(std::make_unique<ImpishimSerialCommunicator>()).get();
}

int nobody(MPI_Comm comm) {
  const int code = check(comm);
  return code == MPI_SUCCESS ? MPI_ERR_UNSUPPORTED_OPERATION : code;
}

}  // namespace

int MPI_Init(int*, char***) {
  if (job().begun) return MPI_ERR_OTHER;
  job().begun = true;
  return MPI_SUCCESS;
}

int MPI_Initialized(int* flag) {
  *flag = job().begun ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Finalize() {
  if (!job().begun || job().over) return MPI_ERR_OTHER;
  for (const MPI_Comm comm : {MPI_COMM_SELF, MPI_COMM_WORLD}) {
    if (const int code = drop_attributes(comm); code != MPI_SUCCESS) return code;
  }
  // The communicators that the program has not freed.
  while (!job().made.empty()) {
    const std::unique_ptr<ImpishimSerialCommunicator> last = std::move(job().made.back());
    job().made.pop_back();
    if (const int code = drop_attributes(last.get()); code != MPI_SUCCESS) return code;
  }
  job().over = true;
  return MPI_SUCCESS;
}

int MPI_Finalized(int* flag) {
  *flag = job().over ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm, int code) {
  std::fprintf(stderr, "MPI_Abort(%d)\n", code);
  std::_Exit(code);
}

double MPI_Wtime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int MPI_Error_string(int code, char* text, int* length) {
  static constexpr std::array<const char*, 9> kTexts{
      "no error",
      "MPI_ERR_COMM: no communicator",
      "MPI_ERR_ARG: a wrong argument",
      "MPI_ERR_RANK: there is one rank, 0",
      "MPI_ERR_ROOT: there is one rank, 0",
      "MPI_ERR_KEYVAL: no such key",
      "MPI_ERR_IN_STATUS",
      "MPI_ERR_OTHER: not between MPI_Init and MPI_Finalize",
      "MPI_ERR_UNSUPPORTED_OPERATION: there is no other process to send to; link a real MPI"};
  if (code < 0 || code >= static_cast<int>(kTexts.size())) return MPI_ERR_ARG;
  *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "%s", kTexts[static_cast<std::size_t>(code)]);
  return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  if (const int code = check(comm); code != MPI_SUCCESS) return code;
  // Errors are returned in any case.
  return handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ARE_FATAL ? MPI_SUCCESS
                                                                         : MPI_ERR_ARG;
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = 0;
  return check(comm);
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  *size = 1;
  return check(comm);
}

int MPI_Comm_compare(MPI_Comm left, MPI_Comm right, int* result) {
  *result = left == right ? MPI_IDENT : MPI_CONGRUENT;
  const int code = check(left);
  return code == MPI_SUCCESS ? check(right) : code;
}

int MPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  *flag = 0;
  return check(comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  *made = MPI_COMM_NULL;
  if (const int code = check(comm); code != MPI_SUCCESS) return code;
  std::vector<std::pair<int, void*>> attributes;
  for (const auto& [number, value] : comm->attributes) {
    const Key key = job().keys[static_cast<std::size_t>(number)];
    if (key.copy == nullptr) continue;
    void* copied = nullptr;
    int kept = 0;
    const int code = key.copy(comm, number, key.extra, value, static_cast<void*>(&copied), &kept);
    if (code != MPI_SUCCESS) return code;
    if (kept != 0) attributes.emplace_back(number, copied);
  }
  *made = make();
  (*made)->attributes = std::move(attributes);
  return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int, MPI_Comm* part) {
  *part = MPI_COMM_NULL;
  if (const int code = check(comm); code != MPI_SUCCESS) return code;
  if (color != MPI_UNDEFINED) *part = make();
  return MPI_SUCCESS;
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int, MPI_Comm* made) {
  return MPI_Comm_split(comm, group == kImpishimSerialGroup ? 0 : MPI_UNDEFINED, 0, made);
}

int MPI_Comm_free(MPI_Comm* comm) {
  if (const int code = check(*comm); code != MPI_SUCCESS) return code;
  auto& made = job().made;
  const auto found =
      std::find_if(made.begin(), made.end(), [&](const auto& each) { return each.get() == *comm; });
  if (found == made.end()) return MPI_ERR_COMM;  // the world, or freed already
  const std::unique_ptr<ImpishimSerialCommunicator> freed = std::move(*found);
  made.erase(found);
  *comm = MPI_COMM_NULL;
  return drop_attributes(freed.get());
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  *group = kImpishimSerialGroup;
  return check(comm);
}

int MPI_Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* made) {
  *made = MPI_GROUP_EMPTY;
  if (count == 0) return MPI_SUCCESS;
  if (count != 1 || ranks[0] != 0 || group != kImpishimSerialGroup) return MPI_ERR_RANK;
  *made = group;
  return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to,
                              int* translated) {
  for (int k = 0; k < count; ++k) {
    if (ranks[k] != 0 || from != kImpishimSerialGroup) return MPI_ERR_RANK;
    translated[k] = to == kImpishimSerialGroup ? 0 : MPI_UNDEFINED;
  }
  return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group* group) {
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* drop,
                           int* key, void* extra) {
  job().keys.push_back({copy, drop, extra});
  *key = static_cast<int>(job().keys.size()) - 1;
  return MPI_SUCCESS;
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  if (const int code = check(comm); code != MPI_SUCCESS) return code;
  if (key < 0 || key >= static_cast<int>(job().keys.size())) return MPI_ERR_KEYVAL;
  const Key functions = job().keys[static_cast<std::size_t>(key)];
  for (auto& [number, kept] : comm->attributes) {
    if (number != key) continue;
    void* const old = std::exchange(kept, value);
    return functions.drop == nullptr ? MPI_SUCCESS
                                     : functions.drop(comm, key, old, functions.extra);
  }
  comm->attributes.emplace_back(key, value);
  return MPI_SUCCESS;
}

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found) {
  *found = 0;
  if (const int code = check(comm); code != MPI_SUCCESS) return code;
  if (key < 0 || key >= static_cast<int>(job().keys.size())) return MPI_ERR_KEYVAL;
  for (const auto& [number, kept] : comm->attributes) {
    if (number != key) continue;
    std::memcpy(value, &kept, sizeof kept);
    *found = 1;
  }
  return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) { return check(comm); }

int MPI_Bcast(void*, int, MPI_Datatype, int root, MPI_Comm comm) {
  const int code = check(comm);
  return code == MPI_SUCCESS && root != 0 ? MPI_ERR_ROOT : code;
}

int MPI_Gather(const void* sent, int count, MPI_Datatype type, void* received, int, MPI_Datatype,
               int root, MPI_Comm comm) {
  return root == 0 ? copy(sent, count, type, received, 0, comm) : MPI_ERR_ROOT;
}

int MPI_Allgather(const void* sent, int count, MPI_Datatype type, void* received, int, MPI_Datatype,
                  MPI_Comm comm) {
  return copy(sent, count, type, received, 0, comm);
}

int MPI_Allgatherv(const void* sent, int count, MPI_Datatype type, void* received, const int*,
                   const int* places, MPI_Datatype received_type, MPI_Comm comm) {
  return copy(sent, count, type, received,
              static_cast<std::size_t>(places[0]) * size_of(received_type), comm);
}

int MPI_Alltoall(const void* sent, int count, MPI_Datatype type, void* received, int, MPI_Datatype,
                 MPI_Comm comm) {
  return copy(sent, count, type, received, 0, comm);
}

int MPI_Allreduce(const void* sent, void* received, int count, MPI_Datatype type, MPI_Op,
                  MPI_Comm comm) {
  return copy(sent, count, type, received, 0, comm);
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  return at_once(MPI_Bcast(data, count, type, root, comm), request);
}

int MPI_Igather(const void* sent, int count, MPI_Datatype type, void* received, int received_count,
                MPI_Datatype received_type, int root, MPI_Comm comm, MPI_Request* request) {
  return at_once(MPI_Gather(sent, count, type, received, received_count, received_type, root, comm),
                 request);
}

int MPI_Iallgather(const void* sent, int count, MPI_Datatype type, void* received, int,
                   MPI_Datatype, MPI_Comm comm, MPI_Request* request) {
  return at_once(copy(sent, count, type, received, 0, comm), request);
}

int MPI_Ialltoall(const void* sent, int count, MPI_Datatype type, void* received, int, MPI_Datatype,
                  MPI_Comm comm, MPI_Request* request) {
  return at_once(copy(sent, count, type, received, 0, comm), request);
}

int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request* request) {
  return at_once(nobody(comm), request);
}

int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request* request) {
  return at_once(nobody(comm), request);
}

int MPI_Send_init(const void*, int, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request* request) {
  return at_once(nobody(comm), request);
}

int MPI_Recv_init(void*, int, MPI_Datatype, int, int, MPI_Comm comm, MPI_Request* request) {
  return at_once(nobody(comm), request);
}

int MPI_Start(MPI_Request*) { return MPI_ERR_UNSUPPORTED_OPERATION; }

int MPI_Request_free(MPI_Request* request) { return at_once(MPI_SUCCESS, request); }
int MPI_Cancel(MPI_Request*) { return MPI_SUCCESS; }

int MPI_Test(MPI_Request*, int* flag, MPI_Status*) {
  *flag = 1;
  return MPI_SUCCESS;
}

int MPI_Wait(MPI_Request*, MPI_Status*) { return MPI_SUCCESS; }

int MPI_Waitall(int, MPI_Request*, MPI_Status*) { return MPI_SUCCESS; }

int MPI_Testsome(int, MPI_Request*, int* completed, int*, MPI_Status*) {
  *completed = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Waitsome(int, MPI_Request*, int* completed, int*, MPI_Status*) {
  *completed = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status*, MPI_Datatype, int* count) {
  *count = 0;
  return MPI_SUCCESS;
}

int MPI_Type_create_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype* made) {
  *made = MPI_DATATYPE_NULL;
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

int MPI_Type_commit(MPI_Datatype*) { return MPI_SUCCESS; }

int MPI_Type_free(MPI_Datatype* type) {
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
