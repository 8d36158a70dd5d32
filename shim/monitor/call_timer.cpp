// SPDX-License-Identifier: Apache-2.0
#include "shim/monitor/call_timer.hpp"

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "shim/entry_points.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/monitor/call_record.hpp"
#include "shim/monitor/recorder.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

std::int64_t steady_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t unix_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CallTimer::CallTimer(const wire::JobMap& map, std::int32_t system)
    : system_(system),
      began_us_(unix_us()),
      began_ns_(steady_ns()),
      statistics_(std::size(kFunctionNames)) {
  for (const wire::Proc& proc : map.procs()) systems_.push_back(proc.client);
}

std::uint64_t CallTimer::now_ns() const {
  return static_cast<std::uint64_t>(steady_ns() - began_ns_);
}

void CallTimer::sent(const PreparedMessage& message) {
  if (message.rank < 0) return;
  const auto scope =
      system_of(message.rank) == system_ ? wire::CallScope::kInside : wire::CallScope::kBetween;
  statistics_.add_messages(message.rank, scope, now_ns(), 1, message.bytes);
}

void CallTimer::prepared(MPI_Request request, const PreparedMessage& message) {
  const MutexLock lock(mutex_);
  prepared_[to_bits(request)] = message;
}

void CallTimer::started_again(MPI_Request request) {
  PreparedMessage message;
  {
    const MutexLock lock(mutex_);
    const auto found = prepared_.find(to_bits(request));
    if (found == prepared_.end()) return;
    message = found->second;
  }
  sent(message);
}

void CallTimer::freed(MPI_Request request) {
  const MutexLock lock(mutex_);
  prepared_.erase(to_bits(request));
}

TimedCall::TimedCall(CallTimer* timer, std::size_t function)
    : timer_(inside() ? nullptr : timer), function_(function) {
  if (timer_ == nullptr) return;
  inside() = true;
  begin_ns_ = timer_->now_ns();
}

TimedCall::~TimedCall() {
  if (timer_ == nullptr) return;
  wire::EndedCall call;
  call.function = function_;
  if (other_ != kNone) {
    call.scope = wire::CallScope::kBetween;
  } else if (concerns_own_) {
    call.scope = wire::CallScope::kInside;
  }
  if (waits_for_message_ && !concerns_own_ && other_ >= 0) call.awaited_system = other_;
  call.begin_ns = begin_ns_;
  call.end_ns = timer_->now_ns();
  timer_->ended(call);
  inside() = false;
}

void TimedCall::concerns(const RecordedWait& wait) {
  if (timer_ == nullptr) return;
  if (wait.kind == RecordedWait::Kind::kOther) return;
  const bool message = wait.kind != RecordedWait::Kind::kCollective;
  waits_for_message_ = waits_for_message_ || message;
  if (message && wait.peer >= 0) {
    concerns(timer_->system_of(wait.peer));
  } else {
    concerns(Recorder::spans(wait) ? kSeveral : timer_->system());
  }
}

void TimedCall::concerns_request(MPI_Request request, const RecordedWait* started) {
  if (timer_ == nullptr || request == MPI_REQUEST_NULL) return;
  if (started != nullptr && started->kind != RecordedWait::Kind::kOther) return concerns(*started);
  concerns(is_own_request(request) ? kSeveral : timer_->system());
}

void TimedCall::concerns(std::int32_t system) {
  if (system == timer_->system()) {
    concerns_own_ = true;
  } else if (other_ == kNone) {
    other_ = system;
  } else if (other_ != system) {
    other_ = kSeveral;
  }
}

bool& TimedCall::inside() {
  static thread_local bool value = false;
  return value;
}

std::uint64_t message_bytes(MPI_Count count, MPI_Datatype datatype) {
  MPI_Count size = 0;
  if (count <= 0 || datatype == MPI_DATATYPE_NULL) return 0;
  if (vendor::Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

}  // namespace impishim::shim
