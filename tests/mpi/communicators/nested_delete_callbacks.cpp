// SPDX-License-Identifier: Apache-2.0
// Delete callbacks that free other objects with delete callbacks of their own: communicators, some
// of them in one process only, and datatypes, three deep and in every order. Each callback runs
// once, and sees its own object whole.
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int comm_key = MPI_KEYVAL_INVALID;
int type_key = MPI_KEYVAL_INVALID;
int window_key = MPI_KEYVAL_INVALID;
int run = 0;
int depth = 0;
int deepest = 0;

/// What an object's callback frees, and how many processes its communicator has.
struct Attached {
  int size = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Win window = MPI_WIN_NULL;
};

void free_attached(Attached& attached) {
  ++run;
  if (++depth > deepest) deepest = depth;
  if (attached.comm != MPI_COMM_NULL) REQUIRE_EQUAL(MPI_Comm_free(&attached.comm), MPI_SUCCESS);
  if (attached.type != MPI_DATATYPE_NULL) REQUIRE_EQUAL(MPI_Type_free(&attached.type), MPI_SUCCESS);
  if (attached.window != MPI_WIN_NULL) REQUIRE_EQUAL(MPI_Win_free(&attached.window), MPI_SUCCESS);
  --depth;
}

int of_comm(MPI_Comm comm, int, void* value, void*) {
  auto& attached = *static_cast<Attached*>(value);
  REQUIRE_EQUAL(size_of(comm), attached.size);
  free_attached(attached);
  REQUIRE_EQUAL(size_of(comm), attached.size);
  return MPI_SUCCESS;
}
int of_type(MPI_Datatype, int, void* value, void*) {
  free_attached(*static_cast<Attached*>(value));
  return MPI_SUCCESS;
}
int of_window(MPI_Win, int, void* value, void*) {
  free_attached(*static_cast<Attached*>(value));
  return MPI_SUCCESS;
}

enum class Kind { kSpanning, kNative, kDatatype, kWindow };

/// An object of this kind whose delete callback frees `inner`.
Attached wrap(Kind kind, Attached* inner) {
  Attached made;
  if (kind == Kind::kDatatype) {
    MPI_Type_contiguous(2, MPI_INT, &made.type);
    MPI_Type_set_attr(made.type, type_key, inner);
  } else if (kind == Kind::kWindow) {
    MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &made.window);
    MPI_Win_set_attr(made.window, window_key, inner);
  } else {
    MPI_Comm_dup(kind == Kind::kSpanning ? MPI_COMM_WORLD : MPI_COMM_SELF, &made.comm);
    inner->size = size_of(made.comm);
    MPI_Comm_set_attr(made.comm, comm_key, inner);
  }
  return made;
}

/// kinds[0] is freed by the program, kinds[1] by its callback, and so on.
void check(const std::vector<Kind>& kinds) {
  std::vector<Attached> attached(kinds.size() + 1);
  for (std::size_t i = kinds.size(); i-- > 0;) {
    const Attached made = wrap(kinds[i], &attached[i + 1]);
    attached[i].comm = made.comm;
    attached[i].type = made.type;
    attached[i].window = made.window;
  }
  run = deepest = 0;
  free_attached(attached[0]);
  REQUIRE_EQUAL(run, kinds.size() + 1);
  REQUIRE_EQUAL(deepest, kinds.size() + 1);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, of_comm, &comm_key, nullptr);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, of_type, &type_key, nullptr);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, of_window, &window_key, nullptr);
  int checked = 0;
  const Kind kinds[] = {Kind::kSpanning, Kind::kNative, Kind::kDatatype, Kind::kWindow};
  for (const Kind outer : kinds) {
    for (const Kind middle : kinds) {
      for (const Kind inner : kinds) {
        check({outer, middle, inner});
        ++checked;
      }
    }
  }
  MPI_Comm_free_keyval(&comm_key);
  MPI_Type_free_keyval(&type_key);
  MPI_Win_free_keyval(&window_key);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("%d nestings of delete callbacks: right\n", checked);
  MPI_Finalize();
}
