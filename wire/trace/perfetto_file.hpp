// SPDX-License-Identifier: Apache-2.0
/// A trace in the form that Perfetto reads (https://perfetto.dev): protocol buffers of the type
/// perfetto.protos.Trace. Files of several processes that are written one after the other into one
/// file are one trace again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "wire/base/result.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {

/// The process that a trace is of.
struct TracedProcess {
  std::string job;  ///< the same for all processes of a job, another one for other jobs
  std::int32_t rank = 0;
  std::int32_t system = 0;
  std::int64_t pid = 0;
  std::string host;
};

/// What the numbers in events stand for.
struct TraceNames {
  std::function<std::string_view(const TraceEvent&)> name;  ///< of a call, or of a packet
  std::function<std::string(std::uint64_t)> communicator;   ///< by TraceEvent::communicator
};

/// Fails with kConfiguration if the library was built without what writes traces; the text says so.
[[nodiscard]] Result<void> perfetto_is_there();

/// Takes the next bytes of a file.
using TraceSink = std::function<Result<void>(std::string_view)>;

/// Writes the trace of one process to `sink`, piece by piece. Returns the sink's error.
[[nodiscard]] Result<void> write_perfetto(const TracedProcess& process, const TraceContent& content,
                                          const TraceNames& names, const TraceSink& sink);

}  // namespace impishim::wire
