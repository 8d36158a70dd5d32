// SPDX-License-Identifier: Apache-2.0
#include "shim/monitor/trace_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "shim/entry_points.hpp"
#include "shim/job/job.hpp"
#include "shim/monitor/job_name.hpp"
#include "shim/monitor/observed_call.hpp"
#include "shim/monitor/recorder.hpp"
#include "wire/base/log.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/output_file.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"
#include "wire/trace/perfetto_file.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::shim {
namespace {

std::string_view name_of_event(const wire::TraceEvent& event) {
  return event.kind == wire::TraceKind::kCall
             ? kFunctionNames[event.name]
             : wire::name_of(static_cast<wire::PacketType>(event.name));
}

std::string name_of_communicator(std::uint64_t id) {
  Recorder* const recorder = the_recorder.load(std::memory_order_acquire);
  const std::string name = recorder == nullptr ? "" : recorder->name_of(id);
  return name.empty() ? fmt::format("communicator {:x}", id) : name;
}

Result<void> write_content(const Job& job, const wire::TraceContent& content,
                           const std::string& path) {
  auto file = open_output_file(path, S_IRUSR | S_IWUSR);
  if (!file) return file.error();
  const wire::TracedProcess process{name_of_job(job.map.at_start()), job.here, job.client, getpid(),
                                    node_name()};
  return wire::write_perfetto(process, content, {name_of_event, name_of_communicator},
                              [&file](std::string_view piece) { return write_to(*file, piece); });
}

}  // namespace

void write_trace(const Job& job) {
  if (job.trace == nullptr) return;
  const auto content = job.trace->take();
  if (!content) return;
  const std::string path = fmt::format("{}.{}.pftrace", job.diagnostics.trace.prefix, job.here);
  // The user has requested the trace, so warnings are printed at every log level.
  if (content->lost > 0)
    log_line(
        LogArea::kShim, LogLevel::kWarn,
        fmt::format("{} older events of the trace are lost: {} MiB hold {}; give "
                    "IMPISHIM_TRACE_SIZE a larger value",
                    content->lost, job.diagnostics.trace.bytes >> 20U, content->events.size()));
  auto written = write_content(job, *content, path);
  if (!written)
    log_line(LogArea::kShim, LogLevel::kWarn,
             fmt::format("cannot write the trace to {} (IMPISHIM_TRACE): {}", path,
                         written.error().text));
}

}  // namespace impishim::shim
