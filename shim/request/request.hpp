// SPDX-License-Identifier: Apache-2.0
/// Requests of our own: operations that the vendor's MPI cannot carry alone.
///
/// A user's request handle is either a vendor handle, or one of ours (own_handle.hpp) that names a
/// Request in the pool. Only application threads drive a Request, under its own lock; the engine's
/// part of it may complete on the progress thread. A new kind of request is a new RequestKind, in a
/// file of its own.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

struct Request;

/// What the requests of one kind do. There is one object for each kind, without state; a request
/// points to the object of its kind.
///
/// The kinds: null_request.hpp, engine_request.hpp, vendor_request.hpp, any_source.hpp, and those
/// of MPI_Isendrecv (pt2pt/send_receive.cpp), MPI_Ibsend (pt2pt/buffered.hpp) and collectives
/// (coll/collective_queue.cpp).
class RequestKind {
 public:
  struct Traits {
    bool receives = false;  ///< a receive, or a receive and a send
    /// Only the engine completes such a request, so a test need not drive it. It uses
    /// Request::receive if `receives` is true, or else Request::send.
    bool moves_by_itself = false;
    bool raises_errors = false;  ///< start() returns codes that have been raised
  };
  explicit constexpr RequestKind(Traits traits) : traits_(traits) {}
  RequestKind(const RequestKind&) = delete;
  RequestKind& operator=(const RequestKind&) = delete;

  /// Starts the operation that the request describes. Returns a code that was not raised, unless
  /// the traits say otherwise.
  [[nodiscard]] virtual int start(Job& job, Request& request) const = 0;
  /// Makes progress. Returns true if the request is done; it is then marked as done. Application
  /// threads only.
  virtual bool advance(Job& job, Request& request) const = 0;
  /// Fills `status` (may be MPI_STATUS_IGNORE) from a request that is active and done. Returns its
  /// code, not raised.
  [[nodiscard]] virtual int read_status(Job& job, Request& request, MPI_Status* status) const = 0;
  /// Does what MPI_Cancel does to an active request. Returns a code that has been raised.
  [[nodiscard]] virtual int cancel(Job& job, Request& request) const = 0;
  /// Returns true if waiting for the request can end inside the vendor's MPI.
  [[nodiscard]] virtual bool waits_in_vendor(Request& request) const = 0;

  [[nodiscard]] const Traits& traits() const { return traits_; }

 protected:
  ~RequestKind() = default;

 private:
  Traits traits_;
};

/// The mode of a send: MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend.
enum class SendKind : std::uint8_t { kStandard, kSynchronous, kReady, kBuffered };

/// The user's arguments of a send or a receive, kept for MPI_Start.
struct MessageArguments {
  SendKind send_kind = SendKind::kStandard;
  const void* send_buffer = nullptr;
  void* receive_buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  /// A duplicate, since the user may free a persistent request's datatype.
  bool owns_datatype = false;
  int peer = MPI_PROC_NULL;  ///< spanning rank, MPI_ANY_SOURCE or MPI_PROC_NULL
  int tag = 0;
};

/// The vendor's part of a request.
struct VendorPart {
  MPI_Request request = MPI_REQUEST_NULL;
  /// The vendor's persistent request, for a persistent receive that the vendor has a part in: each
  /// start sets `request` to it. It keeps the vendor's communicator alive.
  MPI_Request persistent = MPI_REQUEST_NULL;
  MPI_Status status{};
  bool won = false;  ///< the result is `status`
  /// A cancel of this part was requested for a message that contests the receive, or by the user.
  bool cancelling = false;
};

/// An own request. Fields are set before it starts. From then on they change under `mutex` only;
/// `done` may be read without it.
struct Request {
  const RequestKind* kind = nullptr;
  bool persistent = false;
  Communicator* communicator = nullptr;  ///< counted in its `pending`
  const char* function = "";             ///< for error messages: the call that made it
  MessageArguments arguments;

  Mutex mutex;
  bool active = false;
  std::atomic<bool> done{true};
  bool user_cancelled = false;
  /// A receive from any source that has ended since a member is lost, and that waits again when the
  /// loss is acknowledged (MPIX_ERR_PROC_FAILED_PENDING). Reported at least once.
  bool failure_pending = false;
  int error = MPI_SUCCESS;  ///< found at completion; not raised yet
  VendorPart vendor;
  wire::SendOperation send;
  wire::ReceiveOperation receive;
  std::shared_ptr<void> part;  ///< further state of the request's kind, and memory that it needs
  std::uint32_t index = 0;     ///< index in the pool

  /// Returns the communicator whose error handler handles errors.
  [[nodiscard]] MPI_Comm comm() const {
    return communicator == nullptr ? MPI_COMM_WORLD : communicator->error_handle();
  }
  /// Returns true if only the engine completes this request, so a test need not drive it.
  [[nodiscard]] bool moves_by_itself() const {
    return active && kind->traits().moves_by_itself && !is_revoked() && !failure_pending;
  }
  /// Returns true if its communicator is revoked.
  [[nodiscard]] bool is_revoked() const {
    return communicator != nullptr && communicator->revoked.load(std::memory_order_relaxed);
  }
  /// Returns true once if it must be cancelled because its communicator is revoked.
  [[nodiscard]] bool must_be_cancelled() {
    return is_revoked() && !std::exchange(user_cancelled, true);
  }
  /// Returns true if such a request is complete.
  [[nodiscard]] bool engine_is_done() const {
    return done.load(std::memory_order_acquire) ||
           (kind->traits().receives ? receive.complete() : send.complete());
  }
  /// Marks the request as active and not done, for a start.
  void begin();
  /// Marks the request as done. Returns true.
  bool end() {
    done.store(true, std::memory_order_release);
    return true;
  }
  /// Sets the user's arguments; the caller must set the kind.
  void set_send(SendKind mode, const void* buffer, int elements, MPI_Datatype type, int dest,
                int message_tag);
  void set_receive(void* buffer, int elements, MPI_Datatype type, int source, int message_tag);
  /// Makes the request persistent: keeps the arguments for MPI_Start.
  void make_persistent();
};

/// Runs `advance` under the lock of the request, and marks the request as done if it returns true.
/// Returns false if another thread has the lock.
template <class Advance>
bool advance_locked(Request& request, const Advance& advance) {
  if (!request.mutex.try_lock()) return false;
  const AdoptedLock lock(request.mutex);
  if (request.done.load(std::memory_order_relaxed)) return true;
  return advance() && request.end();
}

/// All own requests of the process. Objects never move; handles are reused only after release.
class RequestPool {
 public:
  RequestPool() : blocks_(kMaxBlocks) {}
  RequestPool(const RequestPool&) = delete;
  RequestPool& operator=(const RequestPool&) = delete;

  /// Returns a new request that refers to `communicator`.
  [[nodiscard]] Request& acquire(Communicator* communicator, const char* function);
  void release(Request& request);
  [[nodiscard]] Request& at(MPI_Request handle) {
    return *blocks_[own_requests().index(handle) / kBlock]->at(own_requests().index(handle) %
                                                               kBlock);
  }
  [[nodiscard]] MPI_Request handle_of(const Request& request) const {
    return own_requests().make(request.index);
  }

  /// Takes over a request that the user has freed while it was active: it continues, and
  /// reap_orphans() releases it when it is done.
  void orphan(Request& request);
  void reap_orphans(Job& job);

  /// Progresses the operations of `communicator`, also freed requests and buffered sends. Returns
  /// true if all are complete. No operation may be started meanwhile. `first` is 0 in the first
  /// call, then what the last call left.
  [[nodiscard]] bool all_over(Job& job, const Communicator& communicator, std::size_t& first);

  /// Records a receive whose twin was asked to cancel and has not answered yet. It must be tested
  /// again, whatever the threads wait for.
  void remember_unsettled(Request& request);
  /// Tests them again. Returns true if any is settled now.
  bool poll_unsettled(Job& job);

 private:
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kMaxBlocks = kMaxOwnHandles / kBlock;
  struct Block {
    std::unique_ptr<Request[]> requests{new Request[kBlock]};
    Request* at(std::size_t i) { return &requests[i]; }
  };
  class ThreadShare;
  struct FreeRequests {
    Mutex mutex;  ///< also protects the blocks
    std::vector<std::uint32_t> indices IMPISHIM_GUARDED_BY(mutex);
  };
  /// Takes some free requests, at least one; returns their number.
  [[nodiscard]] std::size_t take_free(std::span<std::uint32_t> indices);
  void add_block() IMPISHIM_REQUIRES(free_->mutex);
  void forget_unsettled(const Request& request);
  Mutex mutex_;
  const std::shared_ptr<FreeRequests> free_ = std::make_shared<FreeRequests>();
  // Reserved once, so that lookups need no lock while other threads add blocks.
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t block_count_ = 0;  ///< changed under free_->mutex
  std::vector<Request*> orphans_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<Request*> unsettled_ IMPISHIM_GUARDED_BY(mutex_);
  std::atomic<std::size_t> unsettled_count_{0};
  std::atomic<std::size_t> orphan_count_{0};
  /// Some thread releases orphans or looks through all requests. No mutex: its vendor calls may
  /// call the user's functions.
  std::atomic<bool> reaping_{false};
};

/// Starts a receive again whose failure is pending, if the loss has been acknowledged. Returns true
/// if it is done or may not wait yet.
bool is_done_or_closed(Job& job, Request& request);

/// Makes progress on one request; returns true if it is done. Application threads only.
inline bool test_request(Job& job, Request& request) {
  if (request.done.load(std::memory_order_acquire))
    return !request.failure_pending || is_done_or_closed(job, request);
  return request.kind->advance(job, request);
}

/// Returns the requests of the job. For calls that are made only while there is one.
[[nodiscard]] inline RequestPool& request_pool() { return *running_job().requests; }

/// Fills `status` (may be MPI_STATUS_IGNORE) from a request that is done, and returns its error
/// code, not raised. Ends the operation: a persistent request becomes inactive; any other is
/// released, and `*handle` is set to MPI_REQUEST_NULL. If its failure is pending, nothing ends.
[[nodiscard]] int finish_request(Job& job, MPI_Request* handle, MPI_Status* status);

/// Raises `code` through the error handler of `comm` if it was made here (the vendor raises its own
/// codes). Returns `code`.
int raise_if_own(MPI_Comm comm, int code);

/// Fills `status` and returns the code as finish_request() does, without ending the operation
/// (MPI_Request_get_status).
[[nodiscard]] int read_status(Job& job, Request& request, MPI_Status* status);

}  // namespace impishim::shim
