/// Which procs of a system form an IMPI host, and which of them are gateways. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// Consecutive native ranks that are announced as one host.
struct PlannedHost {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t gateway = -1;  ///< index of its gateway among them; -1: none
};

/// The native ranks that `text` names, ascending: numbers and ranges between commas ("0,8,16-18").
/// kConfiguration names the variable IMPISHIM_GATEWAY, the value and what is allowed in a system of
/// `size` procs.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_gateways(const std::string& text,
                                                               std::int32_t size);

/// The hosts of a system whose rank r stands at `places[r]`. Without gateways: a host for each row
/// of ranks in one place, or several of at most `host_procs` procs if that is not 0. With them one
/// host for each, whose other procs may stand anywhere: the first begins at rank 0, each further
/// one at its gateway.
[[nodiscard]] std::vector<PlannedHost> plan_hosts(const std::vector<std::int32_t>& places,
                                                  std::int32_t host_procs,
                                                  const std::vector<std::int32_t>& gateways);

}  // namespace impishim::wire
