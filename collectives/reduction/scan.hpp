// SPDX-License-Identifier: Apache-2.0
/// Scan and exscan in one algorithm. They differ only in whether a rank's own operand counts.
#pragma once

#include "collectives/collectives.hpp"

namespace impishim::collectives {

enum class ScanKind : std::uint8_t { kInclusive, kExclusive };

/// The arguments of both.
struct ScanCall {
  ConstData contribution;
  Data result;
  const Reduction& operation;
  ScanKind kind;

  [[nodiscard]] bool inclusive() const { return kind == ScanKind::kInclusive; }
};

/// Runs IMPI's form: from each rank to the next (tag 200).
Task scan_in_chain(const Team& team, ScanCall call);
/// Runs the form for clients with consecutive ranks: the last member of each client knows its
/// total.
Task scan_of_blocks(const Team& team, ScanCall call, Form form);
/// Runs the form for ranks that alternate between clients: masters work for their members.
Task scan_of_ranges(const Team& team, ScanCall call);

}  // namespace impishim::collectives
