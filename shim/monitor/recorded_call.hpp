// SPDX-License-Identifier: Apache-2.0
/// Records the call that a thread is in, for impirun -why.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "shim/monitor/call_record.hpp"
#include "shim/monitor/recorder.hpp"

namespace impishim::shim {

/// Returns the time of the monotonic clock, good to some milliseconds.
[[nodiscard]] std::int64_t monotonic_ns();

/// Records the call that the thread is in while it exists. Calls inside of that one are not
/// recorded, and none if no question is answered.
class RecordedCall {
 public:
  RecordedCall(Recorder& recorder, const char* function) : recorder_(recorder) {
    content_.function = function;
    content_.inside = true;
  }
  ~RecordedCall() {
    if (record_ == nullptr) return;
    record_->leave(monotonic_ns());
    inside() = false;
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  // What the call waits for; then begin().
  void add(const RecordedWait& wait) { content_.add(wait); }
  void add(int count, const MPI_Request* requests, bool any_ends) {
    if (!recorder_.answers()) return;
    content_.any_ends = any_ends;
    recorder_.add_requests(content_, count, requests);
  }
  void begin() {
    if (!recorder_.answers() || inside()) return;
    record_ = recorder_.record_of_thread();
    if (record_ == nullptr) return;
    inside() = true;
    content_.since_ns = monotonic_ns();
    record_->write(content_);
  }

 private:
  [[nodiscard]] static bool& inside() {
    static thread_local bool value = false;
    return value;
  }

  Recorder& recorder_;
  RecordedContent content_;
  CallRecord* record_ = nullptr;
};

}  // namespace impishim::shim
