// Allreduce (IMPI 5.10): Reduce to rank 0, then Bcast.
#include "collectives/collectives.hpp"

namespace impishim::collectives {

Task allreduce(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  co_await reduce(team, contribution, result, operation, 0);
  co_await bcast(team, result, 0);
}

}  // namespace impishim::collectives
