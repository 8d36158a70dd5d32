// SPDX-License-Identifier: Apache-2.0
/// The outcome of an operation on a file, in a form that can travel between systems: error numbers
/// of operating systems and classes of MPI libraries differ between machines.
#pragma once

#include <cstdint>
#include <string_view>

namespace impishim::wire {

/// The values travel in messages.
enum class FileStatus : std::uint8_t {
  kDone = 0,
  kNoSuchFile = 1,
  kExists = 2,
  kAccess = 3,
  kReadOnly = 4,
  kNoSpace = 5,
  kQuota = 6,
  kBadName = 7,
  kInUse = 8,
  kNoMemory = 9,
  kBadMode = 10,
  kBadRequest = 11,  ///< the request is not one that the library sends
  kInputOutput = 12,
  kOther = 13,
  kNumberOfStatuses = 14,
};

/// Returns the status for an error number (errno).
[[nodiscard]] FileStatus file_status_of(int error_number);

/// Returns a few words that say what it means.
[[nodiscard]] std::string_view text_of(FileStatus status);

}  // namespace impishim::wire
