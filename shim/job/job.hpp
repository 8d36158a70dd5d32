// SPDX-License-Identifier: Apache-2.0
/// The joined job as this process sees it: the library's only global object, and beside it a copy
/// of what the shortest calls ask.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "collectives/core/select.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/job/attribute_values.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/creation_order.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/job/outstanding.hpp"
#include "shim/job/ranks_inside.hpp"
#include "shim/job/stand_watch.hpp"
#include "shim/job/vendor_progress.hpp"
#include "shim/values/receive_sources.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/progress_thread.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::shim {

/// Made in MPI_Init when the environment asks for a joined job, ended in MPI_Finalize.
struct Job {
  wire::JobMap map;
  wire::WorldRank here = 0;              ///< this process's world rank
  std::int32_t client = 0;               ///< the system that this process is in (MPI_APPNUM)
  int thread_level = MPI_THREAD_SINGLE;  ///< as the vendor granted it
  /// Blocking collectives inside this system are the vendor's nonblocking ones, polled:
  /// IMPISHIM_NATIVE_COLLECTIVES asks for it, or some process of it has threads that call MPI at
  /// once, and one that blocks in the vendor's MPI could hold up the others' receives from anybody.
  bool polls_collectives = false;

  std::unique_ptr<wire::Engine> engine;
  std::unique_ptr<wire::ProgressThread> progress;
  std::optional<wire::ServerConnection>
      server;  ///< on the system's process that speaks with it only

  CommunicatorTable communicators;
  /// The one of MPI_COMM_WORLD, which most calls name: found without the table. Null: it is native.
  Communicator* world = nullptr;
  ReceiveSources receive_sources;         ///< not with MPI_THREAD_MULTIPLE
  MPI_Comm private_comm = MPI_COMM_NULL;  ///< a dup of the native world for our own use
  std::optional<VendorProgress> vendor_progress;
  MPI_Group native_group = MPI_GROUP_NULL;  ///< all processes of this system
  MPI_Comm host_comm = MPI_COMM_NULL;       ///< the procs of this IMPI host
  /// All processes of the job: MPI_COMM_WORLD, or with IMPISHIM_WORLD=split a communicator of its
  /// own (impishim_comm_world()).
  MPI_Comm joined_world = MPI_COMM_NULL;
  Diagnostics diagnostics;
  bool speaks_for_host = false;  ///< this process is the gateway of its host, or the lowest

  collectives::Limits limits;  ///< how collectives choose their form; the same on all processes
  OutstandingCollectives outstanding;
  StandWatch stand_watch;

  SelfAttributes self_attributes;
  AttributeValues attribute_values;

  /// IMPI_max_cid of this process (IMPI 4.3), touched only inside communicator creation.
  std::atomic<std::uint64_t> max_context{1};

  /// Context ids are given out by one member instead (context.hpp).
  bool gives_contexts = false;
  std::atomic<std::uint64_t> contexts_given{1};
  CreationOrder creation_order;

  /// Shuffles (impishim/shuffle.h) that the program has made and not shut down.
  std::atomic<std::int32_t> shuffles{0};

  /// Operations that only a calling thread can bring to an end (receives with a native twin;
  /// anything that needs the vendor polled). While it is not zero no blocking point-to-point
  /// function of the vendor may be entered (DESIGN.md 4b).
  std::atomic<std::int32_t> needs_caller{0};

  /// A blocking point-to-point function of the vendor may be entered by this thread now. What it
  /// would hold up has left.
  [[nodiscard]] bool may_block_in_vendor() const {
    if (needs_caller.load(std::memory_order_relaxed) != 0 || thread_level == MPI_THREAD_MULTIPLE)
      return false;
    engine->send_batches();
    return true;
  }

  /// may_block_in_vendor(), and nothing is to be done first: true before most calls, and cheap to
  /// ask.
  [[nodiscard]] bool may_block_in_vendor_at_once() const {
    return needs_caller.load(std::memory_order_relaxed) == 0 &&
           thread_level != MPI_THREAD_MULTIPLE && !engine->holds_batches();
  }

  /// The same, and no status of a request of the vendor's needs another source.
  [[nodiscard]] bool may_complete_in_vendor_at_once() const {
    return may_block_in_vendor_at_once() && receive_sources.empty();
  }
};

/// The job object; null before MPI_Init, after MPI_Finalize, and when the environment does not ask
/// for a joined job.
inline std::atomic<Job*> the_job{nullptr};

/// Of the job object what a message inside this system needs: without a pointer to follow, and
/// without asking whether there is one. Empty while there is none. Written by MPI_Init and
/// MPI_Finalize, beside which no message is begun (MPI-3.1 8.7).
inline constinit RanksInside ranks_inside;

/// For calls that are made only while there is one.
[[nodiscard]] inline Job& running_job() { return *the_job.load(std::memory_order_relaxed); }

/// The job, if this call comes from the user and a joined job runs; otherwise null: pass the call
/// on.
[[nodiscard]] inline Job* joined() {
  Job* job = the_job.load(std::memory_order_acquire);
  return job != nullptr && vendor_depth.value() == 0 ? job : nullptr;
}

/// The spanning communicator behind `handle`, if any, and if this call comes from the user.
[[nodiscard]] inline Communicator* spanning(const Job* job, MPI_Comm handle) {
  if (job == nullptr) return nullptr;
  return handle == MPI_COMM_WORLD ? job->world : job->communicators.find(handle);
}

}  // namespace impishim::shim
