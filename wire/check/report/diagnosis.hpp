// SPDX-License-Identifier: Apache-2.0
/// The problems that follow from what has been found. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {

/// The step of joining that has failed.
enum class Step : std::uint8_t {
  kSettings,   ///< variables and files of this system
  kServer,     ///< the way to the rendezvous server, and the server's consent
  kAgreement,  ///< what the systems must agree on
};

/// Returns the problem that an error at a step is, with the cure for it.
[[nodiscard]] Finding finding_of(Step step, std::int64_t system, const Error& error);

/// Returns the problems of each system and of each road, those that break a job first.
[[nodiscard]] std::vector<Finding> diagnose(const Report& report);

/// Returns the file descriptors that a process of `own` needs for a job with these systems.
[[nodiscard]] std::int64_t descriptors_needed(const SystemReport& own, const Report& report);
/// Returns the bytes of shared memory that the processes of a node need, all of them on one node.
[[nodiscard]] std::int64_t shared_memory_needed(const SystemReport& own);
/// Returns the bytes that a process of `own` may have to keep to send them again.
[[nodiscard]] std::int64_t memory_needed(const SystemReport& own, const Report& report);

}  // namespace impishim::check
