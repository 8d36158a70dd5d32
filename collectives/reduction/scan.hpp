/// Scan and exscan are one algorithm: what differs is whether a rank's own operand counts.
#pragma once

#include "collectives/collectives.hpp"

namespace impishim::collectives {

enum class ScanKind : std::uint8_t { kInclusive, kExclusive };

/// What both are given.
struct ScanCall {
  ConstData contribution;
  Data result;
  const Reduction& operation;
  ScanKind kind;

  [[nodiscard]] bool inclusive() const { return kind == ScanKind::kInclusive; }
};

/// IMPI: from each rank to the next (tag 200).
Task scan_in_chain(const Team& team, ScanCall call);
/// Each client's ranks are consecutive: the last member of each client knows its total.
Task scan_of_blocks(const Team& team, ScanCall call, Form form);
/// Ranks alternate between clients: masters work for their members.
Task scan_of_runs(const Team& team, ScanCall call);

}  // namespace impishim::collectives
