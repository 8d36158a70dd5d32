/// What a job's clients have sent as labels, until the server answers it (IMPI 2.3.4).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/startup/startup_message.hpp"

namespace impishim::wire {

/// A label with the data of all clients that have sent it.
struct CollectedLabel {
  std::uint32_t label = 0;
  std::uint32_t client_mask = 0;
  std::vector<std::byte> data;  ///< in ascending client order
};

/// Labels of all clients, bounded for each of them.
class LabelCollection {
 public:
  static constexpr std::size_t kMaxLabels = 256;
  /// A job of kMaxStartupPayload / 16 procs, each a host of its own, needs 56 bytes for each.
  static constexpr std::size_t kMaxBytes = std::size_t{4} * kMaxStartupPayload;

  /// Takes a COLL command's payload. kProtocol: no label in it, a label that does not ascend, or a
  /// limit exceeded.
  [[nodiscard]] Result<void> add(std::int32_t client, std::span<const std::byte> payload);
  /// Drops what `client` has sent.
  void forget(std::int32_t client);
  /// The client's latest label; nothing if it has sent none.
  [[nodiscard]] std::optional<std::uint32_t> last_of(std::int32_t client) const;
  /// Removes and returns the labels up to `last`, ascending.
  [[nodiscard]] std::vector<CollectedLabel> take_up_to(std::uint32_t last);

 private:
  struct Sent {
    std::uint32_t last = 0;
    std::size_t labels = 0;
    std::size_t bytes = 0;
  };

  std::map<std::int32_t, Sent> sent_;  ///< of each client that has sent any
  std::map<std::uint32_t, std::map<std::int32_t, std::vector<std::byte>>>
      labels_;  ///< label -> client -> data
};

}  // namespace impishim::wire
