// SPDX-License-Identifier: Apache-2.0
#include "wire/file/stored_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/file/file_status.hpp"
#include "wire/file/file_view.hpp"

namespace impishim::wire {
namespace {

/// Locks or unlocks a part of a file for this descriptor. Waits for other locks.
FileStatus set_lock(int descriptor, short type, std::uint64_t first, std::uint64_t last) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(first);
  lock.l_len = static_cast<off_t>(last - first);
  // Other kinds of locks belong to the process, which other descriptors of it would release.
  while (::fcntl(descriptor, F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) return file_status_of(errno);
  }
  return FileStatus::kDone;
}

/// Returns the type of lock that a descriptor may have: one that only reads need keep away only
/// those who write.
short lock_type_for(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY ? F_RDLCK : F_WRLCK;
}

int flags_of(FileAccess access) {
  if (access == FileAccess::kRead) return O_RDONLY;
  return access == FileAccess::kWrite ? O_WRONLY : O_RDWR;
}

}  // namespace

FileRangeLock::FileRangeLock(int descriptor, std::uint64_t first, std::uint64_t last)
    : descriptor_(descriptor), first_(first), last_(last) {
  // A length of zero would lock all up to the end of the file.
  if (first_ < last_) status_ = set_lock(descriptor_, lock_type_for(descriptor_), first_, last_);
}

FileRangeLock::~FileRangeLock() {
  if (first_ < last_ && status_ == FileStatus::kDone)
    static_cast<void>(set_lock(descriptor_, F_UNLCK, first_, last_));
}

StoredFile StoredFile::open(const std::string& path, FileAccess access, FileStatus& status) {
  Descriptor descriptor(::open(path.c_str(), flags_of(access) | O_CLOEXEC));
  status = descriptor.valid() ? FileStatus::kDone : file_status_of(errno);
  return StoredFile(std::move(descriptor));
}

FileStatus StoredFile::read(std::span<const FilePiece> pieces, std::span<std::byte> room,
                            std::uint64_t& read) const {
  read = 0;
  for (const FilePiece& piece : pieces) {
    for (std::uint64_t done = 0; done < piece.bytes;) {
      const ssize_t got = ::pread(descriptor_.get(), room.data() + read, piece.bytes - done,
                                  static_cast<off_t>(piece.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_status_of(errno);
      if (got == 0) return FileStatus::kDone;
      done += static_cast<std::uint64_t>(got);
      read += static_cast<std::uint64_t>(got);
    }
  }
  return FileStatus::kDone;
}

FileStatus StoredFile::write(std::uint64_t offset, std::span<const std::byte> data) const {
  while (!data.empty()) {
    const ssize_t put =
        ::pwrite(descriptor_.get(), data.data(), data.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_status_of(errno);
    // The system call would take nothing for ever.
    if (put == 0) return FileStatus::kInputOutput;
    data = data.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
  return FileStatus::kDone;
}

FileStatus StoredFile::write_gathered(std::uint64_t offset,
                                      std::span<const std::span<const std::byte>> data) const {
  constexpr std::size_t kMost = 64;
  while (!data.empty()) {
    const auto batch = data.first(std::min(kMost, data.size()));
    data = data.subspan(batch.size());
    std::array<iovec, kMost> parts{};
    std::size_t total = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      parts[i] = {const_cast<std::byte*>(batch[i].data()), batch[i].size()};
      total += batch[i].size();
    }
    const ssize_t put = ::pwritev(descriptor_.get(), parts.data(), static_cast<int>(batch.size()),
                                  static_cast<off_t>(offset));
    if (put < 0 && errno != EINTR) return file_status_of(errno);
    if (put == static_cast<ssize_t>(total)) {
      offset += total;
      continue;
    }
    // The system call has stopped early: each part is written again by itself.
    for (const auto& part : batch) {
      const FileStatus status = write(offset, part);
      if (status != FileStatus::kDone) return status;
      offset += part.size();
    }
  }
  return FileStatus::kDone;
}

FileStatus StoredFile::sync() const {
  if (::fdatasync(descriptor_.get()) == 0) return FileStatus::kDone;
  // Some files, such as pipes and devices, have nothing to wait for.
  return errno == EINVAL || errno == EROFS ? FileStatus::kDone : file_status_of(errno);
}

FileStatus StoredFile::size(std::uint64_t& bytes) const {
  struct stat state {};
  if (::fstat(descriptor_.get(), &state) != 0) return file_status_of(errno);
  bytes = static_cast<std::uint64_t>(state.st_size);
  return FileStatus::kDone;
}

}  // namespace impishim::wire
