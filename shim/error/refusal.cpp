// SPDX-License-Identifier: Apache-2.0
#include "shim/error/refusal.hpp"

#include <fmt/format.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "shim/error/errors.hpp"
#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/never_destroyed.hpp"

namespace impishim::shim {
namespace {

/// Returns true at the first call with this function.
bool is_first_refusal(std::string_view function) {
  static Mutex mutex;
  static auto& refused = never_destroyed<std::set<std::string, std::less<>>>();
  const MutexLock lock(mutex);
  return refused.emplace(function).second;
}

int raise_refusal(MPI_Comm comm, int error_class, std::string_view function,
                  std::string_view text) {
  // A handler that ends the job prints the same text.
  if (is_first_refusal(function) && !ends_job(comm)) {
    log_line(
        LogArea::kShim, LogLevel::kError,
        fmt::format("{}: {}. The call has failed, and its error code says so; this line comes once",
                    function, text));
  }
  return raise(comm, error_class, function, text);
}

}  // namespace

int refuse(MPI_Comm comm, std::string_view function) {
  return refuse(comm, function,
                "not supported on a communicator that spans systems, only on one inside a system "
                "(see README, limits)");
}

int refuse(MPI_Comm comm, std::string_view function, std::string_view text) {
  return raise_refusal(comm, MPI_ERR_UNSUPPORTED_OPERATION, function, text);
}

int refuse_group(std::string_view function) {
  return raise_refusal(MPI_COMM_WORLD, MPI_ERR_GROUP, function,
                       "the group has processes of other systems, and must have those of one "
                       "system (see README, limits)");
}

int refuse_joined(std::string_view function, std::string_view reason) {
  return refuse(MPI_COMM_WORLD, function,
                fmt::format("not supported in a joined job: {} (see README, limits)", reason));
}

}  // namespace impishim::shim
