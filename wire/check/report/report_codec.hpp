// SPDX-License-Identifier: Apache-2.0
/// Reports as JSON: for other systems, and for programs that read what `-check -json` prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {

/// Bytes of a report or of roads from another system. What is longer is refused.
inline constexpr std::size_t kMostReportBytes = 64U << 10U;
/// Bytes of a text in it; what is longer is cut.
inline constexpr std::size_t kMostText = 512;
/// Elements of a list in it.
inline constexpr std::size_t kMostElements = 64;
/// Version of the form of the JSON that users get.
inline constexpr int kReportFormat = 1;

[[nodiscard]] std::string encode_system(const SystemReport& report);
/// Decodes what another system has sent. Texts are made printable. Fields that are not known are
/// skipped, and fields that are missing have their default, so that systems of other versions can
/// be named; `system`, `version` and `protocol` must be there. Fails with kProtocol.
[[nodiscard]] Result<SystemReport> decode_system(std::span<const std::byte> bytes);

/// Decodes the reports of all systems as the server has put them together: in the order of their
/// numbers, length:Uint4 and so many bytes for each bit of `mask`. A report counts as that of the
/// system whose bit it has. Fails with kProtocol, also if a bit is not one of `count` systems.
[[nodiscard]] Result<std::vector<SystemReport>> decode_systems(std::uint32_t mask,
                                                               std::int64_t count,
                                                               std::span<const std::byte> bytes);

[[nodiscard]] std::string encode_roads(const std::vector<Road>& roads);
/// The same for the roads that begin at another system.
[[nodiscard]] Result<std::vector<Road>> decode_roads(std::span<const std::byte> bytes);

/// Returns the whole report for users: indented JSON and a newline.
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace impishim::check
