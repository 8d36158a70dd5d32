#include "wire/channel/local_hop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "wire/base/log.hpp"
#include "wire/channel/local_channel.hpp"
#include "wire/channel/unix_socket.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMagic = 0x494d5053;  // both ends run the same library on the same machine: host order will do

struct Hello {
  std::uint32_t magic;
  std::int32_t index;
};

std::string name_of(const std::string& token, std::int32_t index) { return fmt::format("impishim-{}-{}", token, index); }

Error system_error(const std::string& what) {
  return Error{ErrorKind::kSystem, fmt::format("local hop: {}: {}", what, std::strerror(errno))};
}

/// The peer's index and the ring that it reads. The socket is readable: a greeting comes whole or is none.
Result<std::pair<std::int32_t, Descriptor>> receive_hello(int socket) {
  Hello hello{};
  auto received = receive_with_descriptor(socket, std::as_writable_bytes(std::span(&hello, 1)));
  if (!received) return received.error();
  auto& [size, ring] = *received;
  if (size == 0) return Error{ErrorKind::kConnection, "it closed before it greeted"};
  if (size != sizeof(hello) || hello.magic != kMagic || !ring.valid()) {
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
  const Hello hello{kMagic, my_index};
  auto sent = send_with_descriptor(socket.get(), std::as_bytes(std::span(&hello, 1)), ring_descriptor);
  if (!sent) return Error{sent.error().kind, "local hop: cannot greet a peer: " + sent.error().text};
  half.socket = std::move(socket);
  half.in = std::move(*ring);
  return half;
}

/// The procs of a host finding each other: those with a higher index connect, as in the dance among hosts. One loop awaits all
/// of them, so that nobody who stays silent delays the others.
class Meeting {
 public:
  Meeting(const std::string& token, std::int32_t my_index, Descriptor listener, const std::vector<std::int32_t>& peers,
          std::int32_t gateway, Clock::time_point deadline)
      : token_(token),
        my_index_(my_index),
        listener_(std::move(listener)),
        peers_(peers),
        gateway_(gateway),
        deadline_(deadline) {}

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
    auto connection = connect_unix(name_of(token_, peer), SOCK_STREAM, std::max(ms_left(), 1));
    if (!connection) {
      return Error{connection.error().kind,
                   fmt::format("local hop: process {} of this host: {}", peer, connection.error().text)};
    }
    if (!same_user(connection->get())) {
      return Error{ErrorKind::kSystem, fmt::format("local hop: process {} of this host belongs to another user", peer)};
    }
    return offer(std::move(*connection), my_index_);
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
    channels_.emplace(peer, std::make_unique<SharedMemoryChannel>(
                                std::move(half.in), std::move(*out), std::move(half.socket),
                                fmt::format("process {} of this host{}", peer, peer == gateway_ ? ", its gateway" : "")));
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
  std::int32_t gateway_;
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
  auto listener = listen_unix(name_of(token, my_index), SOCK_STREAM | SOCK_NONBLOCK);
  if (!listener) return Error{listener.error().kind, "local hop: " + listener.error().text};
  hop.socket_ = std::move(*listener);
  return hop;
}

Result<std::vector<std::unique_ptr<Channel>>> LocalHop::connect(const std::vector<std::int32_t>& peers, int timeout_ms,
                                                                std::int32_t gateway) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  return Meeting(token_, my_index_, std::move(socket_), peers, gateway, deadline).run();
}

}  // namespace impishim::wire
