// SPDX-License-Identifier: Apache-2.0
// MPI_Win_*: construction, destruction and the memory of windows (MPI-4.0 12.2).
//
// A window has a communicator of its own, which orders its messages and its collectives. It is made
// as a communicator is: all members agree first, so none enters a blocking function of the vendor's
// before all are inside the call.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/refusal.hpp"
#include "shim/group/group.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/rma/synchronisation.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "shim/vendor.hpp"
#include "wire/window/window_memory.hpp"

namespace impishim::shim {
namespace {

/// Returns true if some member's system does not run this library, whose messages it would not
/// understand.
bool has_foreign_members(const Job& job, const Communicator& communicator) {
  for (const std::int32_t master : communicator.masters) {
    if (!job.map.client(job.map.proc(communicator.world_rank(master)).client).impishim) return true;
  }
  return false;
}

/// Makes the communicator of a window, with the members of `parent` and an error handler that
/// returns codes.
int make_own_communicator(Job& job, Communicator& parent, const char* function, MPI_Comm* made) {
  wire::ContextId context = 0;
  int code = agree_on_context(job, parent, function, context);
  if (code != MPI_SUCCESS) return code;
  const BlockingCreation creation(job, parent);
  code = creation.code();
  if (code == MPI_SUCCESS) code = vendor::Comm_split(parent.handle, 0, parent.rank, made);
  if (code == MPI_SUCCESS)
    code = make_communicator(job, parent.handle, made, context, parent.members);
  return code == MPI_SUCCESS ? vendor::Comm_set_errhandler(*made, MPI_ERRORS_RETURN) : code;
}

/// What a vendor's function has made of the local members.
struct MadeWindow {
  MPI_Win handle = MPI_WIN_NULL;
  std::byte* base = nullptr;
};
using MakeNative = std::function<int(MPI_Comm, MadeWindow&)>;

/// The memory that a process gives to a window.
struct WindowShape {
  std::int64_t size = 0;
  std::int64_t unit = 1;
  bool dynamic = false;
};

/// Makes the vendor's window of the local members, and opens its epoch. Tells the outcome to all
/// members: returns an error on all if one has failed.
int make_native_window(Job& job, Communicator& own, const Communicator& parent,
                       const char* function, const MakeNative& make, MadeWindow& made) {
  int code = MPI_SUCCESS;
  {
    const BlockingCreation creation(job, own);
    code = creation.code();
    if (code == MPI_SUCCESS) code = make(own.handle, made);
    if (code == MPI_SUCCESS) code = vendor::Win_lock_all(MPI_MODE_NOCHECK, made.handle);
  }
  const int failed = code == MPI_SUCCESS ? 0 : 1;
  int any = failed;
  const int agreed = run_collective(job, own, function, [&](Collective& call) {
    return collective_arguments::Allreduce(call, &failed, &any, 1, MPI_INT, MPI_MAX);
  });
  if (code != MPI_SUCCESS) return raise_hidden_error(parent.handle, code);
  if (agreed == MPI_SUCCESS && any == 0) return MPI_SUCCESS;
  if (agreed != MPI_SUCCESS) return raise_hidden_error(parent.handle, agreed);
  return raise(parent.handle, MPI_ERR_OTHER, function,
               "another process could not make its part of the window");
}

wire::WindowMemory memory_of(const WindowShape& shape, std::byte* base) {
  return shape.dynamic
             ? wire::WindowMemory::dynamic()
             : wire::WindowMemory::fixed(base, static_cast<std::uint64_t>(shape.size), shape.unit);
}

const char* mistake_in(const WindowShape& shape) {
  if (shape.size < 0) return "the size is negative";
  if (shape.unit <= 0) return "the displacement unit is not positive";
  return nullptr;
}

/// Makes a window on a spanning communicator.
int make_window(Job& job, Communicator& parent, const char* function, const WindowShape& shape,
                const MakeNative& make, MadeWindow& made) {
  if (parent.inter != nullptr)
    return raise(parent.handle, MPI_ERR_COMM, function, "not for intercommunicators");
  if (has_foreign_members(job, parent)) {
    return refuse(parent.handle, function,
                  "a member's system runs another IMPI implementation, which has no one-sided "
                  "communication");
  }
  if (const char* mistake = mistake_in(shape); mistake != nullptr)
    return fail_collective(parent, function, shape.size < 0 ? MPI_ERR_SIZE : MPI_ERR_DISP, mistake);
  MPI_Comm comm = MPI_COMM_NULL;
  int code = make_own_communicator(job, parent, function, &comm);
  if (code != MPI_SUCCESS) return code;
  Communicator& own = *job.communicators.find(comm);
  OneSided& windows = one_sided(job);
  code = make_native_window(job, own, parent, function, make, made);
  if (code != MPI_SUCCESS) return code;
  Window& window =
      windows.add(std::make_unique<Window>(made.handle, own, memory_of(shape, made.base)));
  // A request may come as soon as its origin has returned.
  code = run_collective(job, own, function, collective_arguments::Barrier);
  if (code != MPI_SUCCESS) return raise_hidden_error(parent.handle, code);
  job.needs_caller.fetch_add(1, std::memory_order_relaxed);
  windows.show(window);
  return MPI_SUCCESS;
}

/// Creates a window of either kind. `make` is told the communicator for the vendor.
int create_window(Job& job, MPI_Comm comm, const char* function, const WindowShape& shape,
                  const MakeNative& make, MPI_Win* win) {
  MadeWindow made;
  const int code = make_window(job, *spanning(&job, comm), function, shape, make, made);
  if (code == MPI_SUCCESS) *win = made.handle;
  return code;
}

}  // namespace

namespace calls {

int Win_create(Job& job, void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
               MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_create(job, base, size, disp_unit, info, comm, win);
  return create_window(
      job, comm, "MPI_Win_create", {size, disp_unit},
      [&](MPI_Comm own, MadeWindow& made) {
        made.base = static_cast<std::byte*>(base);
        return vendor::Win_create(base, size, disp_unit, info, own, &made.handle);
      },
      win);
}

int Win_allocate(Job& job, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                 void* baseptr, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_allocate(job, size, disp_unit, info, comm, baseptr, win);
  return create_window(
      job, comm, "MPI_Win_allocate", {size, disp_unit},
      [&](MPI_Comm own, MadeWindow& made) {
        const int code = vendor::Win_allocate(size, disp_unit, info, own,
                                              static_cast<void*>(&made.base), &made.handle);
        if (code == MPI_SUCCESS) *static_cast<void**>(baseptr) = made.base;
        return code;
      },
      win);
}

int Win_create_dynamic(Job& job, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr) return native::Win_create_dynamic(job, info, comm, win);
  return create_window(
      job, comm, "MPI_Win_create_dynamic", {.dynamic = true},
      [&](MPI_Comm own, MadeWindow& made) {
        return vendor::Win_create_dynamic(info, own, &made.handle);
      },
      win);
}

int Win_allocate_shared(Job& job, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                        void* baseptr, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_allocate_shared(job, size, disp_unit, info, comm, baseptr, win);
  return refuse(comm, "MPI_Win_allocate_shared",
                "the members are on several machines, which share no memory: split the "
                "communicator by MPI_COMM_TYPE_SHARED before");
}

#ifdef IMPISHIM_HAVE_MPI_Win_create_c
int Win_create_c(Job& job, void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                 MPI_Comm comm, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_create_c(job, base, size, disp_unit, info, comm, win);
  return create_window(
      job, comm, "MPI_Win_create_c", {size, disp_unit},
      [&](MPI_Comm own, MadeWindow& made) {
        made.base = static_cast<std::byte*>(base);
        return vendor::Win_create_c(base, size, disp_unit, info, own, &made.handle);
      },
      win);
}

int Win_allocate_c(Job& job, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                   void* baseptr, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_allocate_c(job, size, disp_unit, info, comm, baseptr, win);
  return create_window(
      job, comm, "MPI_Win_allocate_c", {size, disp_unit},
      [&](MPI_Comm own, MadeWindow& made) {
        const int code = vendor::Win_allocate_c(size, disp_unit, info, own,
                                                static_cast<void*>(&made.base), &made.handle);
        if (code == MPI_SUCCESS) *static_cast<void**>(baseptr) = made.base;
        return code;
      },
      win);
}

int Win_allocate_shared_c(Job& job, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                          void* baseptr, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_allocate_shared_c(job, size, disp_unit, info, comm, baseptr, win);
  return Win_allocate_shared(job, size, 1, info, comm, baseptr, win);
}

int Win_shared_query_c(Job& job, MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit,
                       void* baseptr) {
  if (spanning_window(job, win) == nullptr)
    return vendor::Win_shared_query_c(win, rank, size, disp_unit, baseptr);
  int unit = 0;
  return Win_shared_query(job, win, rank, size, &unit, baseptr);
}
#endif

int Win_shared_query(Job& job, MPI_Win win, int rank, MPI_Aint* size, int* disp_unit,
                     void* baseptr) {
  if (spanning_window(job, win) == nullptr)
    return vendor::Win_shared_query(win, rank, size, disp_unit, baseptr);
  return raise_on_window(win, MPI_ERR_RMA_FLAVOR, "MPI_Win_shared_query",
                         "the window was not made by MPI_Win_allocate_shared");
}

int Win_attach(Job& job, MPI_Win win, void* base, MPI_Aint size) {
  Window* window = spanning_window(job, win);
  const int code = vendor::Win_attach(win, base, size);
  if (window == nullptr || code != MPI_SUCCESS) return code;
  if (window->target.attach(static_cast<std::byte*>(base), static_cast<std::uint64_t>(size)))
    return code;
  vendor::Win_detach(win, base);
  return raise_on_window(win, MPI_ERR_RMA_ATTACH, "MPI_Win_attach",
                         "the memory overlaps some that is attached");
}

int Win_detach(Job& job, MPI_Win win, const void* base) {
  Window* window = spanning_window(job, win);
  // Nothing from outside may touch the memory once the program may free it.
  if (window != nullptr &&
      !window->target.detach(static_cast<std::byte*>(const_cast<void*>(base)))) {
    return raise_on_window(win, MPI_ERR_RMA_ATTACH, "MPI_Win_detach",
                           "no attached memory begins at this address");
  }
  return vendor::Win_detach(win, base);
}

int Win_get_group(Job& job, MPI_Win win, MPI_Group* group) {
  const Window* window = spanning_window(job, win);
  if (window == nullptr) return vendor::Win_get_group(win, group);
  return make_group(job, window->communicator.members, group);
}

int Win_free(Job& job, MPI_Win* win) {
  Window* window = win == nullptr ? nullptr : spanning_window(job, *win);
  if (window == nullptr) return native::Win_free(job, win);
  OneSided& windows = one_sided(job);
  int code = finish_window(job, *window, "MPI_Win_free");
  if (code != MPI_SUCCESS) return code;
  vendor::Win_unlock_all(*win);
  windows.hide(*window);
  code = vendor::Win_free(win);
  if (code != MPI_SUCCESS) {
    // A delete callback has failed.
    vendor::Win_lock_all(MPI_MODE_NOCHECK, *win);
    windows.show(*window);
    return code;
  }
  windows.end_service(*window);
  window->freed.store(true, std::memory_order_relaxed);
  job.needs_caller.fetch_sub(1, std::memory_order_relaxed);
  MPI_Comm comm = window->communicator.handle;
  code = end_communicator(job, window->communicator, &comm, vendor::Comm_free);
  windows.drop(*window);
  return code;
}

}  // namespace calls
}  // namespace impishim::shim
