// SPDX-License-Identifier: Apache-2.0
/// Shared file pointers: numbers in a file of their own beside the file that they belong to.
///
/// All processes that see the file system can use them at any time, whatever the others do. The
/// lock of the file is what makes an addition one step.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::wire {

/// Thread-safe.
class FilePointers {
 public:
  /// Uses the file with this name, which is made when a pointer is first used.
  explicit FilePointers(std::string path) : path_(std::move(path)) {}
  FilePointers(const FilePointers&) = delete;
  FilePointers& operator=(const FilePointers&) = delete;

  /// Adds to a pointer, which is 0 at first. Sets `before` to its value before. A file's pointers
  /// are counted from 0. Fails with kBadRequest, and changes nothing, if the sum would go beyond 63
  /// bits, or no file has a place for this pointer.
  [[nodiscard]] FileStatus add(std::uint64_t pointer, std::int64_t value, std::int64_t& before);
  /// Sets a pointer.
  [[nodiscard]] FileStatus set(std::uint64_t pointer, std::int64_t value);
  /// Removes the file. The pointers are used no more.
  void remove();

 private:
  [[nodiscard]] FileStatus open() IMPISHIM_REQUIRES(mutex_);
  [[nodiscard]] FileStatus load(std::uint64_t pointer, std::int64_t& value)
      IMPISHIM_REQUIRES(mutex_);
  [[nodiscard]] FileStatus store(std::uint64_t pointer, std::int64_t value)
      IMPISHIM_REQUIRES(mutex_);

  const std::string path_;
  Mutex mutex_;  ///< threads of this process share the descriptor, and so its locks
  Descriptor file_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::wire
