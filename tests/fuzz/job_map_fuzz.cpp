// SPDX-License-Identifier: Apache-2.0
// A job map as one process sends it to the others of its system.
#include <algorithm>

#include "tests/fuzz/fuzz.hpp"
#include "wire/topology/job_map_codec.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto map = impishim::wire::decode_job_map(std::as_bytes(std::span(data, size)));
  if (!map) return 0;
  const auto bytes = impishim::wire::encode_job_map(*map);
  FUZZ_REQUIRE(bytes.size() == size);
  auto again = impishim::wire::decode_job_map(bytes);
  FUZZ_REQUIRE(again.ok() && impishim::wire::encode_job_map(*again) == bytes);
  return 0;
}
