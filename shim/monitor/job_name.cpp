// SPDX-License-Identifier: Apache-2.0
#include "shim/monitor/job_name.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/base/hash.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

std::string name_of_job(const wire::JobMap& map) {
  Fnv1a hash;
  for (const wire::Proc& proc : map.procs()) {
    for (const std::byte each : proc.id.host) hash.add(static_cast<std::uint64_t>(each));
    hash.add(static_cast<std::uint64_t>(proc.id.pid));
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace impishim::shim
