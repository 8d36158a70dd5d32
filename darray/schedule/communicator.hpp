// SPDX-License-Identifier: Apache-2.0
// The library's own duplicate of a user's communicator, with what is kept for it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "darray/schedule/systems.hpp"
#include "darray/schedule/turns.hpp"

namespace impishim::darray {

/// Throws kMpi with the text of an MPI error, unless `code` is MPI_SUCCESS. `call` names the
/// function.
void check_mpi(int code, const char* call);

/// Whether MPI_Finalize has begun: handles must not be freed any more.
bool mpi_is_over();

/// Bytes to pack into, aligned to cache lines and not set to anything; given back to the
/// communicator's store when destroyed.
class Workspace {
 public:
  Workspace() = default;
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  /// Never goes back: something that cannot be stopped still uses it.
  void give_up();

 private:
  friend class Communicator;
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

/// A private duplicate of a communicator: its messages never meet the user's. The duplicate is made
/// once per user's communicator, at the first use (collective), and is kept as an attribute of it;
/// later uses are local and cheap. It is freed together with the user's communicator, which must
/// therefore outlive what is built on it, or by MPI_Finalize. Errors are returned, and become
/// exceptions of kind kMpi. A cheap value: copies share the duplicate.
class Communicator {
 public:
  /// Collective over `comm` when it is the first for it. Errors: kArgument for MPI_COMM_NULL or an
  /// intercommunicator, kMpi.
  explicit Communicator(MPI_Comm comm);

  MPI_Comm get() const;
  int rank() const;
  int size() const;
  const Systems& systems() const;

  /// A tag for a new schedule. All ranks must ask in the same order, as they do when they construct
  /// the same schedules in the same order; the numbers start again after some 30000, so that of two
  /// schedules which are under way at once one must not be that much older.
  int next_tag() const;
  /// A communicator of some of the ranks (in this order; this rank is among them), with one for the
  /// background. Collective over these ranks at the first time, kept for the next. Errors:
  /// kArgument, kMpi.
  Communicator group(std::span<const int> members) const;
  /// Of a communicator that group() has given: another duplicate, for nonblocking collectives. They
  /// are issued in the order of turns(), and never meet blocking ones, those of planning and checks
  /// among them, which come whenever the program calls.
  MPI_Comm background() const;
  /// The order of executions in the background, of this communicator and its groups.
  const std::shared_ptr<Turns>& turns() const;

  /// Bytes to pack into, from the store if there are enough.
  Workspace workspace(std::size_t bytes) const;

 private:
  struct State;
  explicit Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace impishim::darray
