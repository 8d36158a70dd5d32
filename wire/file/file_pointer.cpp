// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_pointer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint64_t kBytes = sizeof(std::int64_t);

/// Returns true if the file can have a place for this pointer.
bool has_place(std::uint64_t pointer) {
  return pointer < static_cast<std::uint64_t>(INT64_MAX) / kBytes;
}

}  // namespace

FileStatus FilePointers::open() {
  if (file_.valid()) return FileStatus::kDone;
  file_ = Descriptor(
      ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  return file_.valid() ? FileStatus::kDone : file_status_of(errno);
}

/// Reads a pointer. One that was never stored is 0.
FileStatus FilePointers::load(std::uint64_t pointer, std::int64_t& value) {
  value = 0;
  ssize_t got = 0;
  do got = ::pread(file_.get(), &value, kBytes, static_cast<off_t>(pointer * kBytes));
  while (got < 0 && errno == EINTR);
  if (got < 0) return file_status_of(errno);
  // The library writes whole numbers.
  return got == 0 || got == static_cast<ssize_t>(kBytes) ? FileStatus::kDone
                                                         : FileStatus::kInputOutput;
}

FileStatus FilePointers::store(std::uint64_t pointer, std::int64_t value) {
  ssize_t put = 0;
  do put = ::pwrite(file_.get(), &value, kBytes, static_cast<off_t>(pointer * kBytes));
  while (put < 0 && errno == EINTR);
  if (put < 0) return file_status_of(errno);
  return put == static_cast<ssize_t>(kBytes) ? FileStatus::kDone : FileStatus::kNoSpace;
}

FileStatus FilePointers::add(std::uint64_t pointer, std::int64_t value, std::int64_t& before) {
  if (!has_place(pointer)) return FileStatus::kBadRequest;
  const MutexLock lock(mutex_);
  FileStatus status = open();
  if (status != FileStatus::kDone) return status;
  const FileRangeLock range(file_.get(), pointer * kBytes, (pointer + 1) * kBytes);
  status = range.status();
  if (status == FileStatus::kDone) status = load(pointer, before);
  if (status != FileStatus::kDone || value == 0) return status;
  std::int64_t after = 0;
  if (__builtin_add_overflow(before, value, &after)) return FileStatus::kBadRequest;
  return store(pointer, after);
}

FileStatus FilePointers::set(std::uint64_t pointer, std::int64_t value) {
  if (!has_place(pointer)) return FileStatus::kBadRequest;
  const MutexLock lock(mutex_);
  FileStatus status = open();
  if (status != FileStatus::kDone) return status;
  const FileRangeLock range(file_.get(), pointer * kBytes, (pointer + 1) * kBytes);
  status = range.status();
  return status == FileStatus::kDone ? store(pointer, value) : status;
}

void FilePointers::remove() {
  const MutexLock lock(mutex_);
  file_.reset();
  // It is not there if no process has used a pointer.
  ::unlink(path_.c_str());
}

}  // namespace impishim::wire
