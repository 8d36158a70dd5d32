// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/host_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"

namespace impishim::wire {
namespace {

/// Parses "8" or "8-11", within 0 to size - 1.
std::optional<std::pair<std::int32_t, std::int32_t>> parse_range(const std::string& text,
                                                                 std::int32_t size) {
  const auto dash = text.find('-');
  const auto first = parse_number<std::int32_t>(text.substr(0, dash).c_str());
  const auto last =
      dash == std::string::npos ? first : parse_number<std::int32_t>(text.substr(dash + 1).c_str());
  if (!first || !last || *first < 0 || *last < *first || *last >= size) return std::nullopt;
  return std::make_pair(*first, *last);
}

}  // namespace

Result<std::vector<std::int32_t>> parse_gateways(const std::string& text, std::int32_t size) {
  std::vector<std::int32_t> gateways;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const auto range = parse_range(item, size);
    if (!range) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("IMPISHIM_GATEWAY={}: \"{}\" names no rank of this system, which "
                               "has the ranks 0 to {}; numbers "
                               "and ranges between commas are needed, as in 0 or 0,8,16 or 0-3",
                               text, item, size - 1)};
    }
    for (std::int32_t rank = range->first; rank <= range->second; ++rank) gateways.push_back(rank);
    begin = end + 1;
  }
  std::sort(gateways.begin(), gateways.end());
  gateways.erase(std::unique(gateways.begin(), gateways.end()), gateways.end());
  return gateways;
}

std::vector<PlannedHost> plan_hosts(const std::vector<std::int32_t>& places,
                                    std::int32_t host_procs,
                                    const std::vector<std::int32_t>& gateways) {
  const auto size = static_cast<std::int32_t>(places.size());
  std::vector<PlannedHost> hosts;
  for (std::size_t i = 0; i < gateways.size(); ++i) {
    const std::int32_t first = i == 0 ? 0 : gateways[i];
    const std::int32_t end = i + 1 < gateways.size() ? gateways[i + 1] : size;
    hosts.push_back({first, end - first, gateways[i] - first});
  }
  if (!gateways.empty()) return hosts;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    const bool same_place = rank > 0 && places[at] == places[at - 1];
    const bool room = same_place && (host_procs == 0 || hosts.back().count < host_procs);
    if (!room) hosts.push_back({rank, 0, -1});
    ++hosts.back().count;
  }
  return hosts;
}

}  // namespace impishim::wire
