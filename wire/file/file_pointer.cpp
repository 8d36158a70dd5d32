// SPDX-License-Identifier: Apache-2.0
#include "wire/file/file_pointer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/descriptor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"
#include "wire/file/stored_file.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint64_t kBytes = sizeof(std::int64_t);

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
  const ssize_t got = ::pread(file_.get(), &value, kBytes, static_cast<off_t>(pointer * kBytes));
  return got < 0 ? file_status_of(errno) : FileStatus::kDone;
}

FileStatus FilePointers::store(std::uint64_t pointer, std::int64_t value) {
  const ssize_t put = ::pwrite(file_.get(), &value, kBytes, static_cast<off_t>(pointer * kBytes));
  if (put < 0) return file_status_of(errno);
  return put == static_cast<ssize_t>(kBytes) ? FileStatus::kDone : FileStatus::kNoSpace;
}

FileStatus FilePointers::add(std::uint64_t pointer, std::int64_t value, std::int64_t& before) {
  const MutexLock lock(mutex_);
  FileStatus status = open();
  if (status != FileStatus::kDone) return status;
  const FileRangeLock range(file_.get(), pointer * kBytes, (pointer + 1) * kBytes);
  status = range.status();
  if (status == FileStatus::kDone) status = load(pointer, before);
  if (status == FileStatus::kDone && value != 0) status = store(pointer, before + value);
  return status;
}

FileStatus FilePointers::set(std::uint64_t pointer, std::int64_t value) {
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
