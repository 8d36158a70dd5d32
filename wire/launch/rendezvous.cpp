#include "wire/launch/rendezvous.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "wire/channel/address.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint64_t kListenerToken = 0;
constexpr std::uint64_t kEndedToken = Poller::kWakeToken - 1;
/// Connections at once; a job has at most 32, the rest are strangers.
constexpr std::size_t kMaxConnections = 256;

void tell(const std::string& text) { fmt::print(stderr, "impirun: {}\n", text); }

/// What the clients are told. A machine without a network still serves itself.
Result<HostId> served_address(const RendezvousOptions& options) {
  if (options.this_machine) return parse_address("127.0.0.1");
  if (!options.address.empty()) return parse_address(options.address);
  auto address = address_for_others();
  return address ? address : parse_address("127.0.0.1");
}

/// Every address of this machine, IPv4 through IPv6's socket too; where the kernel has no IPv6, IPv4 alone.
Descriptor listening_socket(bool this_machine, SocketAddress& here, std::uint16_t port) {
  constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  if (!this_machine) {
    Descriptor both(socket(AF_INET6, kType, 0));
    const int off = 0;
    if (both.valid() && setsockopt(both.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) {
      sockaddr_in6 any{};
      any.sin6_family = AF_INET6;
      any.sin6_port = htons(port);
      std::memcpy(here.get(), &any, sizeof(any));
      here.size = sizeof(any);
      return both;
    }
  }
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  any.sin_addr.s_addr = htonl(this_machine ? INADDR_LOOPBACK : INADDR_ANY);
  std::memcpy(here.get(), &any, sizeof(any));
  here.size = sizeof(any);
  return Descriptor(socket(AF_INET, kType, 0));
}

}  // namespace

Rendezvous::Rendezvous(const RendezvousOptions& options)
    : options_(options), server_(options.clients, options.methods, options.preference) {}

Result<Rendezvous> Rendezvous::open(const RendezvousOptions& options) {
  Rendezvous rendezvous(options);
  auto listening = rendezvous.listen();
  if (!listening) return listening.error();
  return rendezvous;
}

Result<void> Rendezvous::listen() {
  const auto failed = [&](const char* call) {
    return Error{ErrorKind::kSystem, fmt::format("cannot serve on port {}: {}: {}", options_.port, call, std::strerror(errno))};
  };
  auto address = served_address(options_);
  if (!address) return address.error();
  SocketAddress here;
  listener_ = listening_socket(options_.this_machine, here, options_.port);
  if (!listener_.valid()) return failed("socket");
  const int on = 1;
  if (setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) return failed("setsockopt");
  if (bind(listener_.get(), here.get(), here.size) != 0) return failed("bind");
  if (::listen(listener_.get(), SOMAXCONN) != 0) return failed("listen");
  here.size = sizeof(here.storage);
  if (getsockname(listener_.get(), here.get(), &here.size) != 0) return failed("getsockname");
  address_ = address_text(*address, here.port());
  if (options_.ended_clients >= 0) {
    auto added = poller_.add(options_.ended_clients, EPOLLIN, kEndedToken);
    if (!added) return added;
  }
  return poller_.add(listener_.get(), EPOLLIN, kListenerToken);
}

/// For how long the job may still stay incomplete; less than 0 if without bound. When the time is over, the clients are told.
Result<std::chrono::microseconds> Rendezvous::time_left(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::microseconds;
  if (options_.timeout_ms < 0 || server_.all_joined()) return microseconds(-1);
  const auto left = std::chrono::ceil<microseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() > 0) return left;
  Error error{ErrorKind::kTimeout,
              fmt::format("not all clients came within {} s: {}", options_.timeout_ms / 1000, server_.progress())};
  server_.give_up(error.text);
  act();
  return error;
}

/// For how long it is still no news who has joined; less than 0 if that is told anyhow. When the time is over, it is told.
std::chrono::microseconds Rendezvous::time_to_speak() {
  using std::chrono::microseconds;
  if (options_.verbose || server_.all_joined()) return microseconds(-1);
  const auto left =
      std::chrono::ceil<microseconds>(started_ + std::chrono::milliseconds(kQuietMs) - std::chrono::steady_clock::now());
  if (left.count() > 0) return left;
  options_.verbose = true;
  tell(server_.progress());
  return microseconds(-1);
}

Result<void> Rendezvous::serve() {
  started_ = std::chrono::steady_clock::now();
  const auto deadline = started_ + std::chrono::milliseconds(options_.timeout_ms);
  std::array<epoll_event, 32> events{};
  while (!server_.finished() && !server_.nobody_came()) {
    auto left = time_left(deadline);
    if (!left) return left.error();
    const auto quiet = time_to_speak();
    const bool speak_first = quiet.count() >= 0 && (left->count() < 0 || quiet < *left);
    auto count = poller_.wait(speak_first ? quiet : *left, events);
    if (!count) return count.error();
    for (std::size_t i = 0; i < *count; ++i) {
      if (events[i].data.u64 == kListenerToken) {
        accept_one();
      } else if (events[i].data.u64 == kEndedToken) {
        read_ended_clients();
      } else {
        handle(static_cast<int>(events[i].data.u64), events[i].events);
      }
    }
    act();
    if (server_.failure()) return *server_.failure();
  }
  if (!server_.finished()) {
    tell(
        "no program has joined: all have ended without MPI_Init, or libimpishim.so was not loaded into them (a static binary, "
        "a "
        "script that clears LD_PRELOAD)");
  }
  return {};
}

void Rendezvous::read_ended_clients() {
  std::array<std::uint8_t, kMaxClients> clients{};
  const ssize_t count = read(options_.ended_clients, clients.data(), clients.size());
  for (ssize_t i = 0; i < count; ++i) server_.ended(clients[static_cast<std::size_t>(i)]);
}

/// Strangers make place for newcomers, the oldest first; clients never do.
bool Rendezvous::make_room() {
  if (connections_.size() < kMaxConnections) return true;
  const auto stranger = std::find_if(connections_.begin(), connections_.end(),
                                     [this](const auto& each) { return !server_.is_member(each.first); });
  if (stranger == connections_.end()) return false;
  const int id = stranger->first;
  server_.disconnected(id);
  drop(id);
  return true;
}

void Rendezvous::accept_one() {
  SocketAddress from;
  Descriptor socket(accept4(listener_.get(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) return;  // it has gone again
  if (!make_room()) return tell("turned away a connection: too many at once");
  const int id = next_id_++;
  auto added = poller_.add(socket.get(), EPOLLIN, static_cast<std::uint64_t>(id));
  if (!added) return tell(added.error().text);
  connections_[id].socket = std::move(socket);
  server_.connected(id, fmt::format("{} port {}", address_text(from.host()), from.port()));
}

void Rendezvous::handle(int id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if ((events & EPOLLOUT) != 0) write_to(id, found->second);
  if (connections_.count(id) != 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_from(id, found->second);
}

void Rendezvous::read_from(int id, Connection& connection) {
  std::array<std::byte, 65536> buffer{};
  const ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
  if (size > 0) {
    if (!connection.closing) server_.received(id, std::span(buffer).first(static_cast<std::size_t>(size)));
    return;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  server_.disconnected(id);
  drop(id);
}

void Rendezvous::write_to(int id, Connection& connection) {
  while (!connection.output.empty()) {
    const ssize_t size = send(connection.socket.get(), connection.output.data(), connection.output.size(), MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EAGAIN || errno == EINTR) break;
      server_.disconnected(id);
      return drop(id);
    }
    connection.output.erase(connection.output.begin(), connection.output.begin() + size);
  }
  if (connection.output.empty() && connection.closing) {
    // The end of our side carries the last words to the peer; dropping unread bytes at once could overtake them.
    shutdown(connection.socket.get(), SHUT_WR);
  }
  const std::uint32_t wanted = EPOLLIN | (connection.output.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  auto changed = poller_.modify(connection.socket.get(), wanted, static_cast<std::uint64_t>(id));
  if (!changed) tell(changed.error().text);
}

void Rendezvous::drop(int id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  auto removed = poller_.remove(found->second.socket.get());
  if (!removed) tell(removed.error().text);
  connections_.erase(found);
}

void Rendezvous::act() {
  for (ServerAction& action : server_.take_actions()) {
    if (action.kind == ServerAction::Kind::kTell) {
      if (!action.progress || options_.verbose) tell(action.text);
      continue;
    }
    const auto found = connections_.find(action.connection);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    if (action.kind == ServerAction::Kind::kSend) {
      connection.output.insert(connection.output.end(), action.bytes.begin(), action.bytes.end());
    } else {
      connection.closing = true;
    }
    write_to(action.connection, connection);
  }
}

}  // namespace impishim::wire
