/// How the channels among the procs of one host come to be.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// What channels of the local hop run over.
enum class LocalForm : std::uint8_t {
  kRings,   ///< SharedMemoryChannel
  kFabric,  ///< libfabric's provider kLocalProvider
};

/// The local hop: one end of it per proc. Sockets in the abstract namespace named by `token` carry wake-ups and the descriptors
/// of shared-memory rings (memfd); nothing is left behind when a process dies.
class LocalHop {
 public:
  /// First step, on every proc of the host: be reachable. Then the procs synchronise by other means (a barrier of the
  /// vendor's).
  [[nodiscard]] static Result<LocalHop> open(const std::string& token, std::int32_t my_index);
  /// Second step: connect to `peers` (indices in the host); both sides must name each other, and the same `form`. Blocks at
  /// most `timeout_ms` for meeting, and as long again where libfabric meets. Returns the channels in the order of `peers`.
  /// `gateway`: index of the host's gateway, for messages; -1: it has none.
  [[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> connect(const std::vector<std::int32_t>& peers, int timeout_ms,
                                                                      std::int32_t gateway = -1,
                                                                      LocalForm form = LocalForm::kRings);

 private:
  std::string token_;
  std::int32_t my_index_ = 0;
  Descriptor socket_;
};

}  // namespace impishim::wire
