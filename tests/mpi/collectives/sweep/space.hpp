// SPDX-License-Identifier: Apache-2.0
/// The communicators of the sweep. Who is in them, in which order and next to whom is known by
/// arithmetic, not by asking MPI.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace sweep {

struct Space {
  std::string name;
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> members;  ///< ranks in MPI_COMM_WORLD of the (local) group
  std::vector<int> remote;   ///< of an intercommunicator's other group
  int rank = 0;              ///< this process's, in the local group
  bool native = false;       ///< the vendor's own affair: the library has no part in it
  std::vector<std::vector<int>> sources;       ///< by rank: neighbours, or MPI_PROC_NULL
  std::vector<std::vector<int>> destinations;  ///< by rank
  bool grid = false;       ///< edges in pairs: backward and forward in each dimension
  bool parallel = false;   ///< several edges between the same two processes
  bool one_sided = false;  ///< some process has edges in one direction only

  [[nodiscard]] bool inter() const { return !remote.empty(); }
  [[nodiscard]] bool topology() const { return !sources.empty(); }
  [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
  /// Whose data a process gets: everybody's, or the other group's.
  [[nodiscard]] int peers() const {
    return static_cast<int>(inter() ? remote.size() : members.size());
  }
  /// Of an intercommunicator: this process is in the group that holds the lowest world rank.
  [[nodiscard]] bool first_group() const;
  /// A number that the members (of both groups) share and no other communicator of the same name
  /// has.
  [[nodiscard]] int identity() const;
};

/// "intra", "topology" or "inter": all of that kind, in the same order everywhere; comm is
/// MPI_COMM_NULL where this process is in none. They are freed by free_spaces().
std::vector<Space> make_spaces(const std::string& kind);
void free_spaces(std::vector<Space>& spaces);

}  // namespace sweep
