// SPDX-License-Identifier: Apache-2.0
/// Long messages that this process accepts before their match.
///
/// A long message waits for its match (IMPI 3.7: SYNCACK), and one that contests a receive with a
/// native twin is matched only when the program's thread has settled the contest. While that thread
/// stands in a call of the vendor's (Engine::relieve()), the sender would stand still, and what the
/// vendor's call waits for may be that very sender. A standard-mode send may complete before its
/// match (MPI-3.1 3.4), so the message comes to memory of the engine's, up to a limit, and is
/// matched later in its order. A synchronous one may not, and waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wire/engine/operation.hpp"

namespace impishim::wire {

struct EarlyMessage {
  std::unique_ptr<std::byte[]> memory;  ///< the message as it travels
  std::uint64_t bytes = 0;
  ReceiveOperation arrival;             ///< the engine's own, which fills `memory`
  ReceiveOperation* receive = nullptr;  ///< what has matched the message before its end has come
  bool dropped = false;                 ///< the message goes when its end has come
};

}  // namespace impishim::wire
