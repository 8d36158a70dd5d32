// SPDX-License-Identifier: Apache-2.0
/// A file of this machine, read and written at pieces of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::wire {

/// What a file is opened for.
enum class FileAccess : std::uint8_t { kRead = 0, kWrite = 1, kReadAndWrite = 2 };

/// A lock of a part of a file, which other processes and other descriptors respect. Released when
/// it is destroyed. A descriptor that can only read gets a lock that others which only read share.
class FileRangeLock {
 public:
  /// Waits until no other has locked a byte from `first` on, before `last`.
  FileRangeLock(int descriptor, std::uint64_t first, std::uint64_t last);
  FileRangeLock(const FileRangeLock&) = delete;
  FileRangeLock& operator=(const FileRangeLock&) = delete;
  ~FileRangeLock();
  /// Returns why there is no lock: kDone if there is one.
  [[nodiscard]] FileStatus status() const { return status_; }

 private:
  int descriptor_;
  std::uint64_t first_;
  std::uint64_t last_;
  FileStatus status_ = FileStatus::kDone;
};

/// Not thread-safe.
class StoredFile {
 public:
  StoredFile() = default;
  explicit StoredFile(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}

  /// Opens a file that exists. Sets `status`.
  [[nodiscard]] static StoredFile open(const std::string& path, FileAccess access,
                                       FileStatus& status);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Fills `room` from the pieces, in their order. Sets `read` to the bytes before the end of the
  /// file, or before an error.
  [[nodiscard]] FileStatus read(std::span<const FilePiece> pieces, std::span<std::byte> room,
                                std::uint64_t& read) const;
  /// Writes `data` to the bytes from `offset` on.
  [[nodiscard]] FileStatus write(std::uint64_t offset, std::span<const std::byte> data) const;
  /// Writes the data of consecutive bytes from `offset` on, which lies in several places.
  [[nodiscard]] FileStatus write_gathered(std::uint64_t offset,
                                          std::span<const std::span<const std::byte>> data) const;
  /// Waits until all written data is on the storage device.
  [[nodiscard]] FileStatus sync() const;
  [[nodiscard]] FileStatus size(std::uint64_t& bytes) const;

 private:
  Descriptor descriptor_;
};

}  // namespace impishim::wire
