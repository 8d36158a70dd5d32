// SPDX-License-Identifier: Apache-2.0
/// The statistics of one process, as IMPISHIM_STATS writes them and impishim-report reads them
/// (docs/statistics.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/statistics/log_histogram.hpp"
#include "wire/statistics/time_line.hpp"

namespace impishim::wire {

/// The version of the form. It grows when a field changes its meaning or vanishes.
inline constexpr int kStatisticsVersion = 1;

/// Packets and their bytes, with headers.
struct PacketTraffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

/// Packets that this process's own connections have carried to and from a system.
struct SystemPackets {
  std::int32_t system = 0;
  PacketTraffic sent;
  PacketTraffic received;
};

/// All calls of one function.
struct FunctionTime {
  std::string name;
  ByScope<CallTime> scopes;
};

struct ProcessStatistics {
  std::string job;  ///< the same for all processes of a job
  std::int32_t rank = 0;
  std::int32_t size = 1;
  std::int32_t system = 0;
  std::string host;
  std::string library;           ///< the MPI library, in its own words
  std::int64_t began_us = 0;     ///< when the process had joined, since 1970
  std::uint64_t elapsed_ns = 0;  ///< from then until MPI_Finalize

  std::map<std::string, PacketTraffic> hops;      ///< packets by the way that they took
  std::map<std::string, std::uint64_t> counters;  ///< of the library's engine
  std::vector<SystemPackets> systems;
  std::vector<FunctionTime> functions;              ///< those that were called
  std::map<std::int32_t, std::uint64_t> waited_ns;  ///< as in CallSums
  std::map<std::int32_t, PeerTraffic> sent;
  ByScope<LogHistogram> message_bytes;
  ByScope<LogHistogram> batch_bytes;  ///< of each call that handed packets to a connection
  LogHistogram answer_ns;  ///< from the start of a long or synchronous message to its answer
  std::uint64_t bin_ns = 0;
  std::vector<TimeBin> time_line;
};

/// Returns the statistics as one JSON object.
[[nodiscard]] std::string json_text(const ProcessStatistics& statistics);
/// Reads what json_text() has written. Fails with kConfiguration; the text is the reason.
[[nodiscard]] Result<ProcessStatistics> read_statistics(std::string_view text);

}  // namespace impishim::wire
