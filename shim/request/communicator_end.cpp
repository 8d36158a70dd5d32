// SPDX-License-Identifier: Apache-2.0
#include "shim/request/communicator_end.hpp"

#include <atomic>
#include <utility>

#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// The communicator that the vendor is freeing for this thread; null inside one of its delete
/// callbacks.
thread_local Communicator* dying __attribute__((tls_model("initial-exec"))) = nullptr;

int free_by_vendor(Communicator& communicator, MPI_Comm* handle, int (*vendor_free)(MPI_Comm*)) {
  Communicator* outer = std::exchange(dying, &communicator);
  const int code = vendor_free(handle);
  dying = outer;
  return code;
}

void forget_contexts(Job& job, const Communicator& communicator) {
  job.failure_notices.forget(communicator.context);
  job.engine->forget_context(communicator.context);
  job.engine->forget_context(communicator.context + 1);
  job.engine->forget_context((communicator.context | kGroupMeeting) + 1);
  if (communicator.inter == nullptr) return;
  forget_contexts(job, *communicator.inter->local);
  forget_contexts(job, *communicator.inter->both);
}

/// Keeps the user's error handler for errors of requests that are not complete yet.
void keep_error_handler(Communicator& communicator) {
  const MPI_Comm heir =
      communicator.inter == nullptr ? communicator.companion : communicator.inter->both->handle;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (vendor::Comm_get_errhandler(communicator.handle, &handler) != MPI_SUCCESS) return;
  vendor::Comm_set_errhandler(heir, handler);
  if (!is_predefined(handler)) vendor::Errhandler_free(&handler);  // releases our reference
  communicator.heir.store(heir, std::memory_order_release);
}

}  // namespace

void free_if_any(MPI_Comm* comm) {
  if (*comm != MPI_COMM_NULL) vendor::Comm_free(comm);
}

int end_communicator(Job& job, Communicator& communicator, MPI_Comm* handle,
                     int (*vendor_free)(MPI_Comm*)) {
  // Another thread may receive the same handle as soon as the vendor has freed it.
  job.communicators.hide(communicator);
  if (communicator.handle_uses.load() > 0) {
    communicator.free_later = vendor_free;
    *handle = MPI_COMM_NULL;
  } else {
    if (communicator.pending.load() > 0) keep_error_handler(communicator);
    const int code = free_by_vendor(communicator, handle, vendor_free);
    if (code != MPI_SUCCESS) {
      communicator.heir.store(MPI_COMM_NULL);
      job.communicators.show(communicator);
      return code;
    }
  }
  job.communicators.retire(communicator);
  release_ended(job);
  return MPI_SUCCESS;
}

void release_ended(Job& job) {
  const auto all_ended = job.communicators.take_ended();
  for (Communicator* ended : all_ended) {
    // The user's call has returned, so an error of a delete callback cannot be reported to any
    // caller.
    MPI_Comm handle = ended->handle;
    if (ended->free_later != nullptr) free_by_vendor(*ended, &handle, ended->free_later);
    forget_contexts(job, *ended);
    free_hidden_handles(*ended);
    job.communicators.drop(*ended);
  }
  if (!all_ended.empty()) job.connected_hosts.release_unused(job);
}

void free_hidden_handles(Communicator& communicator) {
  if (communicator.broken.load(std::memory_order_acquire)) return;
  free_if_any(&communicator.companion);
  if (communicator.inter == nullptr) return;
  free_if_any(&communicator.inter->local->handle);
  free_if_any(&communicator.inter->both->handle);
}

InsideDeleteCallback::InsideDeleteCallback() : shown_(std::exchange(dying, nullptr)) {
  if (shown_ != nullptr) running_job().communicators.show(*shown_);
}

InsideDeleteCallback::~InsideDeleteCallback() {
  if (shown_ != nullptr) running_job().communicators.hide(*shown_);
  dying = shown_;
}

}  // namespace impishim::shim
