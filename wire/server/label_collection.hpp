// SPDX-License-Identifier: Apache-2.0
/// The labels that the clients of a job have sent and the server has not yet answered (IMPI 2.3.4).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {

/// The labels of all clients, with limits for each client.
class LabelCollection {
 public:
  static constexpr std::size_t kMaxLabels = 256;
  /// In a job of kMaxStartupPayload / 16 procs, each on its own host, a proc needs 56 bytes.
  static constexpr std::size_t kMaxBytes = std::size_t{4} * kMaxStartupPayload;

  /// Stores the payload of a COLL command. Fails with kProtocol if it contains no label, if its
  /// label does not ascend, or if a limit is exceeded.
  [[nodiscard]] Result<void> add(std::int32_t client, std::span<const std::byte> payload);
  /// Drops everything that `client` has sent.
  void forget(std::int32_t client);
  /// Returns the latest label of `client`, or nothing if it has sent none.
  [[nodiscard]] std::optional<std::uint32_t> last_of(std::int32_t client) const;
  /// Removes and returns the labels up to and including `last`, ascending.
  [[nodiscard]] std::vector<CollectedLabel> take_up_to(std::uint32_t last);

 private:
  struct Sent {
    std::uint32_t last = 0;
    std::size_t labels = 0;
    std::size_t bytes = 0;
  };

  std::map<std::int32_t, Sent> sent_;  ///< contains only clients that have sent a label
  std::map<std::uint32_t, std::map<std::int32_t, std::vector<std::byte>>>
      labels_;  ///< label -> client -> data
};

}  // namespace impishim::wire
