/// What the process that joins for its system needs to know of each process of the system.
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
  std::uint16_t port = 0;  ///< 0: the process does not make its host's connections
  std::int64_t pid = 0;
  std::string node;                  ///< what the operating system calls this machine
  std::vector<std::string> fabrics;  ///< usable providers, of a process that listens

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Decodes what encode() made. Errors: kProtocol if the bytes end too early.
  [[nodiscard]] static Result<ProcInfo> decode(std::span<const std::byte> bytes);
};

/// Decodes one ProcInfo of each process of a system, in the order of native ranks. Errors:
/// kProtocol, with the rank.
[[nodiscard]] Result<std::vector<ProcInfo>> decode_all(
    std::span<const std::vector<std::byte>> encoded);

/// Returns those of `mine` that each listening process of the system has, too.
[[nodiscard]] std::vector<std::string> common_fabrics(std::vector<std::string> mine,
                                                      std::span<const ProcInfo> procs);

/// Describes a planned host from what its processes, native ranks planned.first and following, say
/// of themselves.
[[nodiscard]] LocalHost local_host(const PlannedHost& planned, std::span<const ProcInfo> procs);

}  // namespace impishim::wire
