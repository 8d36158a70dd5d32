// SPDX-License-Identifier: Apache-2.0
// A batch of the shuffle, as a neighbour sends it. Input: 2 bytes (processes of the job), then the
// batch.
#include <algorithm>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/shuffle/shuffle_message.hpp"

using impishim::fuzz::Input;
using impishim::wire::append_message;
using impishim::wire::parse_batch;
using impishim::wire::ShuffleMessage;
using impishim::wire::WorldRank;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto high = static_cast<std::uint32_t>(input.byte());
  const auto procs = static_cast<WorldRank>(high << 8U | input.byte());
  const auto batch = input.rest();
  const auto messages = parse_batch(batch, procs);
  if (!messages) {
    FUZZ_REQUIRE(messages.error().kind == impishim::ErrorKind::kProtocol);
    return 0;
  }
  const auto in_job = [procs](WorldRank proc) { return proc >= 0 && proc < procs; };
  // Nothing is lost: the messages make the same batch.
  std::vector<std::byte> again;
  for (const ShuffleMessage& message : *messages) {
    FUZZ_REQUIRE(in_job(message.source) && in_job(message.destination));
    append_message(again, message);
  }
  FUZZ_REQUIRE(std::equal(again.begin(), again.end(), batch.begin(), batch.end()));
  return 0;
}
