// SPDX-License-Identifier: Apache-2.0
/// The course of a check in one system.
#pragma once

#include <string>

#include "wire/check/options.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {

/// Describes this system, joins the others at the rendezvous server as MPI_Init would, exchanges
/// the descriptions, measures the roads, and draws the conclusions. Blocks until all systems are
/// there. Each step that fails ends this, and is among the findings.
[[nodiscard]] Report check_systems(const CheckOptions& options, const std::string& version);

}  // namespace impishim::check
