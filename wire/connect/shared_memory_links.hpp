// SPDX-License-Identifier: Apache-2.0
/// Creation of the channels between the procs of one host.
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

/// The transport of local channels.
enum class LocalForm : std::uint8_t {
  kRings,   ///< SharedMemoryChannel
  kFabric,  ///< libfabric's provider kLocalProvider
};

/// One proc's end of the connections inside a host. Unix sockets in the abstract namespace carry
/// wake-ups and the descriptors of shared-memory rings (memfd), so nothing remains when a process
/// dies. Only processes of the same user are accepted.
class SharedMemoryLinks {
 public:
  /// First step, on every proc of the host. Listens under a name that is derived from `token`
  /// (random_token()). Afterwards the procs must synchronise by other means (a barrier of the
  /// vendor's MPI).
  [[nodiscard]] static Result<SharedMemoryLinks> open(const std::string& token,
                                                      std::int32_t my_index);
  /// Sets the tokens of all procs by index. Without this call all procs use the token of this one.
  void set_tokens(std::vector<std::string> tokens) { tokens_ = std::move(tokens); }
  /// Second step: connects to `peers` (indices in the host). Both sides must name each other and
  /// the same `form`. Blocks for at most `timeout_ms` for connecting, and for the same time again
  /// if libfabric connects. Returns the channels in the order of `peers`. `name` names the procs in
  /// messages.
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
