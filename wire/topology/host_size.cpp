// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/host_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"

namespace impishim::wire {
namespace {

Error differ(const char* variable, const SystemSize& first, const std::string& value,
             const SystemSize& other, const std::string& other_value) {
  return Error{ErrorKind::kConfiguration,
               fmt::format("{} is {} in system {} and {} in system {}: give it the same value in "
                           "every system",
                           variable, value, first.client, other_value, other.client)};
}

/// Fails if the settings of two systems differ. Systems with gateways have no hosts to divide.
Result<void> check_same(std::span<const SystemSize> systems) {
  const SystemSize* first = nullptr;
  const auto tls = [](const SystemSize& system) { return system.encrypted ? "in use" : "off"; };
  const auto reconnect = [](const SystemSize& system) {
    return system.reconnect == kReconnectAuto ? "not set" : std::to_string(system.reconnect);
  };
  for (const SystemSize& each : systems) {
    const SystemSize& other = systems.front();
    if (each.encrypted != other.encrypted)
      return differ("IMPISHIM_TLS", other, tls(other), each, tls(each));
    if (each.reconnect != other.reconnect)
      return differ("IMPISHIM_RECONNECT", other, reconnect(other), each, reconnect(each));
    if (each.streams != other.streams)
      return differ("IMPISHIM_STREAMS", other, streams_text(other.streams), each,
                    streams_text(each.streams));
    if (each.compressed != other.compressed)
      return differ("IMPISHIM_COMPRESSION", other, compression_text(other.compressed), each,
                    compression_text(each.compressed));
  }
  for (const SystemSize& each : systems) {
    if (each.has_gateways) continue;
    if (first == nullptr) first = &each;
    if (each.host_procs != first->host_procs)
      return differ("IMPISHIM_HOST_PROCS", *first, host_procs_text(first->host_procs), each,
                    host_procs_text(each.host_procs));
    if (each.max_channels != first->max_channels)
      return differ("IMPISHIM_MAX_CHANNELS", *first, std::to_string(first->max_channels), each,
                    std::to_string(each.max_channels));
    if (each.lanes != first->lanes)
      return differ("IMPISHIM_LANES", *first, std::to_string(first->lanes), each,
                    std::to_string(each.lanes));
  }
  return {};
}

/// Returns the greatest number of procs that are remote for some system.
std::int64_t most_remote(std::span<const SystemSize> systems) {
  std::int64_t all = 0;
  std::int32_t smallest = systems.front().procs;
  for (const SystemSize& system : systems) {
    all += system.procs;
    smallest = std::min(smallest, system.procs);
  }
  return all - smallest;
}

}  // namespace

std::optional<std::int32_t> parse_host_procs(std::string_view text) {
  constexpr std::int32_t kMost = 1 << 20;
  if (text == "auto") return kHostProcsAuto;
  if (text == "node") return kHostProcsNode;
  const auto procs = parse_number<std::int32_t>(std::string(text).c_str());
  return procs && *procs >= 1 && *procs <= kMost ? procs : std::nullopt;
}

std::string host_procs_text(std::int32_t host_procs) {
  if (host_procs == kHostProcsAuto) return "auto";
  return host_procs == kHostProcsNode ? "node" : std::to_string(host_procs);
}

std::optional<std::int32_t> parse_streams(std::string_view text) {
  if (text == "auto") return kStreamsAuto;
  const auto streams = parse_number<std::int32_t>(std::string(text).c_str());
  return streams && *streams >= 1 && *streams <= kMostStreams ? streams : std::nullopt;
}

std::string streams_text(std::int32_t streams) {
  return streams == kStreamsAuto ? "auto" : std::to_string(streams);
}

std::optional<bool> parse_compression(std::string_view text) {
  if (text == "zstd") return true;
  return text == "off" ? std::optional(false) : std::nullopt;
}

std::string compression_text(bool compressed) { return compressed ? "zstd" : "off"; }

Result<std::int32_t> choose_host_procs(std::span<const SystemSize> systems, std::int32_t clients) {
  const auto same = check_same(systems);
  if (!same) return same.error();
  const auto without = std::ranges::find(systems, false, &SystemSize::has_gateways);
  if (without == systems.end()) return kHostProcsNode;
  if (without->host_procs != kHostProcsAuto) return without->host_procs;
  const bool foreign = static_cast<std::int64_t>(systems.size()) < clients;
  if (foreign || std::ranges::any_of(systems, &SystemSize::has_gateways)) return kHostProcsNode;
  const std::int64_t remote = most_remote(systems);
  std::int32_t procs = 1;
  while (std::int64_t{procs} * procs * without->max_channels <
         remote * std::min(procs, without->lanes))
    ++procs;
  return procs;
}

}  // namespace impishim::wire
