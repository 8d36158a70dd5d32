// SPDX-License-Identifier: Apache-2.0
/// How the wrappers record calls: RecordedCall, and one load where nothing is recorded.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "shim/monitor/call_record.hpp"
#include "shim/monitor/recorder.hpp"

namespace impishim::shim {

/// The recorder of the job; null where nothing is recorded. Apart from the job, so that the
/// shortest calls follow no pointer. A recorder is never destroyed, since threads may be in calls.
inline constinit std::atomic<Recorder*> the_recorder{nullptr};

/// Returns true if calls are recorded. Costs one relaxed load.
[[nodiscard, gnu::always_inline]] inline bool calls_are_recorded() {
  return the_recorder.load(std::memory_order_relaxed) != nullptr;
}

/// Returns the time of the monotonic clock, good to some milliseconds.
[[nodiscard]] std::int64_t monotonic_ns();

/// Records the call that the thread is in while it exists. Calls inside of that one are not
/// recorded. Only where calls_are_recorded().
class RecordedCall {
 public:
  explicit RecordedCall(const char* function)
      : recorder_(*the_recorder.load(std::memory_order_acquire)) {
    content_.function = function;
    content_.inside = true;
  }
  ~RecordedCall() {
    if (ending_ != nullptr) recorder_.attach(ending_handle_, *ending_);
    if (record_ == nullptr) return;
    record_->leave(monotonic_ns());
    inside() = false;
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  // What the call waits for; then begin().
  RecordedCall& message(RecordedWait::Kind kind, MPI_Comm comm, int peer, int tag) {
    const RecordedWait wait = recorder_.message(kind, comm, peer, tag);
    if (wait.kind != RecordedWait::Kind::kOther) content_.add(wait);
    return *this;
  }
  RecordedCall& collective(MPI_Comm comm) {
    latest_ = recorder_.collective(content_.function, comm);
    content_.add(latest_);
    return *this;
  }
  RecordedCall& requests(int count, const MPI_Request* requests, bool any_ends) {
    content_.any_ends = any_ends;
    recorder_.add_requests(content_, count, requests);
    return *this;
  }
  RecordedCall& ending(const MPI_Comm* comm) {
    if (comm == nullptr) return *this;
    ending_handle_ = *comm;
    ending_ = recorder_.detach(*comm);
    return *this;
  }
  void begin() {
    if (inside()) return;
    record_ = recorder_.record_of_thread();
    if (record_ == nullptr) return;
    inside() = true;
    content_.since_ns = monotonic_ns();
    record_->write(content_);
  }

  // After a call that has succeeded.
  void made(MPI_Comm parent, const MPI_Comm* made) {
    recorder_.made(content_.function, parent, *made);
  }
  void started_message(const MPI_Request* request, RecordedWait::Kind kind, MPI_Comm comm, int peer,
                       int tag) {
    recorder_.started(*request, content_.function, recorder_.message(kind, comm, peer, tag));
  }
  void started_collective(const MPI_Request* request) {
    recorder_.started(*request, content_.function, latest_);
  }
  void started_other(const MPI_Request* request) {
    recorder_.started(*request, content_.function, {});
  }
  void named(MPI_Comm comm, const char* name) { recorder_.named(comm, name); }
  void freed() {
    if (ending_ != nullptr) recorder_.forget(*std::exchange(ending_, nullptr));
  }

 private:
  [[nodiscard]] static bool& inside() {
    static thread_local bool value = false;
    return value;
  }

  Recorder& recorder_;
  RecordedContent content_;
  RecordedWait latest_;
  /// The communicator that the call frees, until it has succeeded, and its handle.
  RecordedGroup* ending_ = nullptr;
  MPI_Comm ending_handle_ = MPI_COMM_NULL;
  CallRecord* record_ = nullptr;
};

}  // namespace impishim::shim
