// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/shared_memory_links.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/shared_memory_channel.hpp"
#include "wire/channel/stranger_report.hpp"
#include "wire/connect/process_name.hpp"
#include "wire/connect/unix_socket.hpp"
#include "wire/fabric/fabric.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

/// Both ends run the same library on the same machine, so host byte order suffices.
constexpr std::uint32_t kMagic = 0x494d5053;

struct Hello {
  std::uint32_t magic;
  std::int32_t index;
};

Error system_error(const std::string& what) {
  return Error{ErrorKind::kSystem, fmt::format("local hop: {}: {}", what, std::strerror(errno))};
}

/// Returns the peer's index and, if `with_ring`, the ring that it reads. The socket must be
/// readable. A hello arrives as a whole; anything else is an error.
Result<std::pair<std::int32_t, Descriptor>> receive_hello(int socket, bool with_ring) {
  Hello hello{};
  auto received = receive_with_descriptor(socket, std::as_writable_bytes(std::span(&hello, 1)));
  if (!received) return received.error();
  auto& [size, ring] = *received;
  if (size == 0) return Error{ErrorKind::kConnection, "it closed before it greeted"};
  if (size != sizeof(hello) || hello.magic != kMagic || ring.valid() != with_ring) {
    return Error{ErrorKind::kProtocol, "it greeted with garbage"};
  }
  return std::make_pair(hello.index, std::move(ring));
}

/// A connection with the ring that this process offers and, after the peer's hello, the ring of the
/// peer; or a connection without rings.
struct Connection {
  Descriptor socket;
  Ring in;
  Ring out;
};

Result<Connection> offer(Descriptor socket, std::int32_t my_index, bool with_ring) {
  Connection connection;
  const Hello hello{kMagic, my_index};
  const auto bytes = std::as_bytes(std::span(&hello, 1));
  if (with_ring) {
    Descriptor ring_descriptor;
    auto ring = Ring::create(ring_descriptor);
    if (!ring) return ring.error();
    connection.in = std::move(*ring);
    auto sent = send_with_descriptor(socket.get(), bytes, ring_descriptor);
    if (!sent)
      return Error{sent.error().kind, "local hop: cannot greet a peer: " + sent.error().text};
  } else if (send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) !=
             static_cast<ssize_t>(bytes.size())) {
    return system_error("cannot greet a peer");
  }
  connection.socket = std::move(socket);
  return connection;
}

/// Returns the name of the socket of the proc with this index.
using NameOf = std::function<std::string(std::int32_t index)>;

/// Connects the procs of a host. The proc with the higher index connects, as in the dance among
/// hosts. One loop waits for all procs, so a silent proc does not delay the others.
class Meeting {
 public:
  Meeting(NameOf name_of, const ProcessNamer& process, std::int32_t my_index, Descriptor listener,
          const std::vector<std::int32_t>& peers, bool with_rings, Clock::time_point deadline)
      : name_of_(std::move(name_of)),
        process_(process),
        my_index_(my_index),
        listener_(std::move(listener)),
        peers_(peers),
        with_rings_(with_rings),
        deadline_(deadline) {}

  /// Returns the connections in the order of the peers.
  Result<std::vector<Connection>> run() {
    for (const std::int32_t peer : peers_) {
      if (peer >= my_index_) continue;
      auto connection = connect_to(peer);
      if (!connection) return connection.error();
      offered_.emplace(peer, std::move(*connection));
    }
    while (complete_.size() < peers_.size()) {
      auto waited = wait_for_event();
      if (!waited) return waited.error();
    }
    if (const auto line = report_.due(Clock::time_point::max()))
      log(LogArea::kChannel, LogLevel::kError, "{}", *line);
    std::vector<Connection> ordered;
    for (const std::int32_t peer : peers_) ordered.push_back(std::move(complete_[peer]));
    return ordered;
  }

 private:
  [[nodiscard]] int ms_left() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

  [[nodiscard]] Result<Connection> connect_to(std::int32_t peer) const {
    auto connection = connect_unix(name_of_(peer), SOCK_STREAM, std::max(ms_left(), 1));
    if (!connection) {
      return Error{connection.error().kind,
                   fmt::format("local hop: {}: {}", process_(peer), connection.error().text)};
    }
    if (!same_user(connection->get())) {
      return Error{ErrorKind::kSystem,
                   fmt::format("local hop: {} belongs to another user", process_(peer))};
    }
    return offer(std::move(*connection), my_index_, with_rings_);
  }

  Result<void> wait_for_event() {
    std::vector<pollfd> descriptors = {{rest_.rests() ? -1 : listener_.get(), POLLIN, 0}};
    for (const auto& [peer, connection] : offered_)
      descriptors.push_back({connection.socket.get(), POLLIN, 0});
    for (const Descriptor& stranger : strangers_)
      descriptors.push_back({stranger.get(), POLLIN, 0});
    constexpr auto kRestMs = static_cast<int>(AcceptRest::kRest.count());
    const int wait_ms = rest_.trouble().empty() ? ms_left() : std::min(ms_left(), kRestMs);
    const int ready = poll(descriptors.data(), descriptors.size(), wait_ms);
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
      if (!greeted) turn_away("a connection: " + greeted.error().text);
      it = strangers_.erase(it);
    }
    return descriptors[0].revents != 0 ? accept_one() : Result<void>();
  }

  Result<void> take_answer(std::int32_t peer, Connection connection) {
    auto hello = receive_hello(connection.socket.get(), with_rings_);
    if (!hello)
      return Error{hello.error().kind,
                   fmt::format("local hop: process {}: {}", peer, hello.error().text)};
    if (hello->first != peer)
      return Error{ErrorKind::kProtocol, "local hop: a peer answered under another index"};
    return complete(peer, std::move(connection), hello->second);
  }

  Result<void> take_greeting(Descriptor socket) {
    auto hello = receive_hello(socket.get(), with_rings_);
    if (!hello) return hello.error();
    const std::int32_t peer = hello->first;
    if (peer <= my_index_ || std::find(peers_.begin(), peers_.end(), peer) == peers_.end() ||
        complete_.count(peer) > 0) {
      return Error{ErrorKind::kProtocol,
                   fmt::format("it claims to be process {}, which is not awaited", peer)};
    }
    auto connection = offer(std::move(socket), my_index_, with_rings_);
    if (!connection) return connection.error();
    return complete(peer, std::move(*connection), hello->second);
  }

  void turn_away(const std::string& who) {
    const auto line = report_.add("local hop: turned away " + who, Clock::now());
    if (line) log(LogArea::kChannel, LogLevel::kError, "{}", *line);
  }

  Result<void> accept_one() {
    Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!connection.valid()) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return {};
      if (AcceptRest::is_lack(errno)) {
        rest_.begin(errno, "local hop: ");
        return ms_left() == 0 ? missing() : Result<void>();
      }
      return system_error("cannot accept a connection");
    }
    rest_.accepted();
    if (!same_user(connection.get())) {
      turn_away("a process of another user");
      return {};
    }
    strangers_.push_back(std::move(connection));
    return {};
  }

  Result<void> complete(std::int32_t peer, Connection connection, const Descriptor& peer_ring) {
    if (with_rings_) {
      auto out = Ring::attach(peer_ring);
      if (!out) return out.error();
      connection.out = std::move(*out);
    }
    complete_.emplace(peer, std::move(connection));
    return {};
  }

  [[nodiscard]] Error missing() const {
    std::string names;
    for (const std::int32_t peer : peers_) {
      if (complete_.count(peer) == 0)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", process_(peer));
    }
    const std::string why = rest_.trouble().empty() ? "has it died?" : rest_.trouble();
    return Error{ErrorKind::kTimeout,
                 fmt::format("local hop: no connection in time with {}: {}", names, why)};
  }

  NameOf name_of_;
  const ProcessNamer& process_;
  std::int32_t my_index_;
  Descriptor listener_;
  const std::vector<std::int32_t>& peers_;
  bool with_rings_;
  Clock::time_point deadline_;
  std::map<std::int32_t, Connection> offered_;  // connected by this process, waiting for the answer
  std::vector<Descriptor> strangers_;           // accepted, waiting for the hello
  std::map<std::int32_t, Connection> complete_;
  AcceptRest rest_;
  StrangerReport report_;
};

}  // namespace

std::string SharedMemoryLinks::name_of(std::int32_t index) const {
  return fmt::format("impishim-{}-{}",
                     tokens_.empty() ? token_ : tokens_[static_cast<std::size_t>(index)], index);
}

Result<SharedMemoryLinks> SharedMemoryLinks::open(const std::string& token, std::int32_t my_index) {
  SharedMemoryLinks hop;
  hop.token_ = token;
  hop.my_index_ = my_index;
  auto listener = listen_unix(hop.name_of(my_index), SOCK_STREAM | SOCK_NONBLOCK);
  if (!listener) return Error{listener.error().kind, "local hop: " + listener.error().text};
  hop.socket_ = std::move(*listener);
  return hop;
}

Result<std::vector<std::unique_ptr<Channel>>> SharedMemoryLinks::connect(
    const std::vector<std::int32_t>& peers, int timeout_ms, LocalForm form,
    const ProcessNamer& process) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  const bool with_rings = form == LocalForm::kRings;
  const auto name = [this](std::int32_t index) { return name_of(index); };
  auto connections =
      Meeting(name, process, my_index_, std::move(socket_), peers, with_rings, deadline).run();
  if (!connections) return connections.error();
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<FabricLink> links;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    Connection& each = (*connections)[i];
    std::string name = process(peers[i]);
    if (with_rings) {
      channels.push_back(std::make_unique<SharedMemoryChannel>(
          std::move(each.in), std::move(each.out), std::move(each.socket), std::move(name)));
    } else {
      links.push_back({std::move(each.socket), std::move(name)});
    }
  }
  return with_rings ? Result(std::move(channels))
                    : make_fabric_channels(kLocalProvider, std::move(links), timeout_ms);
}

}  // namespace impishim::wire
