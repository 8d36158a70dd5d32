// SPDX-License-Identifier: Apache-2.0
// Job files (impirun -file) that are damaged in any way: each is read, or refused with file and
// line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/fuzz.hpp"
#include "wire/launch/jobfile/job_file.hpp"

using namespace impishim::launch;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto job = parse_job_file(text, "job.toml");
  if (!job) {
    FUZZ_REQUIRE(job.error().text.rfind("job.toml:", 0) == 0);
    return 0;
  }
  FUZZ_REQUIRE(!job->systems.empty() && job->systems.size() <= 32);
  for (const JobSystem& system : job->systems) {
    FUZZ_REQUIRE(system.section.procs >= 1);
    FUZZ_REQUIRE(!system.section.command.empty() && !system.section.command.front().empty());
    FUZZ_REQUIRE(!system.ssh.empty());
  }
  return 0;
}
