// Allgather (IMPI 5.8): Gather to rank 0, then Bcast.
#include "collectives/collectives.hpp"

namespace impishim::collectives {

Task allgather(const Team& team, ConstData block, Data all) {
  co_await gather(team, block, all, 0);
  co_await bcast(team, Data{all.base, all.count * static_cast<std::uint64_t>(team.shape.size()), all.type}, 0);
}

}  // namespace impishim::collectives
