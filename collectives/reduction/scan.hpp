// SPDX-License-Identifier: Apache-2.0
/// Scan and exscan in one algorithm. They differ only in whether a rank's own operand counts.
#pragma once

#include "collectives/collectives.hpp"
#include "collectives/core/operands.hpp"

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
/// Runs the form for long data and clients with consecutive ranks: segments travel from each rank
/// to the next, and each rank sends, receives and combines its data once.
Task scan_in_pipeline(const Team& team, ScanCall call);
/// Returns true if there are enough segments to keep all ranks of a pipeline busy.
[[nodiscard]] bool suits_pipeline(const Membership& membership, const Segments& segments);
/// Runs the form for ranks that alternate between clients: masters work for their members.
Task scan_of_ranges(const Team& team, ScanCall call);

}  // namespace impishim::collectives
