// SPDX-License-Identifier: Apache-2.0
/// One order of collectives for all ranks, even if many executions are in progress at once.
/// Communicator holds one such object.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "darray/base/first_failure.hpp"

namespace impishim::darray {

/// The order of the background executions on a communicator and its groups. MPI requires that all
/// ranks issue the collectives of a communicator in one order. But ranks differ in when an
/// execution reaches its next collective. So only the oldest execution that is in progress
/// advances, and all ranks start executions in the same order. Younger executions advance the
/// oldest while they wait. Blocking executions follow the program's order and have separate
/// communicators; see Communicator::background().
class CollectiveOrder {
  friend class CollectiveTicket;
  struct Work {
    std::function<bool(bool)> advance;
    FirstFailure failure;
    bool over = false;
  };
  bool move_on(bool blocking);
  void leave(const Work& work);

  std::deque<std::shared_ptr<Work>> queue_;  // the oldest first
  bool inside_ = false;  // the oldest is advancing: an execution that starts now is a part of it
};

/// A place in the order of executions of a communicator. The destructor leaves it.
class CollectiveTicket {
 public:
  explicit CollectiveTicket(std::shared_ptr<CollectiveOrder> turns) : turns_(std::move(turns)) {}
  ~CollectiveTicket();
  CollectiveTicket(CollectiveTicket&&) noexcept = default;
  CollectiveTicket& operator=(CollectiveTicket&& other) noexcept;

  /// Returns true from start() until advance() has returned true.
  [[nodiscard]] bool under_way() const { return work_ != nullptr; }
  /// Returns true if nothing of the execution is left to do.
  [[nodiscard]] bool over() const { return work_ == nullptr || work_->over; }
  /// Takes the next place in the order. An execution that another one starts while it advances
  /// takes no place, but runs within the place of the other. `advance(blocking)` advances the
  /// execution and returns true if it is complete. Younger executions call it too, so it may only
  /// use objects that do not move meanwhile. Throws Error(kArgument) if the execution is in
  /// progress.
  void start(std::function<bool(bool)> advance);
  /// Advances all older executions, then this one. Returns true if this one is complete or not
  /// in progress. Throws only the errors of this execution, which is then complete.
  bool advance(bool blocking);
  /// Advances them as far as possible without waiting. Leaves it to advance() to tell the end, or
  /// the errors, of this one.
  void push() { static_cast<void>(move_on(false)); }

 private:
  bool move_on(bool blocking);
  void leave();

  std::shared_ptr<CollectiveOrder> turns_;
  std::shared_ptr<CollectiveOrder::Work> work_;
  bool queued_ = false;
};

}  // namespace impishim::darray
