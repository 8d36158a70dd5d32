#include "shim/communicator_parts.hpp"

#include "shim/collective_queue.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

void complete_description(Communicator& communicator) {
  const int local_rank = communicator.local_ranks[static_cast<std::size_t>(communicator.rank)];
  vendor::Comm_split(communicator.handle, 0, local_rank, &communicator.companion);
  communicator.collectives = std::make_shared<CollectiveQueue>();
}

}  // namespace impishim::shim
