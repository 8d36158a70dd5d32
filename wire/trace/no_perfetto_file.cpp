// SPDX-License-Identifier: Apache-2.0
// Where protozero was not there when the library was built.
#include "wire/base/result.hpp"
#include "wire/trace/perfetto_file.hpp"
#include "wire/trace/trace.hpp"

namespace impishim::wire {
namespace {

constexpr const char* kMissing =
    "IMPISHIM_TRACE: this library was built without protozero, which writes traces: unset the "
    "variable, or build it again with protozero (Debian: libprotozero-dev)";

}  // namespace

Result<void> perfetto_is_there() { return Error{ErrorKind::kConfiguration, kMissing}; }

Result<void> write_perfetto(const TracedProcess& /*process*/, const TraceContent& /*content*/,
                            const TraceNames& /*names*/, const TraceSink& /*sink*/) {
  return perfetto_is_there();
}

}  // namespace impishim::wire
