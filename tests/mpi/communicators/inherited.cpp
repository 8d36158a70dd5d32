// SPDX-License-Identifier: Apache-2.0
// What new communicators take from old ones: attributes through copy callbacks, error handlers,
// nothing else; what callbacks see: the user's handles, which they may use; how communicators end:
// delete callbacks while they still work. The lines that each rank prints must be those of a native
// run.
#include <algorithm>
#include <cstdio>
#include <string>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int keyval = MPI_KEYVAL_INVALID;
std::string story;
MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
int handler_calls = 0;
MPI_Comm handler_comm = MPI_COMM_NULL;
int handler_class = MPI_SUCCESS;

void tell(const std::string& what) { story += " " + what; }

/// Where a callback is: the communicator's own answers, and a message round its ring, whatever the
/// library is doing.
std::string seen(MPI_Comm comm) {
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  int remote = 0;
  if (inter != 0) MPI_Comm_remote_size(comm, &remote);
  std::string where = std::to_string(rank_in(comm)) + "/" + std::to_string(size_of(comm));
  if (inter != 0) where.append("+").append(std::to_string(remote));
  return where;
}

int copy(MPI_Comm comm, int, void* extra, void* in, void* out, int* flag) {
  tell("copy(" + seen(comm) + ")");
  REQUIRE(extra == &keyval);
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

int remove(MPI_Comm comm, int, void* value, void* extra) {
  REQUIRE(extra == &keyval);
  tell("delete(" + seen(comm) + "," + std::to_string(reinterpret_cast<long>(value)) + ")");
  return MPI_SUCCESS;
}

void handle(MPI_Comm* comm, int* code, ...) {
  ++handler_calls;
  handler_comm = *comm;
  MPI_Error_class(*code, &handler_class);
}

/// An error of ours and one of the vendor's go to the handler that was set on an ancestor, with the
/// handle that the user knows.
void check_handler(MPI_Comm comm, const char* what) {
  // MPICH 4.0.2 by itself does not always pass the handler on.
  if (!impishim_test::in_joined_job()) MPI_Comm_set_errhandler(comm, handler);
  handler_calls = 0;
  const int value = 0;
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  int peers = size_of(comm);
  if (inter != 0) MPI_Comm_remote_size(comm, &peers);
  REQUIRE(MPI_Send(&value, 1, MPI_INT, peers, 0, comm) != MPI_SUCCESS);
  tell(what);
  REQUIRE_EQUAL(handler_calls, 1);
  REQUIRE_EQUAL(handler_class, MPI_ERR_RANK);
  REQUIRE(handler_comm == comm);
}

void check_attribute(MPI_Comm comm, const char* what) {
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, keyval, &value, &found);
  tell(std::string(what) +
       (found != 0 ? "=" + std::to_string(reinterpret_cast<long>(value)) : "-"));
}

void check_child(MPI_Comm child, const char* what) {
  if (child == MPI_COMM_NULL) return;
  check_attribute(child, what);
  check_handler(child, what);
  MPI_Comm_free(&child);
}

void check_children(MPI_Comm parent) {
  const int rank = rank_in(parent);
  const int size = size_of(parent);
  MPI_Comm child = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &child);
  check_child(child, "dup");
  MPI_Comm_dup_with_info(parent, MPI_INFO_NULL, &child);
  check_child(child, "dup_with_info");
  MPI_Comm_split(parent, rank % 2, -rank, &child);
  check_child(child, "split");
  MPI_Comm_split(parent, rank == 0 ? 1 : 2, 0, &child);
  check_child(child, "rest");
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(parent, &group);
  MPI_Comm_create(parent, group, &child);
  check_child(child, "create");
  MPI_Group_free(&group);
  const int dims[1] = {size};
  const int periods[1] = {1};
  MPI_Cart_create(parent, 1, dims, periods, 0, &child);
  check_child(child, "cart");
}

void check_intercommunicators(MPI_Comm parent) {
  const int rank = rank_in(parent);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(parent, rank % 2, rank, &half);
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, parent, 1 - rank % 2, 3, &inter);
  check_handler(inter, "inter");
  check_attribute(inter, "inter");
  MPI_Comm_set_attr(inter, keyval, reinterpret_cast<void*>(500L));
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(inter, &twin);
  check_child(twin, "inter-dup");
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  check_child(merged, "merged");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/// Names and hints are each process's own, and stay behind when a communicator is duplicated.
void check_name(MPI_Comm parent) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = -1;
  MPI_Comm_set_name(parent, "somebody");
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(parent, &twin);
  MPI_Comm_get_name(parent, name, &length);
  tell(name);
  MPI_Comm_get_name(twin, name, &length);
  tell(length == 0 ? "nobody" : name);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  tell(name);
  MPI_Comm_free(&twin);
}

/// A copy callback that wants no copy, and predefined ones.
int refuse_copy(MPI_Comm comm, int, void*, void*, void*, int* flag) {
  tell("no-copy(" + seen(comm) + ")");
  *flag = 0;
  return MPI_SUCCESS;
}

void check_other_keyvals() {
  int none = MPI_KEYVAL_INVALID;
  int same = MPI_KEYVAL_INVALID;
  int never = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(refuse_copy, remove, &none, &keyval);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &same, nullptr);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, remove, &never, &keyval);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const int each : {none, same, never}) MPI_Comm_set_attr(comm, each, &story);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &twin);
  for (const int each : {none, same, never}) {
    void* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(twin, each, &value, &found);
    REQUIRE_EQUAL(found, each == same ? 1 : 0);
    REQUIRE(found == 0 || value == &story);
  }
  MPI_Comm_delete_attr(comm, same);
  MPI_Comm_free(&twin);
  story.clear();  // the deletions below name an address
  MPI_Comm_free(&comm);
  REQUIRE(std::count(story.begin(), story.end(), '(') == 2);
  story.clear();
  for (int* each : {&none, &same, &never}) MPI_Comm_free_keyval(each);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm_create_keyval(copy, remove, &keyval, &keyval);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &parent);
  MPI_Comm_set_errhandler(parent, handler);
  MPI_Comm_set_attr(parent, keyval, reinterpret_cast<void*>(100L));
  check_handler(parent, "parent");
  check_name(parent);
  check_children(parent);
  check_intercommunicators(parent);
  MPI_Comm_set_attr(parent, keyval, reinterpret_cast<void*>(200L));  // deletes the old one
  MPI_Comm_free(&parent);
  std::printf("rank %d:%s\n", rank, story.c_str());
  story.clear();
  check_other_keyvals();
  MPI_Comm_free_keyval(&keyval);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
