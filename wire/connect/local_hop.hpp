/// How the channels among the procs of one host come to be.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/connect/process_name.hpp"

namespace impishim::wire {

/// What channels of the local hop run over.
enum class LocalForm : std::uint8_t {
  kRings,   ///< SharedMemoryChannel
  kFabric,  ///< libfabric's provider kLocalProvider
};

/// The local hop: one end of it per proc. Sockets in the abstract namespace carry wake-ups and the
/// descriptors of shared-memory rings (memfd); nothing is left behind when a process dies. Only
/// processes of the same user are taken in.
class LocalHop {
 public:
  /// First step, on every proc of the host: be reachable, by a name that `token` (random_token())
  /// makes. Then the procs synchronise by other means (a barrier of the vendor's).
  [[nodiscard]] static Result<LocalHop> open(const std::string& token, std::int32_t my_index);
  /// The tokens of all procs by their index; without this they are all this one's.
  void set_tokens(std::vector<std::string> tokens) { tokens_ = std::move(tokens); }
  /// Second step: connect to `peers` (indices in the host); both sides must name each other, and
  /// the same `form`. Blocks at most `timeout_ms` for meeting, and as long again where libfabric
  /// meets. Returns the channels in the order of `peers`. `name`: of the procs, for messages.
  [[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> connect(
      const std::vector<std::int32_t>& peers, int timeout_ms, LocalForm form = LocalForm::kRings,
      const ProcessNamer& name = process_of_this_host);

 private:
  [[nodiscard]] std::string name_of(std::int32_t index) const;
  std::string token_;
  std::vector<std::string> tokens_;
  std::int32_t my_index_ = 0;
  Descriptor socket_;
};

}  // namespace impishim::wire
