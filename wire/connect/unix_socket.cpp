// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/unix_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/hash.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"

namespace impishim::wire {
namespace {

struct UnixAddress {
  sockaddr_un address{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

UnixAddress address_of(const std::string& name) {
  UnixAddress made;
  made.address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof(made.address.sun_path) - 1);
  std::memcpy(made.address.sun_path + 1, name.data(), length);
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return made;
}

Error system_error(const std::string& what) {
  return {ErrorKind::kSystem, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

std::array<std::uint64_t, 2> network_namespace() {
  struct stat found {};
  if (stat("/proc/self/ns/net", &found) != 0) return {0, 0};
  return {found.st_dev, found.st_ino};
}

std::uint64_t running_kernel() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  return fnv1a(text + node_name());
}

Result<std::string> random_token() {
  std::array<std::byte, kTokenSize / 2> bytes;
  auto filled = fill_with_random(bytes);
  if (!filled) return filled.error();
  std::string token;
  for (const std::byte each : bytes)
    token += fmt::format("{:02x}", std::to_integer<unsigned>(each));
  return token;
}

Result<Descriptor> listen_unix(const std::string& name, int type) {
  Descriptor listener(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const UnixAddress address = address_of(name);
  if (!listener.valid() || bind(listener.get(), address.get(), address.size) != 0 ||
      listen(listener.get(), 1024) != 0) {
    return system_error("cannot listen");
  }
  return listener;
}

Result<Descriptor> connect_unix(const std::string& name, int type, int timeout_ms) {
  Descriptor connection(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const UnixAddress address = address_of(name);
  const timeval timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1000L};
  if (!connection.valid() ||
      setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0 ||
      ::connect(connection.get(), address.get(), address.size) != 0) {
    return system_error("cannot connect");
  }
  return connection;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

Result<void> send_with_descriptor(int socket, std::span<const std::byte> bytes,
                                  const Descriptor& descriptor) {
  // iovec is used for reading and writing, so it has no const form.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = descriptor.get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
    return system_error("cannot send");
  return {};
}

Result<std::pair<std::size_t, Descriptor>> receive_with_descriptor(int socket,
                                                                   std::span<std::byte> bytes) {
  iovec piece{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // Room for exactly one descriptor. Padding would let a second one in, which would never be
  // closed.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  Descriptor descriptor;
  const cmsghdr* header = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    descriptor = Descriptor(fd);
  }
  if (size < 0) return system_error("nothing received");
  return std::make_pair(static_cast<std::size_t>(size), std::move(descriptor));
}

}  // namespace impishim::wire
