/// Which copies of replicated pieces send and receive, so that data crosses between systems once.
/// Not for users.
#pragma once

#include <optional>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/schedule/systems.hpp"

namespace impishim::darray {

/// The copy that `reader` takes a piece from: itself, one in its system, or any; readers are dealt
/// out over equally near ones. `primary`: the piece's primary copy.
[[nodiscard]] int nearest_copy(const Distribution& layout, int primary, int reader,
                               const Systems& systems);

/// The copies of a piece that are sent its elements: one in each system, which hands them on there;
/// or both of two, where there is one system alone.
[[nodiscard]] std::vector<int> receiving_copies(const Distribution& layout, int primary,
                                                const Systems& systems);

/// Who hands a piece on to whom.
struct Spreading {
  int root = 0;
  std::vector<int> members;  // ascending
};
/// The copies in the system of `rank`, which is one of them, if not all of them are sent the
/// elements.
[[nodiscard]] std::optional<Spreading> spreading(const Distribution& layout, int rank,
                                                 const Systems& systems);

}  // namespace impishim::darray
