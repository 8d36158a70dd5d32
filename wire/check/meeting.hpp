// SPDX-License-Identifier: Apache-2.0
/// The systems meet as the hosts of a job do, and measure the roads between them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/check/report/report.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::check {

/// Each system is one host with one process, so their numbers are the same.
struct MeetingTerms {
  wire::JobMap job;
  std::int32_t here = 0;
  JobSecret secret;
  std::optional<wire::RelayPoint> relay{};
  wire::TcpOptions tcp{};
  std::vector<Interface> interfaces{};
  int watched = -1;                                  ///< as in DanceOptions
  std::function<std::optional<Error>()> given_up{};  ///< likewise
};

/// Connects this host with all others by the code that connects those of a job. Then each pair in
/// turn tries out which of the two can connect, and measures the road in both directions: over the
/// connection that a job would have, and over several ones where a job could have several. At last
/// each tells the others what it has measured.
///
/// Returns the roads that begin here, one for each other system, and those that others have told.
/// What has failed is in the roads.
[[nodiscard]] std::vector<Road> measure_roads(const MeetingTerms& terms,
                                              wire::HostListener listener);

}  // namespace impishim::check
