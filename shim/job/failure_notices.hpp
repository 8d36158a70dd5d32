// SPDX-License-Identifier: Apache-2.0
/// Notices of collectives that ended in an error at one member. Without them the other members
/// would wait for that member for ever.
///
/// A member whose collective fails sends a notice to all other members. A member that waits in a
/// collective for long reads the notices that have arrived; see CollectiveQueue. A job without
/// errors sends nothing and reads nothing.
///
/// Notices to other systems are messages of the engine in a context that no communicator has.
/// Notices inside this system use the library's private communicator.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "shim/values/failure_notice.hpp"
#include "wire/base/mutex.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

struct Communicator;
struct Job;

class FailureNotices {
 public:
  FailureNotices() = default;
  FailureNotices(const FailureNotices&) = delete;
  FailureNotices& operator=(const FailureNotices&) = delete;

  /// Sends a notice to all other members of `communicator`, both groups of an intercommunicator
  /// included. Does not block. Drops a notice if too many are pending.
  void tell(Job& job, const Communicator& communicator, const FailureNotice& notice);
  /// Reads the notices that have arrived. Application threads only.
  void poll(Job& job);
  /// Returns the notices of `context` that poll() has read. Each is returned once.
  [[nodiscard]] std::vector<FailureNotice> take(wire::ContextId context);
  /// Reads notices as poll() does. Returns true if a member of `context` in this system has given
  /// up the creation of a communicator there.
  [[nodiscard]] bool was_left(Job& job, wire::ContextId context);
  /// Returns the revocations that poll() has read. Each is returned once.
  [[nodiscard]] std::vector<FailureNotice> take_revocations();
  /// Keeps one of them for later: its communicator is not complete in this process yet.
  void put_back(FailureNotice revocation);
  /// Drops the notices of a communicator that has been freed.
  void forget(wire::ContextId context);
  /// Keeps the state of a collective that was given up until the job ends: the vendor and the
  /// engine may still use it.
  void keep(std::shared_ptr<const void> given_up);
  /// Ends the reading of notices, so that the engine becomes idle. For MPI_Finalize.
  void stop(Job& job);

 private:
  struct Outgoing {
    FailureNoticeBytes bytes;
    wire::SendOperation send;                ///< to another system
    MPI_Request request = MPI_REQUEST_NULL;  ///< inside this system
  };
  struct Incoming {
    FailureNoticeBytes bytes{};
    wire::ReceiveOperation receive;
  };

  void send(Job& job, wire::WorldRank to, const FailureNoticeBytes& bytes)
      IMPISHIM_REQUIRES(mutex_);
  void drop_sent() IMPISHIM_REQUIRES(mutex_);
  void post_receive(Job& job) IMPISHIM_REQUIRES(mutex_);
  void receive_from_engine(Job& job) IMPISHIM_REQUIRES(mutex_);
  void receive_from_vendor(const Job& job) IMPISHIM_REQUIRES(mutex_);
  void keep_notice(const Job& job, const FailureNoticeBytes& bytes) IMPISHIM_REQUIRES(mutex_);

  Mutex mutex_;
  std::list<Outgoing> sent_ IMPISHIM_GUARDED_BY(mutex_);
  std::unique_ptr<Incoming> incoming_ IMPISHIM_GUARDED_BY(mutex_);
  bool stopped_ IMPISHIM_GUARDED_BY(mutex_) = false;
  std::vector<FailureNotice> notices_ IMPISHIM_GUARDED_BY(mutex_);
  std::set<wire::ContextId> left_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<FailureNotice> revocations_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const void>> given_up_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
