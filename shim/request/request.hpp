// SPDX-License-Identifier: Apache-2.0
/// Requests of our own: operations that the vendor's MPI cannot carry alone.
///
/// A user's request handle is either a vendor handle, or one of ours (own_handle.hpp) that names a
/// Request in the pool. Only application threads drive a Request, under its own lock; the engine's
/// part of it may complete on the progress thread.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/operation.hpp"

namespace impishim::shim {

struct Request;

/// The part of a request that belongs to a collective (collective_queue.hpp).
class CollectivePart {
 public:
  CollectivePart() = default;
  CollectivePart(const CollectivePart&) = delete;
  CollectivePart& operator=(const CollectivePart&) = delete;
  virtual ~CollectivePart() = default;
  /// Starts a persistent collective again (MPI_Start). Returns a code that has been raised.
  [[nodiscard]] virtual int restart(Job& job, Request& request) = 0;
  /// Makes progress on the collective. Returns true when it is complete; `request.error` is then
  /// its code, not raised if it was made here.
  virtual bool test(Job& job, Request& request) = 0;
  /// Returns true if only the vendor's MPI can complete the current step.
  [[nodiscard]] virtual bool waits_in_vendor() = 0;
};

/// The part of the library, or the vendor, that carries an operation.
enum class Carrier : std::uint8_t {
  kNothing,  ///< MPI_PROC_NULL: complete at once
  /// A native request inside ours (matched messages, and receives where vendor_request_serves() is
  /// false).
  kVendor,
  kEngine,      ///< an operation of the engine, with a process of another system
  kBoth,        ///< a receive from MPI_ANY_SOURCE, posted at the vendor and in the engine
  kPair,        ///< MPI_Isendrecv: a receive and a send, each a request of its own
  kCollective,  ///< a nonblocking or persistent collective
};

/// The mode of a send: MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend.
enum class SendKind : std::uint8_t { kStandard, kSynchronous, kReady, kBuffered };

/// An own request. Fields are set before it starts. From then on they change under `mutex` only;
/// `done` may be read without it.
struct Request {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective };

  // Kind of the request.
  Kind kind = Kind::kSend;
  Carrier carrier = Carrier::kNothing;
  SendKind send_kind = SendKind::kStandard;
  bool persistent = false;
  Communicator* communicator = nullptr;  ///< counted in its `pending`
  const char* function = "";             ///< for error messages: the call that made it

  // Arguments of a persistent operation, kept for MPI_Start.
  const void* send_buffer = nullptr;
  void* receive_buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  /// A duplicate, since the user may free a persistent request's datatype.
  bool owns_datatype = false;
  int peer = MPI_PROC_NULL;  ///< spanning rank, MPI_ANY_SOURCE or MPI_PROC_NULL
  int tag = 0;

  // State.
  Mutex mutex;
  bool active = false;
  std::atomic<bool> done{true};
  /// A cancel of the native twin was requested for the contesting message.
  bool cancelling_twin = false;
  bool user_cancelled = false;
  MPI_Request native = MPI_REQUEST_NULL;
  /// The vendor's persistent request, for a persistent receive that the vendor has a part in: each
  /// start sets `native` to it. It keeps the vendor's communicator alive.
  MPI_Request native_persistent = MPI_REQUEST_NULL;
  MPI_Status native_status{};
  bool native_won = false;  ///< the result is native_status
  int error = MPI_SUCCESS;  ///< found at completion; not raised yet
  wire::SendOperation send;
  wire::ReceiveOperation receive;
  std::array<MPI_Request, 2> pair{
      MPI_REQUEST_NULL,
      MPI_REQUEST_NULL};             ///< kPair: receive, send; native_status is the receive's
  std::shared_ptr<void> keep_alive;  ///< memory that the operation needs
  std::shared_ptr<std::vector<std::byte>> buffered;  ///< the packed copy of a buffered send
  std::int64_t buffered_cost = 0;
  std::shared_ptr<CollectivePart> collective;
  std::uint32_t index = 0;  ///< index in the pool

  /// Returns the communicator whose error handler handles errors.
  [[nodiscard]] MPI_Comm comm() const {
    return communicator == nullptr ? MPI_COMM_WORLD : communicator->error_handle();
  }
  /// Returns true if only the engine completes this request, so a test need not drive it.
  [[nodiscard]] bool moves_by_itself() const { return active && carrier == Carrier::kEngine; }
  /// Returns true if such a request is complete.
  [[nodiscard]] bool engine_is_done() const {
    return done.load(std::memory_order_acquire) ||
           (kind == Kind::kSend ? send.complete() : receive.complete());
  }
  /// Makes the request a send or a receive with these arguments of the user; the caller must set
  /// the carrier.
  void set_send(SendKind mode, const void* buffer, int elements, MPI_Datatype type, int dest,
                int message_tag);
  void set_receive(void* buffer, int elements, MPI_Datatype type, int source, int message_tag);
  /// Makes the request persistent: keeps the arguments for MPI_Start.
  void make_persistent();
};

/// All own requests of the process. Objects never move; handles are reused only after release.
class RequestPool {
 public:
  static RequestPool& instance() {
    static RequestPool pool;
    return pool;
  }
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
  RequestPool() : blocks_(kMaxBlocks) {}
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

/// Starts the receive that `request` describes, from MPI_ANY_SOURCE or any other source. Returns an
/// MPI code that was not raised.
[[nodiscard]] int start_receive(Job& job, Request& request);
[[nodiscard]] int start_send(Job& job, Request& request);

/// Makes progress on one request (native twin, contests); returns true if it is done. Application
/// threads only.
bool test_request(Job& job, Request& request);

/// Settles receives for which a remote message and their native twin compete. Returns true if any
/// made progress.
bool settle_contested(Job& job);

/// Fills `status` (may be MPI_STATUS_IGNORE) from a request that is done, and returns its error
/// code, not raised. Ends the operation: a persistent request becomes inactive; any other is
/// released, and `*handle` is set to MPI_REQUEST_NULL.
[[nodiscard]] int finish_request(Job& job, MPI_Request* handle, MPI_Status* status);

/// Raises `code` through the error handler of `comm` if it was made here (the vendor raises its own
/// codes). Returns `code`.
int raise_if_own(MPI_Comm comm, int code);

/// Fills `status` and returns the code as finish_request() does, without ending the operation
/// (MPI_Request_get_status).
[[nodiscard]] int read_status(Job& job, Request& request, MPI_Status* status);

}  // namespace impishim::shim
