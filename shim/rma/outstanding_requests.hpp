// SPDX-License-Identifier: Apache-2.0
/// What an origin has asked of the targets of a window, until it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "wire/window/window_request.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::shim {

/// A request that its target answers.
struct AskedRequest {
  std::int32_t target = 0;  ///< rank in the window
  wire::WindowAnswer answer;
  /// Of a request for a lock: the requests behind it.
  std::size_t held_back = 0;
};

/// The window's lock protects it.
class OutstandingRequests {
 public:
  /// In place of a target. MPI_PROC_NULL is another number.
  static constexpr std::int32_t kAllTargets = std::numeric_limits<std::int32_t>::min();

  /// Describes requests to `targets` processes.
  explicit OutstandingRequests(std::size_t targets) : targets_(targets) {}

  /// Records a request that is answered.
  void add(std::shared_ptr<AskedRequest> asked) { asked_.push_back(std::move(asked)); }
  /// Records a request that is not. Its data is in the origin's memory until it is sent.
  void add_sent(std::int32_t target, std::uint64_t ticket) { sends_.push_back({target, ticket}); }
  /// Counts a request that accesses the target's memory and is not answered: only the answer to a
  /// flush tells that it has been applied.
  void count_sent(std::int32_t target) {
    ++at(target).requests;
    at(target).unflushed = true;
  }
  /// Counts a request that accesses the target's memory and is answered when it has been applied.
  void count_asked(std::int32_t target) { ++at(target).requests; }
  /// Notes that the vendor has been asked to access a target's memory.
  void use_vendor(std::int32_t target) { at(target).in_vendor = true; }
  /// Returns true if that was noted since set_vendor_flushed().
  [[nodiscard]] bool in_vendor(std::int32_t target) const {
    return targets_[static_cast<std::size_t>(target)].in_vendor;
  }
  [[nodiscard]] std::vector<std::int32_t> all_in_vendor() const;
  void set_vendor_flushed(std::int32_t target) { at(target).in_vendor = false; }

  /// Returns true if no request is left, so that a flush of the target is the vendor's alone.
  [[nodiscard]] bool is_quiet(std::int32_t target) const {
    return asked_.empty() && sends_.empty() && !unflushed(target) &&
           error_ == wire::WindowStatus::kDone;
  }

  /// Returns for each target the number of such requests since the start.
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  /// Returns true if requests without an answer were sent to it after the last flush.
  [[nodiscard]] bool unflushed(std::int32_t target) const {
    return targets_[static_cast<std::size_t>(target)].unflushed;
  }
  [[nodiscard]] std::vector<std::int32_t> all_unflushed() const;
  void set_flushed(std::int32_t target) { at(target).unflushed = false; }

  /// Forgets what is complete. Returns true if nothing to `target`, or kAllTargets, is left:
  /// answers are here, and the origin's memory may change.
  [[nodiscard]] bool settle(wire::WindowService& service, std::int32_t target);
  /// Returns the first error of an answer that has not been returned yet, or kDone.
  [[nodiscard]] wire::WindowStatus take_error() {
    return std::exchange(error_, wire::WindowStatus::kDone);
  }

 private:
  struct Target {
    std::uint64_t requests = 0;
    bool unflushed = false;
    bool in_vendor = false;
  };
  struct Sent {
    std::int32_t target;
    std::uint64_t ticket;
  };
  [[nodiscard]] Target& at(std::int32_t target) {
    return targets_[static_cast<std::size_t>(target)];
  }

  std::vector<Target> targets_;
  std::vector<std::shared_ptr<AskedRequest>> asked_;
  std::vector<Sent> sends_;
  wire::WindowStatus error_ = wire::WindowStatus::kDone;
};

}  // namespace impishim::shim
