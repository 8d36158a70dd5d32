// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/system_plan.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "shim/startup/native_exchange.hpp"
#include "shim/startup/proc_links.hpp"
#include "shim/startup/session.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/topology/host_plan.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::shim {

Result<std::vector<std::int32_t>> agree_on_gateways(const JobSettings& settings, MPI_Comm all) {
  const auto host_procs = settings.joining.size.host_procs == wire::kHostProcsAuto
                              ? std::string()
                              : wire::host_procs_text(settings.joining.size.host_procs);
  const Result<void> outcomes[] = {
      same_as_first(all, "IMPISHIM_GATEWAY", settings.gateways),
      same_as_first(all, "IMPISHIM_FOREIGN", settings.as_lam ? "lam" : ""),
      same_as_first(all, "IMPISHIM_HOST_PROCS", host_procs)};
  for (const Result<void>& outcome : outcomes) {
    if (!outcome) return outcome.error();
  }
  if (settings.gateways.empty()) return std::vector<std::int32_t>();
  int size = 0;
  vendor::Comm_size(all, &size);
  return wire::parse_gateways(settings.gateways, size);
}

SystemPlan describe_system(const JobSettings& settings, MPI_Comm all,
                           const std::vector<std::int32_t>& gateways) {
  SystemPlan plan;
  plan.all = all;
  vendor::Comm_rank(all, &plan.rank);
  if (!gateways.empty()) plan.speaker = gateways.front();
  plan.places = gather_places(all, settings.test_node_procs);
  return plan;
}

void plan_hosts(SystemPlan& plan, std::int32_t host_procs,
                const std::vector<std::int32_t>& gateways) {
  plan.hosts = wire::plan_hosts(plan.places, host_procs, gateways);
  const auto after =
      std::upper_bound(plan.hosts.begin(), plan.hosts.end(), plan.rank,
                       [](int rank, const wire::PlannedHost& host) { return rank < host.first; });
  plan.host = *std::prev(after);
  const bool alone = std::ranges::all_of(
      plan.hosts, [](const wire::PlannedHost& host) { return host.count == 1; });
  if (alone) {
    vendor::Comm_dup(MPI_COMM_SELF, &plan.host_comm);
  } else {
    vendor::Comm_split(plan.all, plan.host.first, plan.rank, &plan.host_comm);
  }
  vendor::Comm_rank(plan.host_comm, &plan.host_rank);
}

}  // namespace impishim::shim
