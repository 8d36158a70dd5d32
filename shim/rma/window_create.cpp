// SPDX-License-Identifier: Apache-2.0
// MPI_Win_*: construction, destruction and the memory of windows (MPI-4.0 12.2).
//
// A window has a communicator of its own, which orders its messages and its collectives. It is made
// as a communicator is: all members agree first, so none enters a blocking function of the vendor's
// before all are inside the call.
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>  // IWYU pragma: keep
#include <memory>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/own_communicator.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/refusal.hpp"
#include "shim/group/group.hpp"
#include "shim/handle/hints.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/native.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/rma/synchronisation.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kAccumulate = "impishim_accumulate";
constexpr const char* kByVendor = "vendor";

constexpr const char* kNoLocks = "no_locks";

/// Returns the memory to ask of the vendor for a window of this size. MPICH 4.0.2 puts to a wrong
/// address where a member before the target has allocated no multiple of 16 bytes.
MPI_Aint whole_words(MPI_Aint size) {
#ifdef OPEN_MPI
  constexpr MPI_Aint kWord = 1;
#else
  constexpr MPI_Aint kWord = 16;
#endif
  return size > std::numeric_limits<MPI_Aint>::max() - kWord ? size
                                                             : (size + kWord - 1) / kWord * kWord;
}

/// Returns the program's hints for the vendor's window, in which locks are allowed: it is in an
/// epoch of MPI_Win_lock_all, whatever the program does.
ChangedHints with_locks(MPI_Info hints) {
  if (hints == MPI_INFO_NULL) return {hints, {}};
  return {hints, {{kNoLocks, "false"}}};
}

/// Makes the vendor's window of the local members, and sets the base of memory that it allocates.
using MakeNative = std::function<int(MPI_Comm own, WindowShape& shape, MPI_Win& made)>;

/// Makes the vendor's window, or one without memory if the vendor cannot make the other on any
/// local member.
int make_with_vendor(const Communicator& own, const MakeNative& make, WindowShape& shape,
                     MPI_Win& made) {
  const int code = make(own.handle, shape, made);
  int made_here = code == MPI_SUCCESS ? 1 : 0;
  int made_somewhere = made_here;
  const int agreed =
      vendor::Allreduce(&made_here, &made_somewhere, 1, MPI_INT, MPI_MAX, own.handle);
  if (agreed != MPI_SUCCESS) return agreed;
  if (made_somewhere != 0) return code;
  void* none = nullptr;
  shape.native = false;
  return vendor::Win_allocate(0, 1, MPI_INFO_NULL, own.handle, static_cast<void*>(&none), &made) ==
                 MPI_SUCCESS
             ? MPI_SUCCESS
             : code;
}

/// Makes the vendor's window of the local members, and opens its epoch. Tells the outcome to all
/// members: returns an error on all if one has failed.
int make_native_window(Job& job, Communicator& own, const Communicator& parent,
                       const char* function, const MakeNative& make, WindowShape& shape,
                       MPI_Win& made) {
  int code = MPI_SUCCESS;
  {
    const BlockingCreation creation(job, own);
    code = creation.code();
    if (code == MPI_SUCCESS) code = make_with_vendor(own, make, shape, made);
    if (code == MPI_SUCCESS) code = vendor::Win_lock_all(MPI_MODE_NOCHECK, made);
  }
  // The vendor carries out accumulates only if all members have asked for that.
  const std::array<int, 2> here{code == MPI_SUCCESS ? 0 : 1, shape.vendor_accumulates ? 0 : 1};
  std::array<int, 2> any = here;
  const int agreed = run_collective(job, own, function, [&](Collective& call) {
    return collective_arguments::Allreduce(call, here.data(), any.data(), 2, MPI_INT, MPI_MAX);
  });
  shape.vendor_accumulates = any[1] == 0;
  if (code != MPI_SUCCESS) return raise_hidden_error(parent.handle, code);
  if (agreed != MPI_SUCCESS) return raise_hidden_error(parent.handle, agreed);
  if (any[0] == 0) return MPI_SUCCESS;
  return raise(parent.handle, MPI_ERR_OTHER, function,
               "another process could not make its part of the window");
}

/// Raises an error if a window of this shape cannot be made on a communicator. Returns the code.
int check_window(const Job& job, Communicator& parent, const char* function,
                 const WindowShape& shape) {
  if (parent.inter != nullptr)
    return raise(parent.handle, MPI_ERR_COMM, function, "not for intercommunicators");
  if (has_foreign_members(job, parent)) {
    return refuse(parent.handle, function,
                  "a member's system runs another IMPI implementation, which has no one-sided "
                  "communication");
  }
  if (shape.size < 0)
    return fail_collective(parent, function, MPI_ERR_SIZE, "the size is negative");
  if (shape.unit <= 0)
    return fail_collective(parent, function, MPI_ERR_DISP, "the displacement unit is not positive");
  return MPI_SUCCESS;
}

/// Makes a window on a spanning communicator.
int make_window(Job& job, MPI_Comm comm, const char* function, WindowShape shape, MPI_Info hints,
                const MakeNative& make, MPI_Win* win) {
  const Indivisible call(job);
  Communicator& parent = *spanning(&job, comm);
  // It gives up what the rule of docs/one-sided.md is for, so the program must ask for it.
  shape.vendor_accumulates = hint(hints, kAccumulate) == kByVendor;
  int code = check_window(job, parent, function, shape);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm made_comm = MPI_COMM_NULL;
  code = make_own_communicator(job, parent, function, &made_comm);
  if (code != MPI_SUCCESS) return code;
  Communicator& own = *job.communicators.find(made_comm);
  own.made_for = "a window";
  break_if_lost(job, own);
  OneSided& windows = one_sided(job);
  MPI_Win made = MPI_WIN_NULL;
  code = make_native_window(job, own, parent, function, make, shape, made);
  if (code != MPI_SUCCESS) {
    // All members have failed, so all end their part.
    static_cast<void>(end_communicator(job, own, &made_comm, vendor::Comm_free));
    return code;
  }
  Window& window = windows.add(std::make_unique<Window>(made, own, shape));
  window.no_locks = hint(hints, kNoLocks) == "true";
  // A request may come as soon as its origin has returned.
  code = run_collective(job, own, function, collective_arguments::Barrier);
  if (code != MPI_SUCCESS) return raise_hidden_error(parent.handle, code);
  job.needs_caller.fetch_add(1, std::memory_order_relaxed);
  windows.show(window);
  *win = made;
  return MPI_SUCCESS;
}

/// Returns the place of an attribute's value that tells of a window's memory, or null if `keyval`
/// is another attribute.
void* memory_attribute(const WindowShape& shape, int keyval) {
  const void* place = nullptr;
  if (keyval == MPI_WIN_BASE) place = shape.base;
  if (keyval == MPI_WIN_SIZE) place = &shape.size;
  if (keyval == MPI_WIN_DISP_UNIT) place = &shape.unit;
  if (keyval == MPI_WIN_CREATE_FLAVOR) place = &shape.flavor;
  return const_cast<void*>(place);
}

}  // namespace

namespace calls {

int Win_create(Job& job, void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
               MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_create(job, base, size, disp_unit, info, comm, win);
  return make_window(
      job, comm, "MPI_Win_create", {.base = base, .size = size, .unit = disp_unit}, info,
      [&](MPI_Comm own, WindowShape& /*shape*/, MPI_Win& made) {
        return vendor::Win_create(base, size, disp_unit, with_locks(info).info(), own, &made);
      },
      win);
}

int Win_allocate(Job& job, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                 void* baseptr, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr)
    return native::Win_allocate(job, size, disp_unit, info, comm, baseptr, win);
  return make_window(
      job, comm, "MPI_Win_allocate",
      {.size = size, .unit = disp_unit, .flavor = MPI_WIN_FLAVOR_ALLOCATE}, info,
      [&](MPI_Comm own, WindowShape& shape, MPI_Win& made) {
        const int code = vendor::Win_allocate(whole_words(size), disp_unit, with_locks(info).info(),
                                              own, static_cast<void*>(&shape.base), &made);
        if (code == MPI_SUCCESS) *static_cast<void**>(baseptr) = shape.base;
        return code;
      },
      win);
}

int Win_create_dynamic(Job& job, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  if (spanning(&job, comm) == nullptr) return native::Win_create_dynamic(job, info, comm, win);
  return make_window(
      job, comm, "MPI_Win_create_dynamic", {.flavor = MPI_WIN_FLAVOR_DYNAMIC}, info,
      [&](MPI_Comm own, WindowShape& /*shape*/, MPI_Win& made) {
        return vendor::Win_create_dynamic(with_locks(info).info(), own, &made);
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
namespace {

/// Returns the displacement unit of a call with large counts, or 0, which is refused, if the
/// attribute of the window cannot tell it.
int unit_of(MPI_Aint unit) {
  return unit > std::numeric_limits<int>::max() ? 0 : static_cast<int>(unit);
}

}  // namespace

int Win_create_c(Job& job, void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                 MPI_Comm comm, MPI_Win* win) {
  return spanning(&job, comm) == nullptr
             ? native::Win_create_c(job, base, size, disp_unit, info, comm, win)
             : Win_create(job, base, size, unit_of(disp_unit), info, comm, win);
}

int Win_allocate_c(Job& job, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                   void* baseptr, MPI_Win* win) {
  return spanning(&job, comm) == nullptr
             ? native::Win_allocate_c(job, size, disp_unit, info, comm, baseptr, win)
             : Win_allocate(job, size, unit_of(disp_unit), info, comm, baseptr, win);
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
  if (window == nullptr) return vendor::Win_attach(win, base, size);
  if (window->shape.flavor != MPI_WIN_FLAVOR_DYNAMIC || size < 0) {
    return raise_on_window(
        win, size < 0 ? MPI_ERR_SIZE : MPI_ERR_RMA_FLAVOR, "MPI_Win_attach",
        "only windows of MPI_Win_create_dynamic take memory, of no negative size");
  }
  const int code = window->shape.native ? vendor::Win_attach(win, base, size) : MPI_SUCCESS;
  if (code != MPI_SUCCESS ||
      window->target.attach(static_cast<std::byte*>(base), static_cast<std::uint64_t>(size)))
    return code;
  if (window->shape.native) vendor::Win_detach(win, base);
  return raise_on_window(win, MPI_ERR_RMA_ATTACH, "MPI_Win_attach",
                         "the memory overlaps some that is attached");
}

int Win_detach(Job& job, MPI_Win win, const void* base) {
  Window* window = spanning_window(job, win);
  if (window == nullptr) return vendor::Win_detach(win, base);
  // Nothing from outside may touch the memory once the program may free it.
  if (!window->target.detach(static_cast<std::byte*>(const_cast<void*>(base)))) {
    return raise_on_window(win, MPI_ERR_RMA_ATTACH, "MPI_Win_detach",
                           "no attached memory begins at this address");
  }
  return window->shape.native ? vendor::Win_detach(win, base) : MPI_SUCCESS;
}

int Win_get_attr(Job& job, MPI_Win win, int keyval, void* value, int* flag) {
  const Window* window = spanning_window(job, win);
  // The vendor's window may have more memory than the program has asked for.
  if (window == nullptr || (window->shape.native && keyval != MPI_WIN_SIZE))
    return vendor::Win_get_attr(win, keyval, value, flag);
  void* place = memory_attribute(window->shape, keyval);
  if (place == nullptr && keyval != MPI_WIN_BASE)
    return vendor::Win_get_attr(win, keyval, value, flag);
  *static_cast<void**>(value) = place;
  *flag = 1;
  return MPI_SUCCESS;
}

int Win_set_info(Job& job, MPI_Win win, MPI_Info info) {
  Window* window = spanning_window(job, win);
  if (window == nullptr) return vendor::Win_set_info(win, info);
  const int code = vendor::Win_set_info(win, with_locks(info).info());
  const auto no_locks = hint(info, kNoLocks);
  if (code == MPI_SUCCESS && no_locks) window->no_locks = *no_locks == "true";
  return code;
}

int Win_get_info(Job& job, MPI_Win win, MPI_Info* info_used) {
  const Window* window = spanning_window(job, win);
  const int code = vendor::Win_get_info(win, info_used);
  if (code != MPI_SUCCESS || window == nullptr) return code;
  return vendor::Info_set(*info_used, kNoLocks, window->no_locks ? "true" : "false");
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
