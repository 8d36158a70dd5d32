// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/trace_settings.hpp"

#include <stdlib.h>

#include <cstdint>
#include <cstdlib>

#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/trace/perfetto_file.hpp"

namespace impishim::wire {

Result<TraceSettings> TraceSettings::from_environment() {
  constexpr std::int64_t kMostMiB = 65536;
  constexpr std::int64_t kHourMs = 3600000;
  constexpr std::int64_t kMillisecond = 1000000;
  constexpr unsigned kMiBBits = 20;
  TraceSettings settings;
  if (const char* text = secure_getenv("IMPISHIM_TRACE"); text != nullptr && *text != '\0') {
    auto there = perfetto_is_there();
    if (!there) return there.error();
    settings.prefix = text;
  }
  std::size_t mebibytes = settings.bytes >> kMiBBits;
  auto size = read_variable("IMPISHIM_TRACE_SIZE", 1, kMostMiB, mebibytes);
  if (!size) return size.error();
  settings.bytes = mebibytes << kMiBBits;
  auto skew = read_variable("IMPISHIM_TEST_CLOCK_SKEW_MS", -kHourMs, kHourMs, settings.skew_ns);
  if (!skew) return skew.error();
  settings.skew_ns *= kMillisecond;
  return settings;
}

}  // namespace impishim::wire
