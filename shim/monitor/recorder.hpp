// SPDX-License-Identifier: Apache-2.0
/// What this process's threads do in MPI, for questions that come through the rendezvous server
/// (docs/see.md), for statistics and for a trace. There is a recorder only in a job with
/// IMPISHIM_MONITOR=on, IMPISHIM_STATS or IMPISHIM_TRACE.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/handle/handle_table.hpp"
#include "shim/monitor/call_record.hpp"
#include "wire/base/mutex.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/trace/trace.hpp"

namespace impishim::shim {

class CallTimer;
struct Job;

/// A communicator that a recorded call has used.
struct RecordedGroup {
  std::uint64_t id = 0;
  std::vector<wire::WorldRank> peers;  ///< rank, or rank in the remote group -> world rank
  wire::RankList members;
  std::string name;                     ///< protected by the recorder's mutex
  std::map<std::string, int> children;  ///< likewise: how many were made of it, by the way
  std::atomic<std::uint64_t> begun{0};
  std::atomic<const char*> latest{nullptr};
};

/// Communicators, requests and calls of this process. The functions are for threads of the program,
/// in a call of MPI; describe() is for the thread that answers.
class Recorder {
 public:
  /// Creates the recorder of `job`, which must have all its communicators. `answers`: questions are
  /// answered, so that the calls of threads are recorded. `timer` is null if no call is timed;
  /// otherwise it must live as long. Calls are traced if the job has a trace.
  Recorder(Job& job, bool answers, CallTimer* timer);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  [[nodiscard]] bool answers() const { return answers_; }
  [[nodiscard]] CallTimer* timer() const { return timer_; }
  [[nodiscard]] wire::Trace* trace() const { return trace_.get(); }

  /// Returns the record of the calling thread; null if there are too many threads.
  [[nodiscard]] CallRecord* record_of_thread();

  /// Returns what a message of a call waits for.
  [[nodiscard]] RecordedWait message(RecordedWait::Kind kind, MPI_Comm comm, int peer, int tag);
  /// Counts a collective that begins on the communicator. Returns what it waits for.
  [[nodiscard]] RecordedWait collective(const char* function, MPI_Comm comm);
  /// Notes what has been started with `request`.
  void started(MPI_Request request, const char* function, RecordedWait wait);
  /// Adds what requests wait for that are not complete.
  void add_requests(RecordedContent& content, int count, const MPI_Request* requests);
  /// Returns what has been started with `request`, if that is known.
  [[nodiscard]] std::optional<RecordedWait> started(MPI_Request request);
  /// Returns true if a communicator that a wait names has members in several systems.
  [[nodiscard]] static bool spans(const RecordedWait& wait);
  /// Notes that `function` has made a communicator of `parent`, which may be null.
  void made(const char* function, MPI_Comm parent, MPI_Comm made);
  /// Notes that the program has named a communicator.
  void named(MPI_Comm comm, const char* name);
  /// Takes the handle from a communicator that a call frees: another thread may get the same handle
  /// for a new communicator before that call returns. Returns null if it was never recorded.
  [[nodiscard]] RecordedGroup* detach(MPI_Comm comm);
  /// Gives the handle back, if the call has failed.
  void attach(MPI_Comm comm, RecordedGroup& group);
  /// Forgets a communicator that has been freed.
  void forget(const RecordedGroup& group);

  /// Returns the name of the communicator with this number; empty if it is not known any more.
  [[nodiscard]] std::string name_of(std::uint64_t id);
  /// Adds the calls of all threads, and the communicators, to a state.
  void describe(wire::ProcessState& state);

 private:
  RecordedGroup& group(MPI_Comm comm);
  RecordedGroup& insert(MPI_Comm comm, std::string name);
  [[nodiscard]] std::string name_of_new(const char* function, MPI_Comm parent);

  Job& job_;
  const bool answers_;
  CallTimer* const timer_;
  const std::shared_ptr<wire::Trace> trace_;
  HandleTable<MPI_Comm, RecordedGroup> by_handle_;
  Mutex mutex_;
  std::vector<std::unique_ptr<RecordedGroup>> groups_ IMPISHIM_GUARDED_BY(mutex_);
  /// How many communicators of the vendor's with the same members were there: they are made in the
  /// same order in all of them.
  std::map<wire::RankList, std::uint64_t> same_members_ IMPISHIM_GUARDED_BY(mutex_);
  std::deque<CallRecord> records_ IMPISHIM_GUARDED_BY(mutex_);
  Mutex requests_mutex_;
  std::unordered_map<std::uint64_t, RecordedWait> requests_ IMPISHIM_GUARDED_BY(requests_mutex_);
};

}  // namespace impishim::shim
