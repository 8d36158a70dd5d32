// SPDX-License-Identifier: Apache-2.0
/// The joined job from the view of this process. It is the library's only global object, except for
/// a copy of the data that the shortest calls need, and for what must outlive the job because the
/// vendor uses it until the end of its own MPI_Finalize: callbacks (entry/callbacks.cpp), texts of
/// error codes (error/errors.cpp), and the key of cached datatypes (datatype/datatype.cpp). What
/// the tool information interface tells outlives the job, too (tool/tool_state.hpp).
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/core/select.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/job/attribute_values.hpp"
#include "shim/job/buffered_space.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/connected_hosts.hpp"
#include "shim/job/creation_order.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/job/failure_notices.hpp"
#include "shim/job/group_pool.hpp"
#include "shim/job/handle_uses.hpp"
#include "shim/job/letter_box.hpp"
#include "shim/job/message_pool.hpp"
#include "shim/job/outstanding_collectives.hpp"
#include "shim/job/process_models.hpp"
#include "shim/job/ranks_inside.hpp"
#include "shim/job/stand_watch.hpp"
#include "shim/job/vendor_progress.hpp"
#include "shim/values/receive_sources.hpp"
#include "wire/base/mutex.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/engine/engine.hpp"
#include "wire/progress/progress_thread.hpp"
#include "wire/reconnect/reconnector.hpp"
#include "wire/server/own_server.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/current_map.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::wire {
class MonitorThread;
class Trace;
}  // namespace impishim::wire

namespace impishim::shim {

class ConnectedJobs;
class Files;
class OneSided;
class RequestPool;

/// The joined job. Created in MPI_Init when the environment requests one, destroyed in
/// MPI_Finalize.
struct Job {
  wire::CurrentMap map;
  wire::WorldRank here = 0;              ///< this process's world rank
  std::int32_t client = 0;               ///< the system of this process (MPI_APPNUM)
  int thread_level = MPI_THREAD_SINGLE;  ///< as granted by the vendor
  /// True if blocking collectives inside this system are replaced by the vendor's nonblocking ones
  /// and polled. This is so if IMPISHIM_NATIVE_COLLECTIVES requests it, or if some process of the
  /// system has threads that call MPI concurrently. A thread that blocks in the vendor's MPI could
  /// then delay the other threads' wildcard receives.
  bool polls_collectives = false;

  wire::PortRange ports;    ///< IMPISHIM_PORT, also for what listens later
  std::string wire_format;  ///< IMPISHIM_WIRE_FORMAT: auto, or the name of a format
  /// Null without IMPISHIM_TRACE. The recorder, which outlives the job, shares it.
  std::shared_ptr<wire::Trace> trace;
  /// Writes the trace; null without one.
  std::atomic<void (*)(const Job&)> write_trace{nullptr};
  std::unique_ptr<wire::Engine> engine;
  std::unique_ptr<wire::ProgressThread> progress;
  std::unique_ptr<wire::Reconnector> reconnector;  ///< null if no channel is resumable
  /// Only on the process of the system that communicates with the server; own_server only if that
  /// process is its own server, which must outlive the connection.
  std::unique_ptr<wire::OwnServer> own_server;
  std::optional<wire::ServerConnection> server;
  /// Null without IMPISHIM_MONITOR. Shared, so that the type is needed only where it is made.
  std::shared_ptr<wire::MonitorThread> monitor;

  // Objects behind the user's handles. Communicators and requests refer to those before them.
  HandleUses<MPI_Datatype> datatype_uses;  ///< by collectives in progress
  HandleUses<MPI_Op> op_uses;              ///< by collectives in progress
  BufferedSpace buffered_space;
  GroupPool groups;
  MessagePool messages;
  CommunicatorTable communicators;
  /// The communicator of MPI_COMM_WORLD, which most calls use. It is found without the table. Null
  /// if MPI_COMM_WORLD is native.
  Communicator* world = nullptr;
  ReceiveSources receive_sources;         ///< not used with MPI_THREAD_MULTIPLE
  MPI_Comm private_comm = MPI_COMM_NULL;  ///< a duplicate of the native world for this library
  std::optional<VendorProgress> vendor_progress;
  MPI_Group native_group = MPI_GROUP_NULL;  ///< all processes of this system
  MPI_Comm host_comm = MPI_COMM_NULL;       ///< the procs of this IMPI host
  /// The communicator of all processes of the job. It is MPI_COMM_WORLD, or with
  /// IMPISHIM_WORLD=split a separate communicator (impishim_comm_world()).
  MPI_Comm joined_world = MPI_COMM_NULL;
  ProcessModels models;
  Diagnostics diagnostics;
  bool speaks_for_host = false;  ///< this process is the gateway of its host, or its lowest proc

  /// The parameters by which collectives choose their algorithms; the same on all processes.
  collectives::Limits limits;
  OutstandingCollectives outstanding;
  FailureNotices failure_notices;
  /// Of lost_systems.hpp: whether this process goes on when a system is lost; the number of losses
  /// that it has handled; the lost systems (bit i stands for system i).
  std::atomic<bool> survives{false};
  std::atomic<std::size_t> losses_handled{0};
  std::atomic<std::uint64_t> lost_systems{0};
  Mutex losses_mutex;
  /// True if no thread blocks in the vendor's MPI any more, and no new receive is the vendor's
  /// request, since the program may revoke communicators.
  std::atomic<bool> hears_revocations{false};
  /// The number of calls in progress that do not survive the loss of a system (Indivisible).
  std::atomic<std::int32_t> indivisible{0};
  bool tells_failures = false;  ///< all systems run this library, and read the notices
  StandWatch stand_watch;

  SelfAttributes self_attributes;
  AttributeValues attribute_values;

  /// IMPI_max_cid of this process (IMPI 4.3), accessed only inside communicator creation.
  std::atomic<std::uint64_t> max_context{1};

  /// True if one member assigns context ids instead (context.hpp).
  bool gives_contexts = false;
  std::atomic<std::uint64_t> contexts_given{1};
  CreationOrder creation_order;
  LetterBox letters;

  /// Shared, so that the type is needed only where the pool is made.
  std::shared_ptr<RequestPool> requests;

  /// One-sided communication across systems (shim/rma). Null before the first window; the service
  /// is a part of it.
  std::atomic<OneSided*> one_sided{nullptr};
  std::atomic<wire::WindowService*> window_service{nullptr};
  std::shared_ptr<OneSided> one_sided_owner;
  std::once_flag one_sided_once;

  /// Files that processes of several systems have opened (shim/io). Null before the first.
  std::atomic<Files*> files{nullptr};
  std::shared_ptr<Files> files_owner;
  std::once_flag files_once;

  /// Jobs that this one is connected with (shim/dynamic). Null before the first port.
  std::atomic<ConnectedJobs*> connected_jobs{nullptr};
  std::shared_ptr<ConnectedJobs> connected_jobs_owner;
  std::once_flag connected_jobs_once;
  ConnectedHosts connected_hosts;
  /// The communicator with the processes that have spawned this job; null if there are none.
  std::atomic<MPI_Comm> parent{MPI_COMM_NULL};

  /// The number of shuffles (impishim/shuffle.h) that the program has created and not shut down.
  std::atomic<std::int32_t> shuffles{0};

  /// The number of operations that only a calling thread can complete: receives with a shadow
  /// receive in the vendor's MPI, and operations that require polling the vendor. While it is not
  /// zero, no blocking point-to-point function of the vendor may be entered (docs/architecture.md,
  /// Threads).
  std::atomic<std::int32_t> needs_caller{0};

  /// Returns true if this thread may enter a blocking point-to-point function of the vendor now.
  /// Sends all deferred batches first, since the call would delay them.
  [[nodiscard]] bool may_block_in_vendor() const {
    if (needs_caller.load(std::memory_order_relaxed) != 0 || thread_level == MPI_THREAD_MULTIPLE)
      return false;
    engine->send_batches();
    return true;
  }

  /// Returns true if may_block_in_vendor() is true and no batch must be sent first. True before
  /// most calls, and cheap.
  [[nodiscard]] bool may_block_in_vendor_at_once() const {
    return needs_caller.load(std::memory_order_relaxed) == 0 &&
           thread_level != MPI_THREAD_MULTIPLE && !engine->holds_batches();
  }

  /// Returns true if in addition no status of a request of the vendor's needs its source replaced.
  [[nodiscard]] bool may_complete_in_vendor_at_once() const {
    return may_block_in_vendor_at_once() && receive_sources.empty();
  }
};

/// The job object. Null before MPI_Init, after MPI_Finalize, and when the environment does not
/// request a joined job.
inline std::atomic<Job*> the_job{nullptr};

/// A copy of the data in the job object that a message inside this system needs. It avoids
/// following a pointer and a check whether there is a job. Empty while there is no job. Written by
/// MPI_Init and MPI_Finalize; no message may start concurrently with these (MPI-3.1 8.7).
inline constinit RanksInside ranks_inside;

/// Returns the job. For calls that are made only while there is one.
[[nodiscard]] inline Job& running_job() { return *the_job.load(std::memory_order_relaxed); }

/// Returns the job if this call comes from the user and a joined job runs. Otherwise returns null:
/// the call must be passed on to the vendor.
[[nodiscard]] inline Job* joined() {
  Job* job = the_job.load(std::memory_order_acquire);
  return job != nullptr && vendor_depth.value() == 0 ? job : nullptr;
}

/// Returns the spanning communicator of `handle` if there is one and if this call comes from the
/// user. Otherwise returns null.
[[nodiscard]] inline Communicator* spanning(const Job* job, MPI_Comm handle) {
  if (job == nullptr) return nullptr;
  return handle == MPI_COMM_WORLD ? job->world : job->communicators.find(handle);
}

}  // namespace impishim::shim
