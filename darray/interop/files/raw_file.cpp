// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/files/raw_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "darray/base/error.hpp"

namespace impishim::darray::file {
namespace {
constexpr Index kMostAtOnce = Index{1} << 30;  // Linux transfers at most 2 GiB in one call
}

RawFile::RawFile(const std::string& path, int flags)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_with("cannot be opened");
}

RawFile::~RawFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RawFile::write(Index position, const void* data, Index bytes) {
  for (Index done = 0; done < bytes;) {
    const auto count = static_cast<std::size_t>(std::min(bytes - done, kMostAtOnce));
    const ssize_t written =
        ::pwrite(descriptor_, static_cast<const char*>(data) + done, count, position + done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_with("cannot be written");
    done += written;
  }
}

void RawFile::read(Index position, void* data, Index bytes) {
  for (Index done = 0; done < bytes;) {
    const auto count = static_cast<std::size_t>(std::min(bytes - done, kMostAtOnce));
    const ssize_t got =
        ::pread(descriptor_, static_cast<char*>(data) + done, count, position + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with("cannot be read");
    if (got == 0)
      fail(ErrorKind::kArgument, "{}: ends after {} of {} bytes", path_, position + done,
           position + bytes);
    done += got;
  }
}

void RawFile::set_length(Index bytes) {
  if (::ftruncate(descriptor_, bytes) != 0) fail_with("cannot be made long enough");
}

void RawFile::finish() {
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail_with("cannot be closed");
}

void RawFile::fail_with(const char* what) const {
  fail(ErrorKind::kArgument, "{}: {}: {}", path_, what, std::strerror(errno));
}

}  // namespace impishim::darray::file
