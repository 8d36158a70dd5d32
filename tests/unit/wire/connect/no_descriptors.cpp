// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/wire/connect/no_descriptors.hpp"

#include <dlfcn.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

namespace impishim::wire::test {
namespace {

std::atomic<int> lacks{0};
std::atomic<int> failed{0};

}  // namespace

NoDescriptors::NoDescriptors() { ++lacks; }

NoDescriptors::~NoDescriptors() { --lacks; }

int NoDescriptors::failures() { return failed; }

/// Fails as the kernel does, which takes a descriptor before it looks into the queue of
/// connections: a connection that waits there stays.
int accept_next(int listener, sockaddr* from, socklen_t* size, int flags) {
  using Accept = int (*)(int, sockaddr*, socklen_t*, int);
  static const auto next = reinterpret_cast<Accept>(dlsym(RTLD_NEXT, "accept4"));
  if (lacks == 0) return next(listener, from, size, flags);
  ++failed;
  errno = EMFILE;
  return -1;
}

}  // namespace impishim::wire::test

/// Stands before the C library's accept4 for the whole program.
extern "C" int accept4(int listener, sockaddr* from, socklen_t* size, int flags) {
  return impishim::wire::test::accept_next(listener, from, size, flags);
}
