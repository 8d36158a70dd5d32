// SPDX-License-Identifier: Apache-2.0
// Keeps one order of collectives for all ranks, however many executions are under way at once.
// Communicator holds one.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "darray/base/first_failure.hpp"

namespace impishim::darray {

/// MPI wants the collectives of a communicator issued in one order on all ranks; but when an
/// execution gets to its next collective differs between ranks. So of the executions that are under
/// way on a communicator and its groups only the oldest goes on: all ranks start them in the same
/// order. Those that wait behind it move it on. (Blocking executions come in the program's order,
/// and have communicators of their own: see Communicator::background().)
class Turns {
  friend class Turn;
  struct Work {
    std::function<bool(bool)> advance;
    FirstFailure failure;
    bool over = false;
  };
  bool move_on(bool blocking);
  void leave(const Work& work);

  std::deque<std::shared_ptr<Work>> queue_;  // the oldest first
  bool inside_ = false;  // the oldest goes on: what is begun now is a part of it
};

/// A place among the executions of a communicator, which is left when it is destroyed.
class Turn {
 public:
  explicit Turn(std::shared_ptr<Turns> turns) : turns_(std::move(turns)) {}
  ~Turn();
  Turn(Turn&&) noexcept = default;
  Turn& operator=(Turn&& other) noexcept;

  [[nodiscard]] bool under_way() const { return work_ != nullptr; }
  /// Takes the next place, or none if it is begun by another execution, at whose turn it is.
  /// `advance(blocking)` goes on and says whether it is over; it is called by those that are
  /// younger as well, and may only use what does not move meanwhile. Errors: kArgument when it is
  /// under way.
  void start(std::function<bool(bool)> advance);
  /// Moves on all that is older, then this. True when it is over, or not under way. Errors: its own
  /// alone; it is over then.
  bool advance(bool blocking);

 private:
  void leave();

  std::shared_ptr<Turns> turns_;
  std::shared_ptr<Turns::Work> work_;
  bool queued_ = false;
};

}  // namespace impishim::darray
