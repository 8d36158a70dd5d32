// SPDX-License-Identifier: Apache-2.0
/// The event of a call in the process's trace (IMPISHIM_TRACE).
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/monitor/call_record.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::shim {

/// Traces the call that the thread is in while it exists.
class TracedCall {
 public:
  /// `trace` is null if no call is traced. `function` is the function's index in kFunctionNames.
  TracedCall(wire::Trace* trace, std::size_t function) : trace_(trace) {
    if (trace_ == nullptr) return;
    event_.name = static_cast<std::uint16_t>(function);
    ++wire::Trace::calls_of_thread();
    event_.begin_ns = trace_->now_ns();
  }
  ~TracedCall() {
    if (trace_ == nullptr) return;
    event_.end_ns = trace_->now_ns();
    trace_->add(event_);
    --wire::Trace::calls_of_thread();
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  [[nodiscard]] bool is_traced() const { return trace_ != nullptr; }
  /// Notes what the call concerns. The first of several messages counts.
  void concerns(const RecordedWait& wait) {
    if (wait.kind == RecordedWait::Kind::kOther || event_.communicator != 0) return;
    event_.communicator = wait.group;
    if (wait.kind == RecordedWait::Kind::kCollective) {
      event_.number = wait.number;
      return;
    }
    event_.peer = wait.peer;
    event_.tag = wait.tag;
  }
  void sends(std::uint64_t bytes) { event_.bytes += bytes; }

 private:
  wire::Trace* const trace_;
  wire::TraceEvent event_;
};

}  // namespace impishim::shim
