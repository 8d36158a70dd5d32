#include "wire/channel/local_hop.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>

#include "wire/base/log.hpp"
#include "wire/channel/local_channel.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint32_t kMagic = 0x494d5053;  // both ends run the same library on the same machine: host order will do

struct Hello {
  std::uint32_t magic;
  std::int32_t index;
};

struct UnixAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};

/// A name in the abstract namespace: it vanishes with its socket.
UnixAddress address_of(const std::string& token, std::int32_t index) {
  UnixAddress made;
  const std::string name = fmt::format("impishim-{}-{}", token, index);
  made.address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof(made.address.sun_path) - 1);
  std::memcpy(made.address.sun_path + 1, name.data(), length);
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return made;
}

Error system_error(const char* what) {
  return Error{ErrorKind::kSystem, fmt::format("local hop: {}: {}", what, std::strerror(errno))};
}

void set_timeout(int socket, int timeout_ms) {
  const timeval timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

Result<void> send_hello(int socket, std::int32_t index, const Descriptor& ring) {
  Hello hello{kMagic, index};
  iovec piece{&hello, sizeof(hello)};
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
  const int fd = ring.get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(hello)))
    return system_error("cannot greet a peer");
  return {};
}

/// The peer's index and the ring that it reads.
Result<std::pair<std::int32_t, Descriptor>> receive_hello(int socket) {
  Hello hello{};
  iovec piece{&hello, sizeof(hello)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = recvmsg(socket, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
  Descriptor ring;
  const cmsghdr* header = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    ring = Descriptor(fd);
  }
  if (size < 0) return system_error("no greeting from a peer");
  if (size != static_cast<ssize_t>(sizeof(hello)) || hello.magic != kMagic || !ring.valid()) {
    return Error{ErrorKind::kProtocol, "local hop: a peer greeted with garbage"};
  }
  return std::make_pair(hello.index, std::move(ring));
}

/// Half-made channel: connected, with our own ring offered.
struct Half {
  Descriptor socket;
  Ring in;
};

Result<Half> offer(Descriptor socket, std::int32_t my_index) {
  Half half;
  Descriptor ring_descriptor;
  auto ring = Ring::create(ring_descriptor);
  if (!ring) return ring.error();
  auto sent = send_hello(socket.get(), my_index, ring_descriptor);
  if (!sent) return sent.error();
  half.socket = std::move(socket);
  half.in = std::move(*ring);
  return half;
}

Result<std::unique_ptr<Channel>> complete(Half half, const Descriptor& peer_ring, std::int32_t peer) {
  auto out = Ring::attach(peer_ring);
  if (!out) return out.error();
  return std::unique_ptr<Channel>(std::make_unique<SharedMemoryChannel>(
      std::move(half.in), std::move(*out), std::move(half.socket), fmt::format("process {} of this host", peer)));
}

}  // namespace

Result<LocalHop> LocalHop::open(const std::string& token, std::int32_t my_index) {
  LocalHop hop;
  hop.token_ = token;
  hop.my_index_ = my_index;
  hop.socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UnixAddress name = address_of(token, my_index);
  if (!hop.socket_.valid() || bind(hop.socket_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0 ||
      listen(hop.socket_.get(), 1024) != 0) {
    return system_error("cannot listen");
  }
  return hop;
}

Result<std::vector<std::unique_ptr<Channel>>> LocalHop::connect(const std::vector<std::int32_t>& peers, int timeout_ms) {
  std::map<std::int32_t, Half> offered;
  std::map<std::int32_t, std::unique_ptr<Channel>> channels;
  for (const std::int32_t peer : peers) {
    if (peer >= my_index_) continue;
    Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const UnixAddress name = address_of(token_, peer);
    set_timeout(connection.get(), timeout_ms);
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0) {
      return system_error("cannot connect to a process of this host");
    }
    auto half = offer(std::move(connection), my_index_);
    if (!half) return half.error();
    offered.emplace(peer, std::move(*half));
  }
  std::size_t awaited =
      static_cast<std::size_t>(std::count_if(peers.begin(), peers.end(), [&](auto p) { return p > my_index_; }));
  set_timeout(socket_.get(), timeout_ms);
  while (awaited > 0) {
    Descriptor connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) return system_error("a process of this host did not connect");
    set_timeout(connection.get(), timeout_ms);
    if (!same_user(connection.get())) {
      log(LogLevel::kError, "local hop: turned away a process of another user");
      continue;
    }
    auto hello = receive_hello(connection.get());
    const bool wanted = hello && hello->first > my_index_ &&
                        std::find(peers.begin(), peers.end(), hello->first) != peers.end() &&
                        channels.find(hello->first) == channels.end();
    if (!wanted) {
      log(LogLevel::kError, "local hop: turned away a stranger");
      continue;
    }
    auto half = offer(std::move(connection), my_index_);
    if (!half) return half.error();
    auto channel = complete(std::move(*half), hello->second, hello->first);
    if (!channel) return channel.error();
    channels.emplace(hello->first, std::move(*channel));
    --awaited;
  }
  for (auto& [peer, half] : offered) {
    auto hello = receive_hello(half.socket.get());
    if (!hello) return hello.error();
    if (hello->first != peer) return Error{ErrorKind::kProtocol, "local hop: a peer answered under another index"};
    auto channel = complete(std::move(half), hello->second, peer);
    if (!channel) return channel.error();
    channels.emplace(peer, std::move(*channel));
  }
  socket_.reset();
  std::vector<std::unique_ptr<Channel>> ordered;
  for (const std::int32_t peer : peers) ordered.push_back(std::move(channels[peer]));
  return ordered;
}

}  // namespace impishim::wire
