// SPDX-License-Identifier: Apache-2.0
/// Long messages that this process accepts before their match.
///
/// A long message waits for its match (IMPI 3.7: SYNCACK). A message that contests a receive with a
/// native twin is matched only when the program's thread has settled the contest. While that thread
/// is inside a vendor call (Engine::relieve()), the sender would not make progress, and the vendor
/// call may wait for that very sender. A standard-mode send may complete before its match (MPI-3.1
/// 3.4). The engine therefore receives the message into memory of its own, up to a limit, and
/// matches it later in its order. A synchronous message may not complete before its match, so it
/// waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "wire/message/operation.hpp"

namespace impishim::wire {

struct EarlyMessage {
  std::unique_ptr<std::byte[]> memory;  ///< the message in its wire representation
  std::uint64_t bytes = 0;
  ReceiveOperation arrival;  ///< the engine's own receive, which fills `memory`
  /// The receive that matched the message before it was complete.
  ReceiveOperation* receive = nullptr;
  bool dropped = false;  ///< the message is discarded when it is complete
};

}  // namespace impishim::wire
