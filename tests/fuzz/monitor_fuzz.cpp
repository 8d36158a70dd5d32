// SPDX-License-Identifier: Apache-2.0
// Messages of monitoring. Input: 1 byte (0: a process's state, as the asker gets it; 1: its hello,
// 2: a question, 3: the server's end; other: an answer to the server), then the payload.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "wire/monitor/monitor_hub.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"
#include "wire/watch/wait_graph.hpp"
#include "wire/watch/why_report.hpp"

using namespace impishim::wire;  // NOLINT(google-build-using-namespace)
using impishim::fuzz::Input;

namespace {

/// Nothing is lost: what was decoded is encoded as it came.
template <class Decoded>
void require_same(const Decoded& decoded, std::span<const std::byte> bytes) {
  if (decoded) FUZZ_REQUIRE(std::ranges::equal(encode(*decoded), bytes));
}

/// What a process says must not stop the person who asks.
void look_at(const ProcessState& state) {
  JobState job;
  job.size = 4;
  job.processes = {state, state};
  job.processes[1].rank = state.rank / 2;
  const WaitFindings findings = find_stuck(job);
  FUZZ_REQUIRE(!why_text(job, findings).empty());
  FUZZ_REQUIRE(!why_json(job, findings).empty());
}

void answer_the_hub(std::span<const std::byte> payload) {
  MonitorHub hub;
  FUZZ_REQUIRE(hub.add_process(1, {0, 0, 4}));
  FUZZ_REQUIRE(hub.ask(2, kWantsAll, MonitorHub::Clock::time_point()));
  static_cast<void>(hub.take_actions());
  if (!hub.answer(1, payload)) FUZZ_REQUIRE(hub.take_actions().empty());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint8_t kind = input.byte();
  const auto payload = input.rest();
  if (kind == 0) {
    const auto state = decode_process_state(payload);
    require_same(state, payload);
    if (state) look_at(*state);
  } else if (kind == 1) {
    require_same(decode_monitor_hello(payload), payload);
  } else if (kind == 2) {
    require_same(decode_monitor_question(payload), payload);
  } else if (kind == 3) {
    require_same(decode_monitor_end(payload), payload);
  } else {
    answer_the_hub(payload);
  }
  return 0;
}
