// SPDX-License-Identifier: Apache-2.0
/// The division of a system's procs into IMPI hosts, and the choice of their gateways. Pure
/// functions.
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
  std::int32_t gateway = -1;  ///< index of its gateway among these ranks; -1: none
};

/// Returns the native ranks that `text` lists, ascending. The format is numbers and ranges
/// separated by commas ("0,8,16-18"). Fails with kConfiguration; the text names the variable
/// IMPISHIM_GATEWAY, its value, and the ranks allowed in a system of `size` procs.
[[nodiscard]] Result<std::vector<std::int32_t>> parse_gateways(const std::string& text,
                                                               std::int32_t size);

/// Returns the hosts of a system whose rank r runs at `places[r]`. Without gateways, each sequence
/// of ranks in one place becomes a host, or several hosts of at most `host_procs` procs if that is
/// not 0. With gateways, there is one host for each gateway, and its other procs may run anywhere.
/// The first host begins at rank 0, each further host at its gateway.
[[nodiscard]] std::vector<PlannedHost> plan_hosts(const std::vector<std::int32_t>& places,
                                                  std::int32_t host_procs,
                                                  const std::vector<std::int32_t>& gateways);

}  // namespace impishim::wire
