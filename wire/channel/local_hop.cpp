#include "wire/channel/local_hop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <map>

#include "wire/base/log.hpp"
#include "wire/channel/local_channel.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

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

Error system_error(const std::string& what) {
  return Error{ErrorKind::kSystem, fmt::format("local hop: {}: {}", what, std::strerror(errno))};
}

void set_send_timeout(int socket, int timeout_ms) {
  const timeval timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1000L};
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

/// The peer's index and the ring that it reads. The socket is readable: a greeting comes whole or is none.
Result<std::pair<std::int32_t, Descriptor>> receive_hello(int socket) {
  Hello hello{};
  iovec piece{&hello, sizeof(hello)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  // Room for one descriptor and no more: padding would let a second one in, which nobody would close.
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  Descriptor ring;
  const cmsghdr* header = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    ring = Descriptor(fd);
  }
  if (size < 0) return system_error("no greeting from a peer");
  if (size == 0) return Error{ErrorKind::kConnection, "it closed before it greeted"};
  if (size != static_cast<ssize_t>(sizeof(hello)) || hello.magic != kMagic || !ring.valid()) {
    return Error{ErrorKind::kProtocol, "it greeted with garbage"};
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

/// The procs of a host finding each other: those with a higher index connect, as in the dance among hosts. One loop awaits all
/// of them, so that nobody who stays silent delays the others.
class Meeting {
 public:
  Meeting(const std::string& token, std::int32_t my_index, Descriptor listener, const std::vector<std::int32_t>& peers,
          Clock::time_point deadline)
      : token_(token), my_index_(my_index), listener_(std::move(listener)), peers_(peers), deadline_(deadline) {}

  Result<std::vector<std::unique_ptr<Channel>>> run() {
    for (const std::int32_t peer : peers_) {
      if (peer >= my_index_) continue;
      auto half = connect_to(peer);
      if (!half) return half.error();
      offered_.emplace(peer, std::move(*half));
    }
    while (channels_.size() < peers_.size()) {
      auto waited = wait_for_event();
      if (!waited) return waited.error();
    }
    std::vector<std::unique_ptr<Channel>> ordered;
    for (const std::int32_t peer : peers_) ordered.push_back(std::move(channels_[peer]));
    return ordered;
  }

 private:
  [[nodiscard]] int ms_left() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

  [[nodiscard]] Result<Half> connect_to(std::int32_t peer) const {
    Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const UnixAddress name = address_of(token_, peer);
    // Blocks while the peer's queue of connections is full.
    set_send_timeout(connection.get(), std::max(ms_left(), 1));
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0) {
      return system_error(fmt::format("cannot connect to process {} of this host", peer));
    }
    if (!same_user(connection.get())) {
      return Error{ErrorKind::kSystem, fmt::format("local hop: process {} of this host belongs to another user", peer)};
    }
    return offer(std::move(connection), my_index_);
  }

  Result<void> wait_for_event() {
    std::vector<pollfd> descriptors = {{listener_.get(), POLLIN, 0}};
    for (const auto& [peer, half] : offered_) descriptors.push_back({half.socket.get(), POLLIN, 0});
    for (const Descriptor& stranger : strangers_) descriptors.push_back({stranger.get(), POLLIN, 0});
    const int ready = poll(descriptors.data(), descriptors.size(), ms_left());
    if (ready < 0 && errno != EINTR) return system_error("poll failed");
    if (ready <= 0) return ms_left() == 0 ? missing() : Result<void>();
    std::size_t at = 1;
    for (auto it = offered_.begin(); it != offered_.end(); ++at) {
      if (descriptors[at].revents == 0) {
        ++it;
        continue;
      }
      auto answered = take_answer(it->first, std::move(it->second));
      if (!answered) return answered.error();
      it = offered_.erase(it);
    }
    for (auto it = strangers_.begin(); it != strangers_.end(); ++at) {
      if (descriptors[at].revents == 0) {
        ++it;
        continue;
      }
      auto greeted = take_greeting(std::move(*it));
      if (!greeted) log(LogLevel::kError, "local hop: turned away a connection: {}", greeted.error().text);
      it = strangers_.erase(it);
    }
    return descriptors[0].revents != 0 ? accept_one() : Result<void>();
  }

  Result<void> take_answer(std::int32_t peer, Half half) {
    auto hello = receive_hello(half.socket.get());
    if (!hello) return Error{hello.error().kind, fmt::format("local hop: process {}: {}", peer, hello.error().text)};
    if (hello->first != peer) return Error{ErrorKind::kProtocol, "local hop: a peer answered under another index"};
    return complete(peer, std::move(half), hello->second);
  }

  Result<void> take_greeting(Descriptor connection) {
    auto hello = receive_hello(connection.get());
    if (!hello) return hello.error();
    const std::int32_t peer = hello->first;
    if (peer <= my_index_ || std::find(peers_.begin(), peers_.end(), peer) == peers_.end() || channels_.count(peer) > 0) {
      return Error{ErrorKind::kProtocol, fmt::format("it claims to be process {}, which is not awaited", peer)};
    }
    auto half = offer(std::move(connection), my_index_);
    if (!half) return half.error();
    return complete(peer, std::move(*half), hello->second);
  }

  Result<void> accept_one() {
    Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return {};
      return system_error("cannot accept a connection");
    }
    if (!same_user(connection.get())) {
      log(LogLevel::kError, "local hop: turned away a process of another user");
      return {};
    }
    strangers_.push_back(std::move(connection));
    return {};
  }

  Result<void> complete(std::int32_t peer, Half half, const Descriptor& peer_ring) {
    auto out = Ring::attach(peer_ring);
    if (!out) return out.error();
    channels_.emplace(peer, std::make_unique<SharedMemoryChannel>(std::move(half.in), std::move(*out), std::move(half.socket),
                                                                  fmt::format("process {} of this host", peer)));
    return {};
  }

  [[nodiscard]] Error missing() const {
    std::string names;
    for (const std::int32_t peer : peers_) {
      if (channels_.count(peer) == 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", peer);
    }
    return Error{ErrorKind::kTimeout,
                 fmt::format("local hop: no connection in time with process {} of this host: has it died?", names)};
  }

  const std::string& token_;
  std::int32_t my_index_;
  Descriptor listener_;
  const std::vector<std::int32_t>& peers_;
  Clock::time_point deadline_;
  std::map<std::int32_t, Half> offered_;  // connected by us, awaiting the answer
  std::vector<Descriptor> strangers_;     // accepted, awaiting the greeting
  std::map<std::int32_t, std::unique_ptr<Channel>> channels_;
};

}  // namespace

Result<LocalHop> LocalHop::open(const std::string& token, std::int32_t my_index) {
  LocalHop hop;
  hop.token_ = token;
  hop.my_index_ = my_index;
  hop.socket_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const UnixAddress name = address_of(token, my_index);
  if (!hop.socket_.valid() || bind(hop.socket_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0 ||
      listen(hop.socket_.get(), 1024) != 0) {
    return system_error("cannot listen");
  }
  return hop;
}

Result<std::vector<std::unique_ptr<Channel>>> LocalHop::connect(const std::vector<std::int32_t>& peers, int timeout_ms) {
  return Meeting(token_, my_index_, std::move(socket_), peers, Clock::now() + std::chrono::milliseconds(timeout_ms)).run();
}

}  // namespace impishim::wire
