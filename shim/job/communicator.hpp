// SPDX-License-Identifier: Apache-2.0
/// Spanning communicators: the description behind a native handle, and the table that finds it.
///
/// The user's handle of a spanning communicator is the native communicator of its local members
/// (DESIGN.md 1). A handle that is not in the table is native and every call on it goes straight to
/// the vendor.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/handle/handle_bits.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

class CollectiveQueue;
struct Communicator;
struct Topology;

/// The two groups of an intercommunicator, for its collectives. Hidden: no user has their handles.
struct Intergroups {
  std::unique_ptr<Communicator> local;  ///< the own group, which may be all in one client
  std::unique_ptr<Communicator>
      both;  ///< both groups, one after the other, in the same order on both sides
  std::int32_t first_local = 0;  ///< rank in `both` of the own group's first
  std::int32_t first_remote = 0;
};

/// A communicator whose members are in two or more clients. Immutable but for the fields that say
/// otherwise.
///
/// Of an intercommunicator `members` and all that follows from them are the remote group, whom
/// messages go to and come from; `rank` is the own rank in the local group.
struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;  ///< the user's: the vendor's communicator of the local members
  MPI_Comm companion =
      MPI_COMM_NULL;            ///< another of the same members, for what collectives do among them
  wire::ContextId context = 0;  ///< point-to-point; collectives use context + 1 (IMPI 4.3)
  std::vector<wire::WorldRank> members;  ///< spanning rank -> world rank
  std::int32_t rank = 0;                 ///< this process's spanning rank
  std::vector<std::int32_t>
      local_ranks;  ///< spanning rank -> rank in `handle`, or -1 for a process of another system
  std::vector<std::int32_t> spanning_ranks;  ///< rank in `handle` -> spanning rank
  bool local_ranks_are_spanning =
      false;  ///< spanning_ranks[i] == i for all i: statuses need no translation

  std::vector<std::int32_t>
      masters;  ///< lowest spanning rank of each client in it, ascending (IMPI 4.1)
  std::vector<std::int32_t> master_of;  ///< spanning rank -> index in `masters`
  std::int32_t host_count = 0;          ///< IMPI_HOST_SIZE ...
  std::int32_t host_color = 0;          ///< ... and IMPI_HOST_COLOR of this process
  std::int32_t client_color =
      0;  ///< IMPI_CLIENT_COLOR of this process; IMPI_CLIENT_SIZE is masters.size()

  /// Of an intercommunicator: some of the other group are in this client, and `handle` is the
  /// vendor's intercommunicator with them. Without any, `handle` is an intracommunicator of the own
  /// group's local members, and the vendor carries no message.
  bool has_local_peers = true;
  std::shared_ptr<const Topology> topology;      ///< shim/values/topology.hpp; null: none
  std::unique_ptr<Intergroups> inter;            ///< of an intercommunicator
  std::shared_ptr<CollectiveQueue> collectives;  ///< those under way

  /// MPI_Comm_idup calls that the vendor has not copied the attributes for yet.
  std::atomic<std::int32_t> duplications{0};
  /// MPI_Comm_idup calls that the vendor has not finished.
  std::atomic<std::int32_t> handle_uses{0};

  /// Requests that still refer to this object; a freed communicator lives until they are over
  /// (MPI-3.1 6.4.3).
  std::atomic<std::int32_t> pending{0};
  /// Of one that was freed while it had some: a hidden handle with the user's error handler, for
  /// their errors.
  std::atomic<MPI_Comm> heir{MPI_COMM_NULL};
  /// Of one that was freed during an MPI_Comm_idup, which copies from its handle: ends that handle
  /// afterwards.
  int (*free_later)(MPI_Comm*) = nullptr;

  /// The handle whose error handler hears of errors.
  [[nodiscard]] MPI_Comm error_handle() const {
    const MPI_Comm of_freed = heir.load(std::memory_order_acquire);
    return of_freed == MPI_COMM_NULL ? handle : of_freed;
  }

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(members.size()); }
  /// The group that this process is in.
  [[nodiscard]] const std::vector<wire::WorldRank>& own_group() const {
    return inter == nullptr ? members : inter->local->members;
  }
  [[nodiscard]] bool valid_rank(int rank_) const { return rank_ >= 0 && rank_ < size(); }
  /// Of a rank in this system: its rank in `handle`. Negative: another system's, or no rank at all.
  [[nodiscard]] std::int32_t local_rank(int rank_) const {
    return static_cast<std::size_t>(rank_) < local_ranks.size()
               ? local_ranks[static_cast<std::size_t>(rank_)]
               : -1;
  }

  /// Fills in everything that follows from `handle`, `context`, `members` and the job map.
  [[nodiscard]] static std::unique_ptr<Communicator> create(const wire::JobMap& job,
                                                            wire::WorldRank here, MPI_Comm handle,
                                                            wire::ContextId context,
                                                            std::vector<wire::WorldRank> members);
};

/// Native handle -> Communicator. Lookups take no lock and a few nanoseconds; changes are rare and
/// locked. Slots are replaced as a whole when the table grows; old tables live until the job ends,
/// since readers may still hold them.
class CommunicatorTable {
 public:
  CommunicatorTable();
  ~CommunicatorTable();
  CommunicatorTable(const CommunicatorTable&) = delete;
  CommunicatorTable& operator=(const CommunicatorTable&) = delete;

  /// The spanning communicator of `handle`, or null: it is native (or invalid: the vendor will say
  /// so).
  [[nodiscard]] Communicator* find(MPI_Comm handle) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = hash(handle) & slots->mask;; i = (i + 1) & slots->mask) {
      const Slot& slot = slots->slot[i];
      const std::uint64_t key = slot.key.load(std::memory_order_acquire);
      if (key == key_of(handle)) return slot.communicator.load(std::memory_order_acquire);
      if (key == kEmpty) return nullptr;
    }
  }

  /// Makes `communicator->handle` spanning. The pointer stays valid until drop().
  Communicator* insert(std::unique_ptr<Communicator> communicator);
  /// Makes the handle native; call it before the vendor frees (and may recycle) the handle.
  void hide(Communicator& communicator);
  /// Takes hide() back.
  void show(Communicator& communicator);
  /// The user has freed this hidden communicator: take_ended() returns it when no request refers to
  /// it any more.
  void retire(Communicator& communicator);
  /// Some are retired. Costs one load.
  [[nodiscard]] bool has_retired() const {
    return retired_count_.load(std::memory_order_relaxed) != 0;
  }
  /// Retired ones that no request refers to; each is returned once.
  [[nodiscard]] std::vector<Communicator*> take_ended();
  /// Destroys one that take_ended() has returned.
  void drop(const Communicator& communicator);
  /// All that exist, in no order: those that are retired, too.
  [[nodiscard]] std::vector<Communicator*> all() const;

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::atomic<std::uint64_t> key{kEmpty};
    std::atomic<Communicator*> communicator{nullptr};
  };
  struct Slots {
    explicit Slots(std::size_t size) : mask(size - 1), slot(size) {}
    std::size_t mask;
    std::vector<Slot> slot;
  };
  [[nodiscard]] static std::uint64_t key_of(MPI_Comm handle) { return to_bits(handle); }
  [[nodiscard]] static std::size_t hash(MPI_Comm handle) { return hash_of(handle); }

  struct Owned {
    std::unique_ptr<Communicator> communicator;
    bool visible = true;
  };

  static void place(Slots& slots, Communicator* communicator);
  [[nodiscard]] std::vector<Owned>::iterator owner_of(const Communicator& communicator)
      IMPISHIM_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::atomic<Slots*> slots_;
  std::vector<std::unique_ptr<Slots>> generations_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<Owned> owned_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<Communicator*> retired_ IMPISHIM_GUARDED_BY(mutex_);  ///< freed by the user
  std::atomic<std::size_t> retired_count_{0};
};

}  // namespace impishim::shim
