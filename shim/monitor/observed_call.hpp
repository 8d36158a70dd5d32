// SPDX-License-Identifier: Apache-2.0
/// How the wrappers tell of calls: ObservedCall, and one load where nothing is asked.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "shim/monitor/call_record.hpp"
#include "shim/monitor/call_timer.hpp"
#include "shim/monitor/recorded_call.hpp"
#include "shim/monitor/recorder.hpp"
#include "shim/monitor/traced_call.hpp"

namespace impishim::shim {

/// The recorder of the job; null where nothing is observed. Apart from the job, so that the
/// shortest calls follow no pointer. A recorder is never destroyed, since threads may be in calls.
inline constinit std::atomic<Recorder*> the_recorder{nullptr};

/// Returns true if calls are observed. Costs one relaxed load.
[[nodiscard, gnu::always_inline]] inline bool calls_are_observed() {
  return the_recorder.load(std::memory_order_relaxed) != nullptr;
}

/// A call of the program's that the thread is in while this exists. It tells who asks: the record
/// for impirun -why, the timer of the statistics, and the trace. Only where calls_are_observed().
class ObservedCall {
 public:
  /// `number` is the function's index in kFunctionNames.
  ObservedCall(const char* function, std::size_t number)
      : recorder_(*the_recorder.load(std::memory_order_acquire)),
        function_(function),
        recorded_(recorder_, function),
        timed_(recorder_.timer(), number),
        traced_(recorder_.trace(), number) {}
  ~ObservedCall() {
    if (ending_ != nullptr) recorder_.attach(ending_handle_, *ending_);
  }
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

  // What the call waits for; then begin().
  ObservedCall& message(RecordedWait::Kind kind, MPI_Comm comm, int peer, int tag) {
    const RecordedWait wait = recorder_.message(kind, comm, peer, tag);
    if (wait.kind != RecordedWait::Kind::kOther) recorded_.add(wait);
    timed_.concerns(wait);
    traced_.concerns(wait);
    return *this;
  }
  ObservedCall& collective(MPI_Comm comm) {
    latest_ = recorder_.collective(function_, comm);
    recorded_.add(latest_);
    timed_.concerns(latest_);
    traced_.concerns(latest_);
    return *this;
  }
  ObservedCall& requests(int count, const MPI_Request* requests, bool any_ends) {
    recorded_.add(count, requests, any_ends);
    return polls(count, requests);
  }
  ObservedCall& ending(const MPI_Comm* comm) {
    if (comm == nullptr) return *this;
    ending_handle_ = *comm;
    ending_ = recorder_.detach(*comm);
    return *this;
  }
  void begin() { recorded_.begin(); }

  // What a call concerns that does not wait.
  ObservedCall& reaches(RecordedWait::Kind kind, MPI_Comm comm, int peer, int tag) {
    if (!timed_.is_timed() && !traced_.is_traced()) return *this;
    const RecordedWait wait = recorder_.message(kind, comm, peer, tag);
    timed_.concerns(wait);
    traced_.concerns(wait);
    return *this;
  }
  ObservedCall& polls(int count, const MPI_Request* requests) {
    // The trace names what a call waits for only if that is one.
    const int asked = timed_.is_timed() || (traced_.is_traced() && count == 1) ? count : 0;
    for (int i = 0; i < asked && requests != nullptr; ++i) {
      const std::optional<RecordedWait> started = recorder_.started(requests[i]);
      timed_.concerns_request(requests[i], started ? &*started : nullptr);
      if (started && count == 1) traced_.concerns(*started);
    }
    return *this;
  }

  /// `request` is a request that the call frees.
  ObservedCall& frees(const MPI_Request* request) {
    if (request != nullptr && recorder_.timer() != nullptr) recorder_.timer()->freed(*request);
    return *this;
  }

  // After a call that has succeeded.
  void made(MPI_Comm parent, const MPI_Comm* made) { recorder_.made(function_, parent, *made); }
  void started_message(const MPI_Request* request, RecordedWait::Kind kind, MPI_Comm comm, int peer,
                       int tag) {
    recorder_.started(*request, function_, recorder_.message(kind, comm, peer, tag));
  }
  void started_collective(const MPI_Request* request) {
    recorder_.started(*request, function_, latest_);
  }
  void started_other(const MPI_Request* request) { recorder_.started(*request, function_, {}); }
  void named(MPI_Comm comm, const char* name) { recorder_.named(comm, name); }
  void freed() {
    if (ending_ != nullptr) recorder_.forget(*std::exchange(ending_, nullptr));
  }
  void sent(MPI_Comm comm, int peer, MPI_Count count, MPI_Datatype datatype) {
    if (traced_.is_traced()) traced_.sends(message_bytes(count, datatype));
    if (timed_.is_timed()) recorder_.timer()->sent(message_of(comm, peer, count, datatype));
  }
  void prepared(const MPI_Request* request, MPI_Comm comm, int peer, MPI_Count count,
                MPI_Datatype datatype) {
    if (timed_.is_timed())
      recorder_.timer()->prepared(*request, message_of(comm, peer, count, datatype));
  }
  void started_again(int count, const MPI_Request* requests) {
    for (int i = 0; i < count && timed_.is_timed(); ++i)
      recorder_.timer()->started_again(requests[i]);
  }

 private:
  [[nodiscard]] PreparedMessage message_of(MPI_Comm comm, int peer, MPI_Count count,
                                           MPI_Datatype datatype) {
    const RecordedWait wait = recorder_.message(RecordedWait::Kind::kSend, comm, peer, 0);
    return {wait.peer, message_bytes(count, datatype)};
  }

  Recorder& recorder_;
  const char* function_;
  RecordedCall recorded_;
  TimedCall timed_;
  TracedCall traced_;
  RecordedWait latest_;
  /// The communicator that the call frees, until it has succeeded, and its handle.
  RecordedGroup* ending_ = nullptr;
  MPI_Comm ending_handle_ = MPI_COMM_NULL;
};

}  // namespace impishim::shim
