// SPDX-License-Identifier: Apache-2.0
/// Decisions of a joining system that need no MPI and no network.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns the providers of libfabric that every host of a system has. `mine` are those of the
/// process that asks; `procs` describes all processes. Fails with kConfiguration if there is none,
/// unless `automatic` or `mine` allows connections without libfabric.
[[nodiscard]] Result<std::vector<std::string>> fabrics_of_system(
    const std::vector<std::string>& mine, std::span<const ProcInfo> procs, bool automatic);

/// Returns the representation of payloads to and from `client`. `wanted` is the value of
/// IMPISHIM_WIRE_FORMAT: "auto", or the name of a format. With "auto" equal machines exchange their
/// own representation, and other machines of this library the wide one. A foreign client gets
/// external32 (IMPI 3.2), or with `as_lam` the native one, as LAM/MPI sends it.
[[nodiscard]] Format format_for(const Client& client, std::string_view wanted, bool as_lam);

}  // namespace impishim::wire
