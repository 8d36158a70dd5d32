// SPDX-License-Identifier: Apache-2.0
// What another system tells of itself and of its roads, and what follows from it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/fuzz.hpp"
#include "wire/check/report/diagnosis.hpp"
#include "wire/check/report/report.hpp"
#include "wire/check/report/report_codec.hpp"
#include "wire/check/report/report_text.hpp"

using namespace impishim::check;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  Report report;
  report.systems_wanted = 32;
  if (auto system = decode_system(bytes)) {
    // Escapes in texts are escaped once; after that nothing changes.
    const std::string encoded = encode_system(*system);
    const auto again = decode_system(std::as_bytes(std::span(encoded)));
    FUZZ_REQUIRE(again || encoded.size() > kMostReportBytes);
    if (again) FUZZ_REQUIRE(again->system == system->system);
    report.systems = {*system, *system};
  }
  if (auto roads = decode_roads(bytes)) {
    FUZZ_REQUIRE(roads->size() <= kMostElements);
    report.roads = *roads;
  }
  if (const auto systems = decode_systems(3, 2, bytes)) FUZZ_REQUIRE(systems->size() == 2);
  report.findings = diagnose(report);
  for (const Finding& each : report.findings)
    FUZZ_REQUIRE(!each.cause.empty() && !each.cure.empty());
  FUZZ_REQUIRE(report_text(report).ends_with("warning(s)\n"));
  FUZZ_REQUIRE(report_json(report).ends_with("}\n"));
  return 0;
}
