// SPDX-License-Identifier: Apache-2.0
/// The choice of copies of replicated pieces that send and receive, so that data crosses between
/// systems once. Not for users.
#pragma once

#include <optional>
#include <vector>

#include "darray/communicator/systems.hpp"
#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// Returns the copy that `reader` takes a piece from: itself, one in its system, or any. Readers
/// are distributed over equally near copies. `primary` is the piece's primary copy.
[[nodiscard]] int nearest_copy(const Distribution& layout, int primary, int reader,
                               const Systems& systems);

/// Returns the copies of a piece that receive its elements from the sources. That is one copy in
/// each system, which forwards the elements there. If there is only one system and it has two
/// copies, it is both.
[[nodiscard]] std::vector<int> receiving_copies(const Distribution& layout, int primary,
                                                const Systems& systems);

/// A tree broadcast of a piece within one system: its root and its members.
struct Spreading {
  int root = 0;
  std::vector<int> members;  // ascending
};
/// Returns the copies in the system of `rank`, which is one of them. Returns nothing if the sources
/// send the elements to all of these copies.
[[nodiscard]] std::optional<Spreading> spreading(const Distribution& layout, int rank,
                                                 const Systems& systems);

}  // namespace impishim::darray
