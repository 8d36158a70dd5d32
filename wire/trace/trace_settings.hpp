// SPDX-License-Identifier: Apache-2.0
/// The variables of the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

struct TraceSettings {
  /// IMPISHIM_TRACE: the prefix of the trace's file, followed by ".RANK.pftrace"; empty: no trace.
  std::string prefix;
  /// IMPISHIM_TRACE_SIZE, in bytes: the memory of each process for its latest events.
  std::size_t bytes = std::size_t{16} << 20U;
  /// IMPISHIM_TEST_CLOCK_SKEW_MS: what this process's clock shows more than it should, for tests.
  std::int64_t skew_ns = 0;

  /// Fails with kConfiguration; the text names the variable, its value and what is allowed.
  [[nodiscard]] static Result<TraceSettings> from_environment();
};

}  // namespace impishim::wire
