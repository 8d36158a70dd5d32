// SPDX-License-Identifier: Apache-2.0
/// How many procs form an IMPI host, decided by the size of the job. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// Values of IMPISHIM_HOST_PROCS that are no numbers of procs.
inline constexpr std::int32_t kHostProcsAuto = -1;
inline constexpr std::int32_t kHostProcsNode = 0;  ///< all procs of a node

inline constexpr std::int32_t kDefaultMaxChannels = 64;

/// Value of IMPISHIM_RECONNECT that is no time: connections between machines are taken up again
/// within kDefaultReconnect, others are not.
inline constexpr std::int32_t kReconnectAuto = -1;
inline constexpr std::int32_t kDefaultReconnect = 60;  ///< seconds
inline constexpr std::int32_t kMostReconnect = 86400;

/// Value of IMPISHIM_STREAMS that is no number: as many as the road needs, up to kMostAutoStreams.
inline constexpr std::int32_t kStreamsAuto = 0;
inline constexpr std::int32_t kMostAutoStreams = 8;
inline constexpr std::int32_t kMostStreams = 16;

/// Parse and write "auto", "node" or a number from 1 to 2^20. Nothing for other texts.
[[nodiscard]] std::optional<std::int32_t> parse_host_procs(std::string_view text);

[[nodiscard]] std::string host_procs_text(std::int32_t host_procs);

/// The same for "auto" or a number from 1 to kMostStreams.
[[nodiscard]] std::optional<std::int32_t> parse_streams(std::string_view text);

[[nodiscard]] std::string streams_text(std::int32_t streams);

/// The same for "off" or "zstd".
[[nodiscard]] std::optional<bool> parse_compression(std::string_view text);

[[nodiscard]] std::string compression_text(bool compressed);

/// What a system tells the others before it plans its hosts.
struct SystemSize {
  std::int32_t client = 0;
  std::int32_t procs = 0;
  std::int32_t host_procs = kHostProcsAuto;         ///< IMPISHIM_HOST_PROCS
  std::int32_t max_channels = kDefaultMaxChannels;  ///< IMPISHIM_MAX_CHANNELS
  std::int32_t lanes = 1;                           ///< IMPISHIM_LANES
  std::int32_t reconnect = kReconnectAuto;          ///< IMPISHIM_RECONNECT, seconds; 0: never
  std::int32_t streams = 1;                         ///< IMPISHIM_STREAMS
  bool encrypted = false;   ///< there is a secret, and IMPISHIM_TLS is not off
  bool compressed = false;  ///< IMPISHIM_COMPRESSION
  bool has_gateways = false;
  bool operator==(const SystemSize&) const = default;
};

/// Returns the procs of each host, at most, or kHostProcsNode. `systems` are those of all clients
/// of a job that run this library; `clients` counts all.
///
/// With kHostProcsAuto it is the smallest k for which no proc has more than `max_channels`
/// channels: the k procs of a host share the channels to the P/k hosts of P remote procs (L * P/k^2
/// each, with L lanes between two hosts, at most k). Jobs with gateways or foreign clients have
/// hosts of whole nodes: a gateway relays for all, and a foreign client may be slow with many
/// hosts. Fails with kConfiguration if the systems' settings differ; the text names the variable
/// and both values.
[[nodiscard]] Result<std::int32_t> choose_host_procs(std::span<const SystemSize> systems,
                                                     std::int32_t clients);

}  // namespace impishim::wire
