// SPDX-License-Identifier: Apache-2.0
#include "shim/entry/callbacks.hpp"

#include <memory>
#include <set>
#include <tuple>

#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/never_destroyed.hpp"

namespace impishim::shim {
namespace {

/// An argument of a callback, passed on unchanged. MPICH's Fortran layer creates keyvals and
/// generalized requests through the C functions, and later has the user's function called in
/// Fortran's way. That way passes addresses in place of values, and one more argument at the end,
/// IERROR. In both ways extra_state is at the same position, and each argument takes one word. One
/// word too many does no harm (System V and AAPCS64 calling conventions). Trampolines that pass on
/// words therefore serve both.
using Word = void*;
#ifdef __clang__
// UBSan would find that the called function was written with another type.
#define IMPISHIM_CALLS_WORDS [[clang::no_sanitize("function")]]
#else
#define IMPISHIM_CALLS_WORDS
#endif

/// Returns the same function with another type, on purpose not the type that it was written with
/// (see Word).
template <class To, class Result, class... Arguments>
To as_function(Result (*function)(Arguments...)) {
  return reinterpret_cast<To>(reinterpret_cast<void (*)()>(function));
}

using CopyFunction = int (*)(Word object, Word keyval, Word extra_state, Word in, Word out,
                             Word flag, Word ierror);
using DeleteFunction = int (*)(Word object, Word keyval, Word value, Word extra_state, Word ierror);

struct AttributeState {
  CopyFunction copy;
  DeleteFunction remove;
  void* extra_state;
  friend bool operator<(const AttributeState& a, const AttributeState& b) {
    return std::tie(a.copy, a.remove, a.extra_state) < std::tie(b.copy, b.remove, b.extra_state);
  }
};

IMPISHIM_CALLS_WORDS int copy_attribute(Word object, Word keyval, Word extra_state, Word in,
                                        Word out, Word flag, Word ierror) {
  const auto* state = static_cast<const AttributeState*>(extra_state);
  const InsideUserCallback user;
  return state->copy(object, keyval, state->extra_state, in, out, flag, ierror);
}

IMPISHIM_CALLS_WORDS int delete_attribute(Word object, Word keyval, Word value, Word extra_state,
                                          Word ierror) {
  const auto* state = static_cast<const AttributeState*>(extra_state);
  const InsideUserCallback user;
  const InsideDeleteCallback deleting;
  return state->remove(object, keyval, value, state->extra_state, ierror);
}

/// Returns the state for these functions, valid until the process ends. A freed keyval lives on as
/// long as attributes of it do, which only the vendor knows. Equal functions share one state.
void* keep(const AttributeState& state) {
  static Mutex mutex;
  static auto& kept = never_destroyed<std::set<AttributeState>>();
  const MutexLock lock(mutex);
  // The vendor passes it as void*; no code writes to it.
  return const_cast<AttributeState*>(&*kept.insert(state).first);
}

/// Calls `create`, one of the vendor's keyval constructors. Predefined functions, which do nothing
/// or copy, are passed unchanged.
template <class Copy, class Delete, class Create>
int create_keyval(Copy* copy, Copy* predefined_copy, Copy* predefined_dup, Delete* remove,
                  Delete* predefined_delete, int* keyval, void* extra_state, Create&& create) {
  const bool own_copy = copy != nullptr && copy != predefined_copy && copy != predefined_dup;
  const bool own_delete = remove != nullptr && remove != predefined_delete;
  if (!own_copy && !own_delete) return create(copy, remove, keyval, extra_state);
  void* state = keep(AttributeState{as_function<CopyFunction>(copy),
                                    as_function<DeleteFunction>(remove), extra_state});
  return create(own_copy ? as_function<Copy*>(&copy_attribute) : copy,
                own_delete ? as_function<Delete*>(&delete_attribute) : remove, keyval, state);
}

using QueryFunction = int (*)(Word extra_state, Word status, Word ierror);
using FreeFunction = int (*)(Word extra_state, Word ierror);
using CancelFunction = int (*)(Word extra_state, Word complete, Word ierror);

struct RequestState {
  QueryFunction query;
  FreeFunction free;
  CancelFunction cancel;
  void* extra_state;
};

IMPISHIM_CALLS_WORDS int query_request(Word extra_state, Word status, Word ierror) {
  const auto* state = static_cast<const RequestState*>(extra_state);
  const InsideUserCallback user;
  return state->query(state->extra_state, status, ierror);
}

/// Frees the state, too: the vendor calls this function once, as the last of the three (MPI-3.1
/// 12.2).
IMPISHIM_CALLS_WORDS int free_request(Word extra_state, Word ierror) {
  const std::unique_ptr<const RequestState> state(static_cast<const RequestState*>(extra_state));
  const InsideUserCallback user;
  return state->free(state->extra_state, ierror);
}

IMPISHIM_CALLS_WORDS int cancel_request(Word extra_state, Word complete, Word ierror) {
  const auto* state = static_cast<const RequestState*>(extra_state);
  const InsideUserCallback user;
  return state->cancel(state->extra_state, complete, ierror);
}

}  // namespace

namespace calls {

int Comm_create_keyval(Job& /*job*/, MPI_Comm_copy_attr_function* copy,
                       MPI_Comm_delete_attr_function* remove, int* keyval, void* extra_state) {
  return create_keyval(copy, MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN, remove,
                       MPI_COMM_NULL_DELETE_FN, keyval, extra_state, vendor::Comm_create_keyval);
}

int Type_create_keyval(Job& /*job*/, MPI_Type_copy_attr_function* copy,
                       MPI_Type_delete_attr_function* remove, int* keyval, void* extra_state) {
  return create_keyval(copy, MPI_TYPE_NULL_COPY_FN, MPI_TYPE_DUP_FN, remove,
                       MPI_TYPE_NULL_DELETE_FN, keyval, extra_state, vendor::Type_create_keyval);
}

int Win_create_keyval(Job& /*job*/, MPI_Win_copy_attr_function* copy,
                      MPI_Win_delete_attr_function* remove, int* keyval, void* extra_state) {
  return create_keyval(copy, MPI_WIN_NULL_COPY_FN, MPI_WIN_DUP_FN, remove, MPI_WIN_NULL_DELETE_FN,
                       keyval, extra_state, vendor::Win_create_keyval);
}

#ifdef IMPISHIM_HAVE_MPI_Keyval_create
int Keyval_create(Job& /*job*/, MPI_Copy_function* copy, MPI_Delete_function* remove, int* keyval,
                  void* extra_state) {
  return create_keyval(copy, MPI_NULL_COPY_FN, MPI_DUP_FN, remove, MPI_NULL_DELETE_FN, keyval,
                       extra_state, vendor::Keyval_create);
}
#endif

int Grequest_start(Job& /*job*/, MPI_Grequest_query_function* query,
                   MPI_Grequest_free_function* free, MPI_Grequest_cancel_function* cancel,
                   void* extra_state, MPI_Request* request) {
  if (query == nullptr || free == nullptr || cancel == nullptr) {
    return vendor::Grequest_start(query, free, cancel, extra_state, request);
  }
  auto state = std::make_unique<RequestState>(
      RequestState{as_function<QueryFunction>(query), as_function<FreeFunction>(free),
                   as_function<CancelFunction>(cancel), extra_state});
  const int code = vendor::Grequest_start(
      as_function<MPI_Grequest_query_function*>(&query_request),
      as_function<MPI_Grequest_free_function*>(&free_request),
      as_function<MPI_Grequest_cancel_function*>(&cancel_request), state.get(), request);
  // free_request() takes over the ownership.
  if (code == MPI_SUCCESS) static_cast<void>(state.release());
  return code;
}

int Grequest_complete(Job& /*job*/, MPI_Request request) {
  if (is_own_request(request)) {
    return raise(MPI_COMM_WORLD, MPI_ERR_REQUEST, "MPI_Grequest_complete",
                 "the request was not made by MPI_Grequest_start");
  }
  return vendor::Grequest_complete(request);
}

using CommHandlers = TrampolinePool<MPI_Comm, MPI_Comm*, int*>;

int Comm_create_errhandler(Job& /*job*/, MPI_Comm_errhandler_function* function,
                           MPI_Errhandler* errhandler) {
  return vendor::Comm_create_errhandler(CommHandlers::of_variadic(function), errhandler);
}

#ifdef IMPISHIM_HAVE_MPI_Errhandler_create
int Errhandler_create(Job& /*job*/, MPI_Handler_function* function, MPI_Errhandler* errhandler) {
  return vendor::Errhandler_create(CommHandlers::of_variadic(function), errhandler);
}
#endif

int Win_create_errhandler(Job& /*job*/, MPI_Win_errhandler_function* function,
                          MPI_Errhandler* errhandler) {
  return vendor::Win_create_errhandler(
      TrampolinePool<MPI_Win, MPI_Win*, int*>::of_variadic(function), errhandler);
}

int File_create_errhandler(Job& /*job*/, MPI_File_errhandler_function* function,
                           MPI_Errhandler* errhandler) {
  return vendor::File_create_errhandler(
      TrampolinePool<MPI_File, MPI_File*, int*>::of_variadic(function), errhandler);
}

#ifdef IMPISHIM_HAVE_MPI_Session_create_errhandler
int Session_create_errhandler(Job& /*job*/, MPI_Session_errhandler_function* function,
                              MPI_Errhandler* errhandler) {
  return vendor::Session_create_errhandler(
      TrampolinePool<MPI_Session, MPI_Session*, int*>::of_variadic(function), errhandler);
}
#endif

int Op_create(Job& /*job*/, MPI_User_function* function, int commute, MPI_Op* op) {
  return vendor::Op_create(TrampolinePool<MPI_Op, void*, void*, int*, MPI_Datatype*>::of(function),
                           commute, op);
}

#ifdef IMPISHIM_HAVE_MPI_Op_create_c
int Op_create_c(Job& /*job*/, MPI_User_function_c* function, int commute, MPI_Op* op) {
  return vendor::Op_create_c(
      TrampolinePool<MPI_Op, void*, void*, MPI_Count*, MPI_Datatype*>::of(function), commute, op);
}
#endif

}  // namespace calls
}  // namespace impishim::shim
