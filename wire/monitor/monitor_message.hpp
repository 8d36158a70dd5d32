// SPDX-License-Identifier: Apache-2.0
/// The payloads of the commands of monitoring between the rendezvous server, the processes of the
/// job and the programs that ask (docs/protocol.md, Monitoring).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wire/monitor/process_state.hpp"

namespace impishim::wire {

/// A process that is ready to be asked.
struct MonitorHello {
  std::int32_t client = 0;
  std::int32_t rank = 0;  ///< in the joined world
  std::int32_t size = 0;  ///< of the joined world
  bool operator==(const MonitorHello&) const = default;
};

/// Parts of a state, to be combined.
constexpr std::uint32_t kWantsCalls = 1;
constexpr std::uint32_t kWantsCounters = 2;
constexpr std::uint32_t kWantsAll = kWantsCalls | kWantsCounters;

struct MonitorQuestion {
  /// Chosen by the server; 0 from an asker, which asks one question at a time.
  std::uint32_t number = 0;
  std::uint32_t wants = 0;
  bool operator==(const MonitorQuestion&) const = default;
};

/// What the server says when all answers have come, or do not come.
struct MonitorEnd {
  std::int32_t size = 0;             ///< of the joined world; 0: no process has called the server
  std::int32_t watched = 0;          ///< processes that were asked
  std::vector<std::int32_t> silent;  ///< those of them that have not answered in time
  bool operator==(const MonitorEnd&) const = default;
};

[[nodiscard]] std::vector<std::byte> encode(const MonitorHello& hello);
[[nodiscard]] std::vector<std::byte> encode(const MonitorQuestion& question);
[[nodiscard]] std::vector<std::byte> encode(const MonitorEnd& end);
/// Returns an answer: the number of its question, then the state.
[[nodiscard]] std::vector<std::byte> encode_answer(std::uint32_t number, const ProcessState& state);

// They return nothing for bytes that are no such payload.
[[nodiscard]] std::optional<MonitorHello> decode_monitor_hello(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<MonitorQuestion> decode_monitor_question(
    std::span<const std::byte> bytes);
[[nodiscard]] std::optional<MonitorEnd> decode_monitor_end(std::span<const std::byte> bytes);

}  // namespace impishim::wire
