// SPDX-License-Identifier: Apache-2.0
/// Spanning communicators: the description of a native handle, and the table that finds it.
///
/// The user's handle of a spanning communicator is the native communicator of its local members
/// (docs/architecture.md, Communicators). A handle that is not in the table is native; every call
/// on it is passed directly to the vendor.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/handle/handle_table.hpp"
#include "shim/values/initialization_numbers.hpp"
#include "wire/base/mutex.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

class CollectiveQueue;
struct Communicator;
struct Topology;

/// Marks the context of a communicator's partitioned communication, which matches no other messages
/// (MPI-4.0 4.2). Above all context ids that are assigned by IMPI's rule.
inline constexpr wire::ContextId kPartitionedContext = 1ULL << 58U;
/// Marks the context of the meetings of this parent's members in MPI_Comm_create_group.
inline constexpr wire::ContextId kGroupMeeting = 1ULL << 59U;

/// The two groups of an intercommunicator, for its collectives. Hidden: users have no handles to
/// them.
struct Intergroups {
  std::unique_ptr<Communicator> local;  ///< the local group, which may be all in one client
  /// Both groups, one after the other, in the same order on both sides.
  std::unique_ptr<Communicator> both;
  std::int32_t first_local = 0;  ///< rank in `both` of the local group's first member
  std::int32_t first_remote = 0;
};

/// A communicator whose members are in two or more clients. Immutable, except for the fields whose
/// comments say otherwise.
///
/// For an intercommunicator, `members` and all fields derived from it describe the remote group,
/// with which messages are exchanged. `rank` is this process's rank in the local group.
struct Communicator {
  /// The user's handle: the vendor's communicator of the local members, of both groups for an
  /// intercommunicator.
  MPI_Comm handle = MPI_COMM_NULL;
  /// Another communicator of the same members, for collectives among them.
  MPI_Comm companion = MPI_COMM_NULL;
  wire::ContextId context = 0;  ///< for point-to-point; collectives use context + 1 (IMPI 4.3)
  std::vector<wire::WorldRank> members;  ///< spanning rank -> world rank
  std::int32_t rank = 0;                 ///< this process's spanning rank
  /// Spanning rank -> rank in `handle`, or -1 for a process of another system.
  std::vector<std::int32_t> local_ranks;
  /// Rank in `handle` -> spanning rank. -1 for a member of an intercommunicator's local group.
  std::vector<std::int32_t> spanning_ranks;
  /// `spanning_ranks[i] == i` for all i: statuses need no translation.
  bool local_ranks_are_spanning = false;

  /// Lowest spanning rank of each client in the communicator, ascending (IMPI 4.1).
  std::vector<std::int32_t> masters;
  std::vector<std::int32_t> master_of;  ///< spanning rank -> index in `masters`
  std::int32_t host_count = 0;          ///< IMPI_HOST_SIZE
  std::int32_t host_color = 0;          ///< IMPI_HOST_COLOR of this process
  /// IMPI_CLIENT_COLOR of this process; IMPI_CLIENT_SIZE is masters.size().
  std::int32_t client_color = 0;
  /// True if some member belongs to another job (MPI_Comm_accept, MPI_Comm_connect,
  /// MPI_Comm_spawn). Each job numbers the members of the other in its own way.
  bool connects_jobs = false;

  /// Meaningful for an intercommunicator: true if some members of the remote group are in this
  /// client. If false, the vendor carries no messages.
  bool has_local_peers = true;
  std::shared_ptr<const Topology> topology;  ///< shim/values/topology.hpp; null if there is none
  std::unique_ptr<Intergroups> inter;        ///< null for an intracommunicator
  std::shared_ptr<CollectiveQueue> collectives;  ///< the collectives in progress
  InitializationNumbers partitioned;             ///< of MPI_Psend_init and MPI_Precv_init

  /// True if a collective was given up (CollectiveQueue): all later ones end in an error, and the
  /// vendor may use the companion until the job ends.
  std::atomic<bool> broken{false};
  /// What this hidden communicator is made for, if it cannot do without a member: a window, a file.
  /// Null for other communicators.
  std::atomic<const char*> made_for{nullptr};

  /// True if a member has revoked it (MPIX_Comm_revoke): all that waits ends in an error, and so do
  /// all later calls but those for survivors.
  std::atomic<bool> revoked{false};
  /// The lost systems that this process has acknowledged (bit i stands for system i), and the
  /// number of agreements of survivors that it has entered (shim/survive).
  std::atomic<std::uint64_t> acknowledged{0};
  std::atomic<std::uint64_t> agreements{0};

  /// The number of MPI_Comm_idup calls for which the vendor has not copied the attributes yet.
  std::atomic<std::int32_t> duplications{0};
  /// The number of MPI_Comm_idup calls that the vendor has not completed.
  std::atomic<std::int32_t> handle_uses{0};

  /// The number of requests that still refer to this object. A freed communicator lives until they
  /// are complete (MPI-3.1 6.4.3).
  std::atomic<std::int32_t> pending{0};
  /// Used if the communicator was freed while requests were pending: a hidden handle with the
  /// user's error handler, for the errors of these requests.
  std::atomic<MPI_Comm> heir{MPI_COMM_NULL};
  /// Set if the communicator was freed during an MPI_Comm_idup, which copies from its handle: the
  /// function that frees the handle afterwards.
  int (*free_later)(MPI_Comm*) = nullptr;

  /// Returns the handle whose error handler is called for errors.
  [[nodiscard]] MPI_Comm error_handle() const {
    const MPI_Comm of_freed = heir.load(std::memory_order_acquire);
    return of_freed == MPI_COMM_NULL ? handle : of_freed;
  }

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }
  /// Returns the group of this process.
  [[nodiscard]] const std::vector<wire::WorldRank>& own_group() const {
    return inter == nullptr ? members : inter->local->members;
  }
  [[nodiscard]] bool valid_rank(int rank_) const { return rank_ >= 0 && rank_ < size(); }
  /// Returns the world rank of a valid rank.
  [[nodiscard]] wire::WorldRank world_rank(int rank_) const {
    return members[static_cast<std::size_t>(rank_)];
  }
  /// Returns the rank in `handle` of a process of this system. Negative if the rank belongs to
  /// another system or is invalid.
  [[nodiscard]] std::int32_t local_rank(int rank_) const {
    return static_cast<std::size_t>(rank_) < local_ranks.size()
               ? local_ranks[static_cast<std::size_t>(rank_)]
               : -1;
  }

  /// Creates a communicator. Derives all fields from `handle`, `context`, `members` and the job
  /// map.
  [[nodiscard]] static std::unique_ptr<Communicator> create(const wire::JobMap& job,
                                                            wire::WorldRank here, MPI_Comm handle,
                                                            wire::ContextId context,
                                                            std::vector<wire::WorldRank> members);
};

/// The communicators of this process, found by the native handle.
class CommunicatorTable {
 public:
  CommunicatorTable() = default;
  CommunicatorTable(const CommunicatorTable&) = delete;
  CommunicatorTable& operator=(const CommunicatorTable&) = delete;

  /// Returns the spanning communicator of `handle`, or null if the handle is native or invalid. The
  /// vendor reports invalid handles. Takes no lock.
  [[nodiscard]] Communicator* find(MPI_Comm handle) const { return by_handle_.find(handle); }

  /// Registers `communicator->handle` as spanning. The pointer stays valid until drop().
  Communicator* insert(std::unique_ptr<Communicator> communicator);
  /// Makes the handle native. Must be called before the vendor frees the handle, which it may
  /// reuse.
  void hide(Communicator& communicator);
  /// Reverts hide().
  void show(Communicator& communicator);
  /// Marks a hidden communicator as freed by the user. take_ended() returns it when no request
  /// refers to it any more.
  void retire(Communicator& communicator);
  /// Returns true if there are retired communicators. Costs one load.
  [[nodiscard]] bool has_retired() const {
    return retired_count_.load(std::memory_order_relaxed) != 0;
  }
  /// Returns the retired communicators to which no request refers. Each is returned once.
  [[nodiscard]] std::vector<Communicator*> take_ended();
  /// Destroys a communicator that take_ended() has returned.
  void drop(const Communicator& communicator);
  /// Returns all existing communicators in no particular order, including retired ones. For the end
  /// of the job, when no other thread frees one.
  [[nodiscard]] std::vector<Communicator*> all() const;
  /// Calls `visit` for all existing communicators in no particular order, including retired ones.
  /// None is made or destroyed meanwhile.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const MutexLock lock(mutex_);
    for (const auto& each : owned_) visit(*each);
  }

 private:
  mutable Mutex mutex_;
  HandleTable<MPI_Comm, Communicator> by_handle_;
  std::vector<std::unique_ptr<Communicator>> owned_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<Communicator*> retired_ IMPISHIM_GUARDED_BY(mutex_);  ///< freed by the user
  std::atomic<std::size_t> retired_count_{0};
};

}  // namespace impishim::shim
