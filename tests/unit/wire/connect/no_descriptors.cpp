// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/wire/connect/no_descriptors.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "wire/base/descriptor.hpp"

namespace impishim::wire::test {
namespace {

std::atomic<int> lacks{0};
std::atomic<int> failed{0};

/// Takes every descriptor that this process may still have.
class AllDescriptors {
 public:
  AllDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit tight{64, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &tight);
    for (int each = open("/dev/null", O_RDONLY | O_CLOEXEC); each >= 0;
         each = open("/dev/null", O_RDONLY | O_CLOEXEC)) {
      taken_.emplace_back(each);
    }
  }
  AllDescriptors(const AllDescriptors&) = delete;
  AllDescriptors& operator=(const AllDescriptors&) = delete;
  ~AllDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<Descriptor> taken_;
};

}  // namespace

NoDescriptors::NoDescriptors() { ++lacks; }

NoDescriptors::~NoDescriptors() { --lacks; }

int NoDescriptors::failures() { return failed; }

int accept_next(int listener, sockaddr* from, socklen_t* size, int flags) {
  using Accept = int (*)(int, sockaddr*, socklen_t*, int);
  static const auto next = reinterpret_cast<Accept>(dlsym(RTLD_NEXT, "accept4"));
  if (lacks == 0) return next(listener, from, size, flags);
  int accepted = -1;
  int error = 0;
  {
    const AllDescriptors all;
    accepted = next(listener, from, size, flags);
    error = errno;
  }
  if (accepted < 0 && error == EMFILE) ++failed;
  errno = error;
  return accepted;
}

}  // namespace impishim::wire::test

/// Stands before the C library's accept4 for the whole program.
extern "C" int accept4(int listener, sockaddr* from, socklen_t* size, int flags) {
  return impishim::wire::test::accept_next(listener, from, size, flags);
}
