// SPDX-License-Identifier: Apache-2.0
/// Requests of our own: operations that the vendor's MPI cannot carry alone.
///
/// A user's request handle is either the vendor's, or one of ours (own_handle.hpp) that names a
/// Request in the pool. A Request is driven by application threads only, under its own lock; the
/// engine's part of it may complete on the progress thread.
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

/// The part of a request that a collective is (collective_queue.hpp).
class CollectivePart {
 public:
  CollectivePart() = default;
  CollectivePart(const CollectivePart&) = delete;
  CollectivePart& operator=(const CollectivePart&) = delete;
  virtual ~CollectivePart() = default;
  /// Starts a persistent collective again (MPI_Start). Returns a code that has been raised.
  [[nodiscard]] virtual int restart(Job& job, Request& request) = 0;
  /// Moves the collective on. Returns true when it is complete; `request.error` is then its code,
  /// not raised if it was made here.
  virtual bool test(Job& job, Request& request) = 0;
  /// Returns true if only the vendor's MPI can complete what is under way.
  [[nodiscard]] virtual bool waits_in_vendor() = 0;
};

/// Who carries an operation.
enum class Carrier : std::uint8_t {
  kNothing,     ///< MPI_PROC_NULL: complete at once
  kVendor,      ///< a native request inside ours (matched ones, and receives that
                ///< vendor_request_serves() is not for)
  kEngine,      ///< another system's process
  kBoth,        ///< a receive from MPI_ANY_SOURCE: whichever comes first
  kPair,        ///< MPI_Isendrecv: a receive and a send, each a request of its own
  kCollective,  ///< a nonblocking or persistent collective
};

/// How a send is to be made; the letters of MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend.
enum class SendKind : std::uint8_t { kStandard, kSynchronous, kReady, kBuffered };

/// An own request. Fields are set before it starts and then changed under `mutex` only; `done` may
/// be read without.
struct Request {
  enum class Kind : std::uint8_t { kSend, kReceive, kCollective };

  // What it is.
  Kind kind = Kind::kSend;
  Carrier carrier = Carrier::kNothing;
  SendKind send_kind = SendKind::kStandard;
  bool persistent = false;
  Communicator* communicator = nullptr;  ///< counted in its `pending`
  const char* function = "";             ///< for errors: the call that made it

  // Arguments of a persistent operation, kept for MPI_Start.
  const void* send_buffer = nullptr;
  void* receive_buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  bool owns_datatype =
      false;  ///< a duplicate, since the user may free a persistent request's datatype
  int peer = MPI_PROC_NULL;  ///< spanning rank, MPI_ANY_SOURCE or MPI_PROC_NULL
  int tag = 0;

  // State.
  Mutex mutex;
  bool active = false;
  std::atomic<bool> done{true};
  bool cancelling_twin =
      false;  ///< the native twin was asked to withdraw for the contesting message
  bool user_cancelled = false;
  MPI_Request native = MPI_REQUEST_NULL;
  /// Of a persistent receive that the vendor has a part in: what `native` is each time. It keeps
  /// the vendor's communicator.
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
  std::uint32_t index = 0;  ///< in the pool

  /// Whose error handler hears of errors.
  [[nodiscard]] MPI_Comm comm() const {
    return communicator == nullptr ? MPI_COMM_WORLD : communicator->error_handle();
  }
  /// An active one that the engine alone brings to its end: no test moves it on.
  [[nodiscard]] bool moves_by_itself() const { return active && carrier == Carrier::kEngine; }
  /// Of such a one: it is over.
  [[nodiscard]] bool engine_is_done() const {
    return done.load(std::memory_order_acquire) ||
           (kind == Kind::kSend ? send.complete() : receive.complete());
  }
  /// Makes it a send or a receive with these arguments of the user's; the carrier is the caller's
  /// choice.
  void set_send(SendKind mode, const void* buffer, int elements, MPI_Datatype type, int dest,
                int message_tag);
  void set_receive(void* buffer, int elements, MPI_Datatype type, int source, int message_tag);
  /// Keeps the arguments for MPI_Start.
  void make_persistent();
};

/// All own requests of the process. Objects stay at their place; handles are recycled after release
/// only.
class RequestPool {
 public:
  static RequestPool& instance() {
    static RequestPool pool;
    return pool;
  }
  /// A fresh request, referring to `communicator`.
  [[nodiscard]] Request& acquire(Communicator* communicator, const char* function);
  void release(Request& request);
  [[nodiscard]] Request& at(MPI_Request handle) {
    return *blocks_[own_requests().index(handle) / kBlock]->at(own_requests().index(handle) %
                                                               kBlock);
  }
  [[nodiscard]] MPI_Request handle_of(const Request& request) const {
    return own_requests().make(request.index);
  }

  /// Requests that the user has freed while they were active: they go on, and are reaped when they
  /// are done.
  void orphan(Request& request);
  void reap_orphans(Job& job);

  /// Moves the operations of `communicator` on, and tells whether all are over: those too that the
  /// user has freed, and buffered sends. None may be begun meanwhile. `first`: 0 in the first call,
  /// then what the last one left.
  [[nodiscard]] bool all_over(Job& job, const Communicator& communicator, std::size_t& first);

  /// Receives whose twin has been asked to withdraw and has not answered yet; somebody has to ask
  /// again, whoever waits for what.
  void remember_unsettled(Request& request);
  /// Asks them. Returns true if any is settled now.
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
    Mutex mutex;  ///< of blocks, too
    std::vector<std::uint32_t> indices IMPISHIM_GUARDED_BY(mutex);
  };
  RequestPool() : blocks_(kMaxBlocks) {}
  /// Some free requests, at least one; returns how many.
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

/// Posts a receive from MPI_ANY_SOURCE (or any other) that is described in `request`, and starts
/// it. Errors are returned as MPI codes that were not raised.
[[nodiscard]] int start_receive(Job& job, Request& request);
[[nodiscard]] int start_send(Job& job, Request& request);

/// Moves one request on (native twin, contests) and tells whether it is done. Application threads
/// only.
bool test_request(Job& job, Request& request);

/// Settles receives that a remote message and their native twin both want. Returns true if any
/// moved.
bool settle_contested(Job& job);

/// Fills `status` (may be ignored) from a request that is done, and returns its error code, not
/// raised. Ends the operation: a persistent one becomes inactive, any other is released and
/// `*handle` set to MPI_REQUEST_NULL.
[[nodiscard]] int finish_request(Job& job, MPI_Request* handle, MPI_Status* status);

/// Raises `code` through the handler of `comm` if it was made here (the vendor raises its own), and
/// returns it.
int raise_if_own(MPI_Comm comm, int code);

/// The same without ending it (MPI_Request_get_status).
[[nodiscard]] int read_status(Job& job, Request& request, MPI_Status* status);

}  // namespace impishim::shim
