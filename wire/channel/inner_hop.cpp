#include "wire/channel/inner_hop.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "wire/base/bytes.hpp"
#include "wire/base/log.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/host_channels.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMagic = 0x494d5047;
/// A machine with more addresses than this offers the first ones.
constexpr std::size_t kMaxAddresses = 16;
/// How long an accepted connection may take to say who it is.
constexpr auto kIntroductionTime = std::chrono::seconds(10);
/// How often a gateway asks whether it waits in vain.
constexpr auto kAskingPause = std::chrono::milliseconds(100);

/// What each side says: the magic number, the proc's index, the side's secret.
constexpr std::size_t kGreetingSize = 16;
using Greeting = std::array<std::byte, kGreetingSize>;

Greeting greeting(std::int32_t index, std::uint64_t secret) {
  Greeting bytes{};
  store_big_endian(bytes.data(), kMagic);
  store_big_endian(bytes.data() + 4, index);
  store_big_endian(bytes.data() + 8, secret);
  return bytes;
}

Error system_error(const std::string& what) {
  return {ErrorKind::kSystem, fmt::format("links to the gateway: {}: {}", what, std::strerror(errno))};
}

int ms_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

/// A connection whose greeting is arriving.
struct Greeted {
  Descriptor socket;
  Greeting bytes{};
  std::size_t received = 0;

  enum class State : std::uint8_t { kIncomplete, kComplete, kEnded };
  State read() {
    const ssize_t size = recv(socket.get(), bytes.data() + received, bytes.size() - received, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return State::kIncomplete;
    if (size <= 0) return State::kEnded;
    received += static_cast<std::size_t>(size);
    return received == bytes.size() ? State::kComplete : State::kIncomplete;
  }
};

bool say(const Descriptor& socket, const Greeting& bytes) {
  return send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

/// The gateway waiting for its procs.
class Reception {
 public:
  Reception(const Descriptor& listener, const GatewayOffer& offer, const std::vector<std::int32_t>& indices)
      : listener_(listener), offer_(offer), indices_(indices) {}

  Result<std::vector<Descriptor>> run(Clock::time_point deadline, const std::function<std::optional<Error>()>& given_up) {
    while (arrived_.size() < indices_.size()) {
      if (auto error = given_up()) return *error;
      if (Clock::now() >= deadline) return missing();
      auto waited = wait_for_event(std::min(deadline, Clock::now() + kAskingPause));
      if (!waited) return waited.error();
    }
    std::vector<Descriptor> ordered;
    for (const std::int32_t index : indices_) ordered.push_back(std::move(arrived_[index]));
    return ordered;
  }

 private:
  struct Stranger : Greeted {
    SocketAddress from;
    Clock::time_point deadline;
  };

  Result<void> wait_for_event(Clock::time_point deadline) {
    std::vector<pollfd> descriptors = {{listener_.get(), POLLIN, 0}};
    for (const Stranger& each : strangers_) {
      descriptors.push_back({each.socket.get(), POLLIN, 0});
    }
    // One more than is left, lest the time that remains be rounded away.
    if (poll(descriptors.data(), descriptors.size(), ms_until(deadline) + 1) < 0 && errno != EINTR) {
      return system_error("poll failed");
    }
    std::size_t at = 1;
    for (auto it = strangers_.begin(); it != strangers_.end(); ++at) {
      const bool over = descriptors[at].revents != 0 ? listen_to(*it) : turn_away_if_silent(*it);
      it = over ? strangers_.erase(it) : it + 1;
    }
    return (descriptors[0].revents & POLLIN) != 0 ? accept_one() : Result<void>();
  }

  Result<void> accept_one() {
    Stranger stranger;
    stranger.socket =
        Descriptor(accept4(listener_.get(), stranger.from.get(), &stranger.from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!stranger.socket.valid()) {
      // Out of descriptors or memory: waiting would not cure it.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return system_error("see ulimit -n");
      return {};
    }
    stranger.deadline = Clock::now() + kIntroductionTime;
    strangers_.push_back(std::move(stranger));
    return {};
  }

  static bool turn_away(const Stranger& stranger, LogLevel level, const std::string& reason) {
    log(level, "links to the gateway: turned away a connection from {}: {}",
        address_text(stranger.from.host(), stranger.from.port()), reason);
    return true;
  }

  static bool turn_away_if_silent(const Stranger& stranger) {
    return Clock::now() >= stranger.deadline && turn_away(stranger, LogLevel::kError, "it did not say who it is");
  }

  /// True: done with this connection, whether it is one of those awaited or not.
  bool listen_to(Stranger& stranger) {
    const auto state = stranger.read();
    if (state == Greeted::State::kIncomplete) return false;
    // A proc that has been answered on one address of this machine closes its attempts at the others.
    if (state == Greeted::State::kEnded) return turn_away(stranger, LogLevel::kDebug, "it closed before saying who it is");
    const auto index = load_big_endian<std::int32_t>(stranger.bytes.data() + 4);
    if (stranger.bytes != greeting(index, offer_.secrets[0])) {
      return turn_away(stranger, LogLevel::kError, "it is no process of this job");
    }
    if (arrived_.count(index) != 0) return turn_away(stranger, LogLevel::kDebug, "its process is connected already");
    if (std::find(indices_.begin(), indices_.end(), index) == indices_.end()) {
      return turn_away(stranger, LogLevel::kError, fmt::format("it claims to be process {}, which is not awaited", index));
    }
    if (!say(stranger.socket, greeting(index, offer_.secrets[1]))) {
      return turn_away(stranger, LogLevel::kDebug, "it does not wait for an answer");
    }
    arrived_.emplace(index, std::move(stranger.socket));
    return true;
  }

  [[nodiscard]] Error missing() const {
    std::string names;
    for (const std::int32_t index : indices_) {
      if (arrived_.count(index) == 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", index);
    }
    return Error{ErrorKind::kTimeout,
                 fmt::format("no connection in time from process {} of this host to its gateway, this process: can it reach "
                             "this machine? IMPISHIM_GATEWAY_ADDRESS names the address on the system's own network",
                             names)};
  }

  const Descriptor& listener_;
  const GatewayOffer& offer_;
  const std::vector<std::int32_t>& indices_;
  std::vector<Stranger> strangers_;
  std::map<std::int32_t, Descriptor> arrived_;
};

/// A proc trying the addresses of its gateway.
class Attempts {
 public:
  Attempts(const GatewayOffer& offer, std::int32_t my_index) : offer_(offer), my_index_(my_index) {
    for (const HostId& address : offer.addresses) start(address);
  }

  Result<Descriptor> run(Clock::time_point deadline) {
    while (std::any_of(attempts_.begin(), attempts_.end(), [](const Attempt& each) { return each.socket.valid(); })) {
      if (Clock::now() >= deadline) {
        for (Attempt& each : attempts_) give_up(each, "no answer in time");
        break;
      }
      std::vector<pollfd> descriptors;
      for (const Attempt& each : attempts_) {
        descriptors.push_back({each.socket.get(), static_cast<short>(each.has_greeted ? POLLIN : POLLOUT), 0});
      }
      if (poll(descriptors.data(), descriptors.size(), ms_until(deadline) + 1) < 0 && errno != EINTR) {
        return system_error("poll failed");
      }
      for (std::size_t i = 0; i < attempts_.size(); ++i) {
        if (attempts_[i].socket.valid() && descriptors[i].revents != 0 && answered(attempts_[i])) {
          return std::move(attempts_[i].socket);
        }
      }
    }
    return none();
  }

 private:
  struct Attempt : Greeted {
    HostId address{};
    bool has_greeted = false;
    std::string failure;
  };

  static void give_up(Attempt& attempt, const std::string& reason) {
    if (!attempt.socket.valid()) return;
    attempt.socket.reset();
    attempt.failure = reason;
  }

  void start(const HostId& address) {
    Attempt attempt;
    attempt.address = address;
    const SocketAddress there = SocketAddress::of(address, offer_.port);
    attempt.socket = Descriptor(socket(there.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!attempt.socket.valid()) {
      attempt.failure = std::strerror(errno);
    } else if (::connect(attempt.socket.get(), there.get(), there.size) != 0 && errno != EINPROGRESS) {
      give_up(attempt, std::strerror(errno));
    }
    attempts_.push_back(std::move(attempt));
  }

  /// True: this is the connection.
  bool answered(Attempt& attempt) {
    if (!attempt.has_greeted) {
      int error = 0;
      socklen_t size = sizeof(error);
      getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      if (error == 0 && !say(attempt.socket, greeting(my_index_, offer_.secrets[0]))) error = errno;
      attempt.has_greeted = true;
      if (error != 0) give_up(attempt, std::strerror(error));
      return false;
    }
    const auto state = attempt.read();
    if (state == Greeted::State::kIncomplete) return false;
    if (state == Greeted::State::kComplete && attempt.bytes == greeting(my_index_, offer_.secrets[1])) return true;
    turned_away_ = turned_away_ || state == Greeted::State::kEnded;
    give_up(attempt, state == Greeted::State::kEnded ? "it turned this process away" : "somebody else is there");
    return false;
  }

  [[nodiscard]] Error none() const {
    std::string tried;
    for (const Attempt& each : attempts_) {
      tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", address_text(each.address, offer_.port), each.failure);
    }
    return Error{
        turned_away_ ? ErrorKind::kAborted : ErrorKind::kConnection,
        fmt::format("the gateway of this host cannot be reached at {}: set IMPISHIM_GATEWAY_ADDRESS on the gateway to its "
                    "address on the system's own network",
                    tried)};
  }

  const GatewayOffer& offer_;
  std::int32_t my_index_;
  std::vector<Attempt> attempts_;
  bool turned_away_ = false;  ///< the gateway was reached, and has given up
};

/// Bound to `address`, or to every one of the machine if there is none; IPv6 takes IPv4 along where the machine has it.
Result<Descriptor> listening_socket(const std::optional<HostId>& address, std::uint16_t& port) {
  std::vector<SocketAddress> candidates;
  if (address) {
    candidates.push_back(SocketAddress::of(*address, 0));
  } else {
    SocketAddress any6;
    any6.storage.ss_family = AF_INET6;
    any6.size = sizeof(sockaddr_in6);
    SocketAddress any4;
    any4.storage.ss_family = AF_INET;
    any4.size = sizeof(sockaddr_in);
    candidates = {any6, any4};
  }
  for (SocketAddress& here : candidates) {
    Descriptor listener(socket(here.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener.valid()) continue;
    const int both = 0;
    if (here.family() == AF_INET6 && !address) setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both));
    if (bind(listener.get(), here.get(), here.size) != 0 || listen(listener.get(), 1024) != 0 ||
        getsockname(listener.get(), here.get(), &here.size) != 0) {
      continue;
    }
    port = here.port();
    return listener;
  }
  return Error{ErrorKind::kConfiguration,
               fmt::format("a gateway cannot listen on {}: {}; set IMPISHIM_GATEWAY_ADDRESS to an address of this machine",
                           address ? address_text(*address) : "any address", std::strerror(errno))};
}

}  // namespace

std::vector<std::byte> GatewayOffer::encode() const {
  ByteWriter out;
  out.put(port);
  for (const std::uint64_t secret : secrets) out.put(secret);
  for (const HostId& address : addresses) out.put_bytes(address);
  return out.take();
}

Result<GatewayOffer> GatewayOffer::decode(std::span<const std::byte> bytes) {
  const Error bad{ErrorKind::kProtocol, "a gateway's offer that is cut or garbled"};
  ByteReader in(bytes);
  GatewayOffer offer;
  const auto port = in.get<std::uint16_t>();
  if (!port) return bad;
  offer.port = *port;
  for (std::uint64_t& secret : offer.secrets) {
    const auto value = in.get<std::uint64_t>();
    if (!value) return bad;
    secret = *value;
  }
  if (in.remaining() == 0 || in.remaining() % sizeof(HostId) != 0) return bad;
  while (const auto address = in.get_bytes(sizeof(HostId))) {
    offer.addresses.emplace_back();
    std::copy(address->begin(), address->end(), offer.addresses.back().begin());
  }
  return offer;
}

Result<InnerListener> InnerListener::open(const std::optional<HostId>& address) {
  InnerListener listener;
  if (address) {
    listener.offer_.addresses = {*address};
  } else {
    auto addresses = addresses_of_interfaces();
    if (!addresses) return addresses.error();
    listener.offer_.addresses = std::move(*addresses);
  }
  if (listener.offer_.addresses.empty()) {
    return Error{ErrorKind::kConfiguration,
                 "the gateway's machine has no network interface but the loopback, so that processes on other nodes cannot "
                 "reach it; IMPISHIM_GATEWAY_ADDRESS names an address that they can"};
  }
  listener.offer_.addresses.resize(std::min(listener.offer_.addresses.size(), kMaxAddresses));
  auto socket = listening_socket(address, listener.offer_.port);
  if (!socket) return socket.error();
  listener.socket_ = std::move(*socket);
  auto& secrets = listener.offer_.secrets;
  if (getrandom(secrets.data(), sizeof(secrets), 0) != sizeof(secrets)) return system_error("no random numbers");
  return listener;
}

Result<std::vector<Descriptor>> InnerListener::accept(const std::vector<std::int32_t>& indices, int timeout_ms,
                                                      const std::function<std::optional<Error>()>& given_up) {
  const Descriptor listener = std::move(socket_);
  return Reception(listener, offer_, indices).run(Clock::now() + std::chrono::milliseconds(timeout_ms), given_up);
}

Result<Descriptor> connect_to_gateway(const GatewayOffer& offer, std::int32_t my_index, int timeout_ms) {
  return Attempts(offer, my_index).run(Clock::now() + std::chrono::milliseconds(timeout_ms));
}

Result<std::vector<std::unique_ptr<Channel>>> make_inner_channels(const Client& system, std::vector<FabricLink> links,
                                                                  int timeout_ms) {
  for (FabricLink& link : links) {
    SocketAddress there;
    if (getpeername(link.socket.get(), there.get(), &there.size) == 0) {
      link.peer_name += fmt::format(" ({})", address_text(there.host(), there.port()));
    }
  }
  if (const std::string provider = common_fabric(system, system); !provider.empty()) {
    return make_fabric_channels(provider, std::move(links), timeout_ms,
                                system.fabric_required ? SocketFallback() : SocketFallback(over_socket));
  }
  std::vector<std::unique_ptr<Channel>> channels;
  for (FabricLink& link : links) channels.push_back(over_socket(std::move(link)));
  return channels;
}

}  // namespace impishim::wire
