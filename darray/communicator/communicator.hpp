// SPDX-License-Identifier: Apache-2.0
/// The library's own duplicate of a user's communicator, with the state that is kept for it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "darray/communicator/collective_order.hpp"
#include "darray/communicator/systems.hpp"

namespace impishim::darray {

/// Throws Error(kMpi) with the text of the MPI error unless `code` is MPI_SUCCESS. `call` names the
/// MPI function.
void check_mpi(int code, const char* call);

/// Returns true if MPI_Finalize has begun. From then on handles must not be freed.
bool mpi_is_over();

/// Uninitialised memory to pack into, aligned to cache lines. It returns to the communicator's
/// store on destruction.
class Workspace {
 public:
  Workspace() = default;
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  /// Keeps the memory from ever returning to the store, because an operation that cannot be stopped
  /// still uses it.
  void give_up();

 private:
  friend class Communicator;
  std::shared_ptr<std::byte> data_;
  std::size_t size_ = 0;
};

/// A private duplicate of a communicator, so that its messages never match the user's.
///
/// The duplicate is made once per user's communicator, at the first use, which is collective. It is
/// kept as an attribute of the user's communicator; later uses are local and cheap. It is freed
/// together with the user's communicator, or by MPI_Finalize. The user's communicator must
/// therefore outlive everything that is built on it.
///
/// MPI calls on it return their errors, which become Error(kMpi). A Communicator is a cheap value:
/// copies share the duplicate.
class Communicator {
 public:
  /// Collective over `comm` at the first use of `comm`. Throws Error(kArgument) for MPI_COMM_NULL
  /// or an intercommunicator. Throws Error(kMpi) if an MPI call fails.
  explicit Communicator(MPI_Comm comm);

  MPI_Comm get() const;
  int rank() const;
  int size() const;
  const Systems& systems() const;

  /// Returns a tag for a new schedule. All ranks must ask in the same order, which holds if they
  /// construct the same schedules in the same order. The tags repeat after 30000 calls. Two
  /// schedules that are in progress at once must not be so far apart in age.
  int next_tag() const;
  /// Returns a communicator of some of the ranks, in the order of `members`, together with a
  /// background() for it. This rank must be a member. Collective over the members the first time;
  /// the result is kept for later calls. Throws Error(kArgument) if `members` is invalid. Throws
  /// Error(kMpi) if an MPI call fails.
  Communicator group(std::span<const int> members) const;
  /// Returns the second duplicate of a communicator that group() returned; it serves nonblocking
  /// collectives. They are issued in the order of turns(). They never match blocking collectives,
  /// such as those of planning and checks, which come whenever the program calls.
  MPI_Comm background() const;
  /// The order of the background executions on this communicator and its groups.
  const std::shared_ptr<CollectiveOrder>& turns() const;

  /// Returns memory to pack into, from the store if it has a buffer that fits.
  Workspace workspace(std::size_t bytes) const;

 private:
  struct State;
  explicit Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace impishim::darray
