#include "wire/channel/dance.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/log.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

/// How long an accepted connection may take to say who it is.
constexpr auto kIntroductionTime = std::chrono::seconds(10);
/// Pause before a refused connection is tried again.
constexpr int kRetryMs = 50;

/// A connection to a lower host under way.
struct Outgoing {
  Descriptor socket;
  Clock::time_point retry_at;
  int last_error = 0;  ///< why the latest attempt failed
};

/// A connection that has not said yet which host it is.
struct Stranger {
  Descriptor socket;
  SocketAddress from;
  std::array<std::byte, 4> rank{};
  std::size_t received = 0;
  Clock::time_point deadline;
};

class Dance {
 public:
  Dance(const JobMap& job, std::int32_t my_host, HostListener listener, const ConnectionTaker& take)
      : job_(job), my_host_(my_host), listener_(std::move(listener)), take_(take) {}

  Result<void> run(int timeout_ms) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    for (std::int32_t host = 0; host < my_host_; ++host) outgoing_.emplace(host, Outgoing{});
    while (connected_.size() + 1 < job_.hosts().size()) {
      for (auto& [host, connection] : outgoing_) {
        if (connection.socket.valid() || Clock::now() < connection.retry_at) continue;
        auto started = start_connecting(host, connection);
        if (!started) return started.error();
      }
      if (Clock::now() >= deadline) return missing();
      auto waited = wait_for_event();
      if (!waited) return waited.error();
    }
    for (const Stranger& stranger : strangers_) turn_away(stranger, "every host is connected");
    return {};
  }

 private:
  Result<void> start_connecting(std::int32_t host, Outgoing& connection) {
    const Host& there = job_.hosts()[static_cast<std::size_t>(host)];
    const Host& here = job_.hosts()[static_cast<std::size_t>(my_host_)];
    const SocketAddress to = SocketAddress::of(there.address, there.port);
    connection.socket = Descriptor(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!connection.socket.valid()) return Error{ErrorKind::kSystem, fmt::format("no socket: {}", std::strerror(errno))};
    // The acceptor knows us by the address that we advertised.
    SocketAddress from = SocketAddress::of(here.address, 0);
    if (from.family() == to.family() && bind(connection.socket.get(), from.get(), from.size) != 0) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("cannot connect from {}, the advertised address: {}; set IMPISHIM_HOST_ADDRESS "
                               "to an address of this machine",
                               address_text(here.address), std::strerror(errno))};
    }
    if (::connect(connection.socket.get(), to.get(), to.size) != 0 && errno != EINPROGRESS) {
      retry(connection, errno);
    }
    return {};
  }

  static void retry(Outgoing& connection, int error) {
    connection.last_error = error;
    connection.socket.reset();
    connection.retry_at = Clock::now() + std::chrono::milliseconds(kRetryMs);
  }

  Result<void> wait_for_event() {
    std::vector<pollfd> descriptors = {{listener_.descriptor(), POLLIN, 0}};
    for (auto& [host, connection] : outgoing_) descriptors.push_back({connection.socket.get(), POLLOUT, 0});
    for (auto& stranger : strangers_) descriptors.push_back({stranger.socket.get(), POLLIN, 0});
    if (poll(descriptors.data(), descriptors.size(), kRetryMs) < 0 && errno != EINTR) {
      return Error{ErrorKind::kSystem, fmt::format("poll failed: {}", std::strerror(errno))};
    }
    std::size_t at = 1;
    for (auto it = outgoing_.begin(); it != outgoing_.end(); ++at) {
      const bool ready = descriptors[at].revents != 0 && it->second.socket.valid();
      if (ready && finish_connecting(it->first, it->second))
        it = outgoing_.erase(it);
      else
        ++it;
    }
    for (auto it = strangers_.begin(); it != strangers_.end(); ++at) {
      const bool over = descriptors[at].revents != 0 ? listen_to(*it) : turn_away_if_silent(*it);
      if (over)
        it = strangers_.erase(it);
      else
        ++it;
    }
    if (error_) return *error_;
    return (descriptors[0].revents & POLLIN) != 0 ? accept_one() : Result<void>();
  }

  void hand_on(std::int32_t host, Descriptor socket) {
    connected_.insert(host);
    if (error_) return;
    auto taken = take_(host, std::move(socket));
    if (!taken) error_ = taken.error();
  }

  /// True: connected and introduced.
  bool finish_connecting(std::int32_t host, Outgoing& connection) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    std::array<std::byte, 4> rank;
    store_big_endian(rank.data(), my_host_);
    if (error == 0 && send(connection.socket.get(), rank.data(), rank.size(), MSG_NOSIGNAL) < 0) error = errno;
    if (error != 0) {
      log(LogLevel::kDebug, "{}: {}", host_name(job_, host), std::strerror(error));
      retry(connection, error);
      return false;
    }
    hand_on(host, std::move(connection.socket));
    return true;
  }

  Result<void> accept_one() {
    Stranger stranger;
    stranger.socket =
        Descriptor(accept4(listener_.descriptor(), stranger.from.get(), &stranger.from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!stranger.socket.valid()) {
      // Out of descriptors or memory: waiting would not cure it.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        return Error{ErrorKind::kSystem, fmt::format("cannot accept a connection: {}; see ulimit -n", std::strerror(errno))};
      }
      return {};
    }
    stranger.deadline = Clock::now() + kIntroductionTime;
    strangers_.push_back(std::move(stranger));
    return {};
  }

  bool turn_away_if_silent(const Stranger& stranger) {
    if (Clock::now() < stranger.deadline) return false;
    return turn_away(stranger, "it did not say which host it is");
  }

  static bool turn_away(const Stranger& stranger, const std::string& reason) {
    log(LogLevel::kError, "turned away a connection from {} port {}: {}", address_text(stranger.from.host()),
        stranger.from.port(), reason);
    return true;
  }

  /// True: done with this connection, whether it became a channel or not.
  bool listen_to(Stranger& stranger) {
    const ssize_t size = recv(stranger.socket.get(), stranger.rank.data() + stranger.received,
                              stranger.rank.size() - stranger.received, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size <= 0) return turn_away(stranger, "it closed before saying which host it is");
    stranger.received += static_cast<std::size_t>(size);
    if (stranger.received < stranger.rank.size()) return false;
    const auto host = load_big_endian<std::int32_t>(stranger.rank.data());
    if (host <= my_host_ || host >= static_cast<std::int32_t>(job_.hosts().size())) {
      return turn_away(stranger, fmt::format("it claims to be host {}, which does not connect here", host));
    }
    if (!same_address(stranger.from.host(), job_.hosts()[static_cast<std::size_t>(host)].address)) {
      return turn_away(stranger, fmt::format("it claims to be {}", host_name(job_, host)));
    }
    if (connected_.count(host) != 0) return turn_away(stranger, fmt::format("host {} is connected already", host));
    hand_on(host, std::move(stranger.socket));
    return true;
  }

  Error missing() const {
    std::string names;
    for (std::int32_t host = 0; host < static_cast<std::int32_t>(job_.hosts().size()); ++host) {
      if (host == my_host_ || connected_.count(host) != 0) continue;
      names += (names.empty() ? "" : ", ") + host_name(job_, host);
      const auto tried = outgoing_.find(host);
      if (tried != outgoing_.end() && tried->second.last_error != 0) {
        names += fmt::format(": {}", std::strerror(tried->second.last_error));
      }
    }
    return Error{ErrorKind::kTimeout,
                 fmt::format("no connection with {} in time: is its address reachable from here, and its port open?", names)};
  }

  const JobMap& job_;
  std::int32_t my_host_;
  HostListener listener_;
  std::map<std::int32_t, Outgoing> outgoing_;
  std::vector<Stranger> strangers_;
  std::set<std::int32_t> connected_;
  const ConnectionTaker& take_;
  std::optional<Error> error_;  ///< of take_
};

}  // namespace

Result<HostListener> HostListener::open(const HostId& address) {
  HostListener listener;
  SocketAddress here = SocketAddress::of(address, 0);
  listener.socket_ = Descriptor(socket(here.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.socket_.valid() || bind(listener.socket_.get(), here.get(), here.size) != 0 ||
      listen(listener.socket_.get(), 1024) != 0 || getsockname(listener.socket_.get(), here.get(), &here.size) != 0) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("cannot listen on {}: {}; set IMPISHIM_HOST_ADDRESS to an address of this machine",
                             address_text(address), std::strerror(errno))};
  }
  listener.port_ = here.port();
  return listener;
}

Result<void> dance(const JobMap& job, std::int32_t my_host, HostListener listener, const ConnectionTaker& take,
                   int timeout_ms) {
  return Dance(job, my_host, std::move(listener), take).run(timeout_ms);
}

std::string host_name(const JobMap& job, std::int32_t host) {
  const Host& it = job.hosts()[static_cast<std::size_t>(host)];
  const std::string gateway = it.gateway < 0 ? "" : fmt::format(", gateway rank {}", it.first_proc + it.gateway);
  return fmt::format("host {} (system {}, {} port {}{})", host, it.client, address_text(it.address), it.port, gateway);
}

}  // namespace impishim::wire
