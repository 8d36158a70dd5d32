// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/bootstrap.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/startup/proc_info.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

Result<std::vector<std::string>> fabrics_of_system(const std::vector<std::string>& mine,
                                                   std::span<const ProcInfo> procs,
                                                   bool automatic) {
  auto common = common_fabrics(mine, procs);
  if (automatic || !common.empty() || mine.empty()) return common;
  return Error{ErrorKind::kConfiguration,
               "IMPISHIM_FABRIC: the hosts of this system have no provider in common: use the same "
               "libfabric on all, or none"};
}

Format format_for(const Client& client, std::string_view wanted, bool as_lam) {
  if (wanted != "auto") return *format_from_name(wanted);
  if (!client.impishim) return as_lam ? Format::kNative : Format::kExternal32;
  // Asked for each request of one-sided communication.
  static const std::uint64_t own = representation_fingerprint();
  return client.representation == own ? Format::kNative : Format::kWide;
}

}  // namespace impishim::wire
