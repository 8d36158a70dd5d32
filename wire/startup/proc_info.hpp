// SPDX-License-Identifier: Apache-2.0
/// The data about each process of a system that the process which joins for the system needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/host_plan.hpp"

namespace impishim::wire {

/// One process, as its system gathers it.
struct ProcInfo {
  HostId address{};
  HostId inner_address{};                ///< as in Host
  std::vector<HostId> more_addresses{};  ///< as in Host
  std::uint16_t port = 0;                ///< 0: the process does not make its host's connections
  std::int64_t pid = 0;
  std::string node;                  ///< the operating system's name of this machine
  std::vector<std::string> fabrics;  ///< usable providers; only of a process that listens

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Decodes the result of encode(). Fails with kProtocol if the bytes end too early.
  [[nodiscard]] static Result<ProcInfo> decode(std::span<const std::byte> bytes);
};

/// Decodes one ProcInfo for each process of a system, in the order of native ranks. Fails with
/// kProtocol; the text names the rank.
[[nodiscard]] Result<std::vector<ProcInfo>> decode_all(
    std::span<const std::vector<std::byte>> encoded);

/// Returns the elements of `mine` that every other listening process of the system has too.
[[nodiscard]] std::vector<std::string> common_fabrics(std::vector<std::string> mine,
                                                      std::span<const ProcInfo> procs);

/// Returns the process that listens for a planned host.
[[nodiscard]] const ProcInfo& listener_of(const PlannedHost& planned,
                                          std::span<const ProcInfo> procs);

/// Returns the description of a planned host. Its processes have the native ranks planned.first and
/// following; `procs` contains their own data.
[[nodiscard]] LocalHost local_host(const PlannedHost& planned, std::span<const ProcInfo> procs);

}  // namespace impishim::wire
