// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/rendezvous.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/keepalive.hpp"
#include "wire/channel/poller.hpp"
#include "wire/packet/packet.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/relay/relay_service.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/startup/startup_server.hpp"
#include "wire/tls/tls_session.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::wire {
namespace {

constexpr std::uint64_t kListenerToken = 0;
constexpr std::uint64_t kEndedToken = Poller::kWakeToken - 1;
constexpr std::uint64_t kRelayEventToken = Poller::kWakeToken - 2;
/// Limit of simultaneous connections. A job has at most 32, and the others are strangers. The limit
/// is below the usual limit of 1024 descriptors.
constexpr std::size_t kMaxConnections = 512;
/// Bytes that are read at a time from a connection that has not authenticated. AUTH and a key are
/// shorter.
constexpr std::size_t kStrangersBytes = 256;
/// Time between two checks for changes without an event, first while a probe is running, then
/// otherwise.
constexpr auto kProbeCheck = std::chrono::milliseconds(50);
constexpr auto kCheck = std::chrono::seconds(5);
/// Time for a peer to close its end after the server has closed.
constexpr auto kClosingTime = std::chrono::seconds(5);
/// Time for the final messages to reach the clients when the server ends.
constexpr auto kGoodbyeTime = std::chrono::seconds(2);
/// Pause after a connection could not be accepted.
constexpr auto kAcceptPause = std::chrono::seconds(1);
/// Time limits for a machine that must answer quickly, and for a machine that sends no
/// acknowledgement.
constexpr KeepaliveTimes kProbeTimes{.idle_s = 1, .interval_s = 1, .probes = 5};
constexpr auto kDeadMachine = std::chrono::seconds(30);

/// Returns the address that the clients are told. A machine without a network still serves itself.
Result<HostId> served_address(const RendezvousOptions& options) {
  if (options.this_machine) return parse_address("127.0.0.1");
  if (!options.address.empty()) {
    auto own = parse_own_addresses("IMPISHIM_HOST_ADDRESS", options.address);
    return own ? Result<HostId>(own->front()) : own.error();
  }
  auto address = address_for_others();
  return address ? address : parse_address("127.0.0.1");
}

/// Returns an unbound socket for every address of this machine, or for loopback if `this_machine`,
/// and stores the address to bind in `here`. An IPv6 socket also accepts IPv4; if the kernel has no
/// IPv6, the socket is for IPv4 only.
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

void Rendezvous::tell(const std::string& text) const {
  fmt::print(stderr, "{}: {}\n", options_.name, text);
}

Rendezvous::Rendezvous(const RendezvousOptions& options)
    : options_(options),
      server_(options.clients, options.methods, options.preference, options.limits) {}

Result<Rendezvous> Rendezvous::open(const RendezvousOptions& options) {
  Rendezvous rendezvous(options);
  auto loaded = rendezvous.load_certificates();
  if (!loaded) return loaded.error();
  auto listening = rendezvous.listen();
  if (!listening) return listening.error();
  return rendezvous;
}

Result<void> Rendezvous::listen() {
  const auto failed = [&](const char* call) {
    return Error{ErrorKind::kSystem, fmt::format("cannot serve on port {}: {}: {}", options_.port,
                                                 call, std::strerror(errno))};
  };
  auto address = served_address(options_);
  if (!address) return address.error();
  SocketAddress here;
  listener_ = listening_socket(options_.this_machine, here, options_.port);
  if (!listener_.valid()) return failed("socket");
  const int on = 1;
  if (setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
    return failed("setsockopt");
  if (bind(listener_.get(), here.get(), here.size) != 0) return failed("bind");
  if (::listen(listener_.get(), SOMAXCONN) != 0) return failed("listen");
  here.size = sizeof(here.storage);
  if (getsockname(listener_.get(), here.get(), &here.size) != 0) return failed("getsockname");
  address_ = address_text(*address, here.port());
  server_.at(Clock::now());  // a client may be started as soon as the address is known
  if (options_.ended_clients >= 0) {
    auto added = poller_.add(options_.ended_clients, EPOLLIN, kEndedToken);
    if (!added) return added;
  }
  auto relaying = options_.relays ? open_relay() : Result<void>();
  if (!relaying) return relaying;
  return poller_.add(listener_.get(), EPOLLIN, kListenerToken);
}

Result<void> Rendezvous::open_relay() {
  RelayToken token;
  auto filled = fill_with_random(token);
  if (!filled) return filled;
  auto opened = RelayService::open(token);
  if (!opened) return opened.error();
  relay_.emplace(std::move(*opened));
  server_.offer_relay(token);
  return poller_.add(relay_->descriptor(), EPOLLIN, kRelayEventToken);
}

/// Lets the relay work, and prints what it reports.
void Rendezvous::serve_relay() {
  relay_->handle(Clock::now());
  for (const RelayReport& report : relay_->take_reports()) {
    if (!report.progress || options_.verbose) tell(report.text);
  }
}

/// Gives a connection whose first bytes are those of a relay's hello to the relay.
void Rendezvous::give_to_relay(int id, Connection& connection, std::span<const std::byte> bytes) {
  auto removed = poller_.remove(connection.socket.get());
  if (!removed) tell(removed.error().text);
  relay_->adopt(std::move(connection.socket), connection.peer, bytes, Clock::now());
  server_.gave_to_relay(id);
  connections_.erase(id);
  serve_relay();
}

/// Fails with kTimeout if not all clients have joined in time. The clients have then been told.
Result<void> Rendezvous::check_time_left(Clock::time_point deadline) {
  if (options_.timeout_ms < 0 || server_.all_joined() || Clock::now() < deadline) return {};
  Error error{ErrorKind::kTimeout, fmt::format("not all clients came within {} s: {}",
                                               options_.timeout_ms / 1000, server_.progress())};
  server_.give_up(error.text);
  act();
  return error;
}

/// Reports which clients have joined when kQuietMs have passed. Before that they are of no
/// interest; afterwards every change is reported at once.
void Rendezvous::speak_if_late() {
  if (options_.verbose || server_.all_joined() ||
      Clock::now() < started_ + std::chrono::milliseconds(kQuietMs))
    return;
  options_.verbose = true;
  tell(server_.progress());
}

std::chrono::microseconds Rendezvous::time_to_next(Clock::time_point deadline) const {
  using std::chrono::microseconds;
  auto next = server_.next_limit().value_or(Clock::time_point::max());
  if (options_.timeout_ms >= 0 && !server_.all_joined()) next = std::min(next, deadline);
  if (!options_.verbose && !server_.all_joined())
    next = std::min(next, started_ + std::chrono::milliseconds(kQuietMs));
  if (!connections_.empty()) next = std::min(next, next_check_);
  if (accept_again_at_) next = std::min(next, *accept_again_at_);
  if (relay_) next = std::min(next, relay_->next_limit().value_or(next));
  if (next == Clock::time_point::max()) return microseconds(-1);
  return std::max(std::chrono::ceil<microseconds>(next - Clock::now()), microseconds(0));
}

Result<void> Rendezvous::handle_events(std::chrono::microseconds timeout) {
  std::array<epoll_event, 32> events{};
  auto count = poller_.wait(timeout, events);
  if (!count) return count.error();
  server_.at(Clock::now());
  for (std::size_t i = 0; i < *count; ++i) {
    if (events[i].data.u64 == kListenerToken) {
      accept_one();
    } else if (events[i].data.u64 == kEndedToken) {
      read_ended_clients();
    } else if (events[i].data.u64 == kRelayEventToken) {
      serve_relay();
    } else {
      handle(static_cast<int>(events[i].data.u64), events[i].events);
    }
  }
  if (relay_ && relay_->next_limit() && *relay_->next_limit() <= Clock::now()) serve_relay();
  check_connections();
  act();
  return {};
}

Result<void> Rendezvous::serve() {
  started_ = Clock::now();
  const auto deadline = started_ + std::chrono::milliseconds(options_.timeout_ms);
  server_.at(started_);
  while (!server_.finished() && !server_.nobody_came()) {
    speak_if_late();
    auto left = check_time_left(deadline);
    auto handled = left ? handle_events(time_to_next(deadline)) : left;
    if (handled && server_.failure()) handled = *server_.failure();
    if (handled) continue;
    say_goodbye();
    return handled;
  }
  if (server_.finished()) {
    // The last bytes between hosts may still be on their way.
    const auto end = Clock::now() + kGoodbyeTime;
    while (relay_ && relay_->pairs() > 0 && Clock::now() < end) {
      if (!handle_events(kProbeCheck)) break;
    }
    if (server_.loss())
      return Error{ErrorKind::kLost,
                   server_.loss()->text + "; the others have finished without it"};
    return {};
  }
  const Error nobody{ErrorKind::kConnection,
                     "no program has joined: all have ended without MPI_Init, or libimpishim.so "
                     "was not loaded into them (a "
                     "static binary, a script that clears LD_PRELOAD)"};
  if (options_.ended_clients < 0) {
    say_goodbye();
    return nobody;
  }
  tell(nobody.text);  // the caller knows the exit statuses of the programs
  return {};
}

/// Waits until the clients' machines have received everything that was sent to them. The kernel
/// drops unsent data if a connection is closed while it has unread bytes.
void Rendezvous::say_goodbye() {
  if (relay_) {
    relay_->report_losses_now();
    serve_relay();
  }
  const auto end = Clock::now() + kGoodbyeTime;
  const auto is_told = [](const auto& each) {
    return each.second.output.empty() &&
           (!each.second.session || each.second.session->output().empty()) &&
           all_acknowledged(each.second.socket.get());
  };
  while (!std::ranges::all_of(connections_, is_told) && Clock::now() < end) {
    // The kernel sends no event when bytes are acknowledged.
    if (!handle_events(std::chrono::milliseconds(5))) return;
  }
}

void Rendezvous::read_ended_clients() {
  std::array<std::uint8_t, kMaxClients> clients{};
  const ssize_t count = read(options_.ended_clients, clients.data(), clients.size());
  for (ssize_t i = 0; i < count; ++i) server_.ended(clients[static_cast<std::size_t>(i)]);
}

/// Makes room for a new connection by closing the oldest connection that has not authenticated.
/// Returns false if there is none.
bool Rendezvous::evict_stranger() {
  const auto stranger = std::ranges::find_if(
      connections_, [this](const auto& each) { return !server_.is_authenticated(each.first); });
  if (stranger == connections_.end()) return false;
  const int id = stranger->first;
  server_.evicted(id);
  drop(id);
  return true;
}

/// Stops polling the listener for a while. A connection that cannot be accepted stays in the
/// kernel's queue and would cause events without pause.
void Rendezvous::stop_accepting_for_a_while() {
  auto changed = poller_.modify(listener_.get(), 0, kListenerToken);
  if (!changed) return tell(changed.error().text);
  accept_again_at_ = Clock::now() + kAcceptPause;
}

void Rendezvous::accept_again() {
  auto changed = poller_.modify(listener_.get(), EPOLLIN, kListenerToken);
  if (!changed) return tell(changed.error().text);
  accept_again_at_.reset();
}

std::chrono::seconds Rendezvous::time_to_return(const Descriptor& socket,
                                                const SocketAddress& from) const {
  using std::chrono::seconds;
  if (options_.reconnect != kReconnectAuto) return seconds(options_.reconnect);
  SocketAddress here;
  const bool known = getsockname(socket.get(), here.get(), &here.size) == 0;
  return seconds(known && same_address(here.host(), from.host()) ? 0 : kDefaultReconnect);
}

void Rendezvous::accept_one() {
  if (connections_.size() >= kMaxConnections && !evict_stranger())
    return stop_accepting_for_a_while();
  SocketAddress from;
  Descriptor socket(accept4(listener_.get(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
      return;  // the connection has ended already
    if (!told_of_descriptors_)
      tell(fmt::format("cannot accept more connections: {}; see ulimit -n", std::strerror(errno)));
    told_of_descriptors_ = true;
    if (!evict_stranger()) stop_accepting_for_a_while();
    return;
  }
  std::unique_ptr<TlsSession> session;
  if (options_.methods.shared.encrypts()) {
    auto made = encrypted_session();
    if (!made) return tell(made.error().text);
    session = std::move(*made);
  }
  const int id = next_id_++;
  auto added = poller_.add(socket.get(), EPOLLIN, static_cast<std::uint64_t>(id));
  if (!added) return tell(added.error().text);
  set_keepalive(socket.get());
  send_at_once(socket.get());
  connections_[id].socket = std::move(socket);
  connections_[id].session = std::move(session);
  connections_[id].peer = fmt::format("{} port {}", address_text(from.host()), from.port());
  server_.connected(id, connections_[id].peer, time_to_return(connections_[id].socket, from));
}

void Rendezvous::handle(int id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if ((events & EPOLLOUT) != 0) write_to(id, found->second);
  if (connections_.count(id) != 0 && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
    read_from(id, found->second);
}

void Rendezvous::read_from(int id, Connection& connection) {
  std::array<std::byte, 65536> buffer{};
  const std::size_t most = server_.is_authenticated(id) ? buffer.size() : kStrangersBytes;
  const ssize_t size = recv(connection.socket.get(), buffer.data(), most, 0);
  if (size > 0) {
    const auto bytes = std::span(buffer).first(static_cast<std::size_t>(size));
    if (connection.closing) return;
    // No message of startup, and no TLS record, begins like the relay's hello.
    const bool begins = !std::exchange(connection.has_begun, true);
    if (relay_ && begins && bytes[0] == std::byte{kRelayCommand >> 24U})
      return give_to_relay(id, connection, bytes);
    return connection.session ? decrypt(id, connection, bytes) : server_.received(id, bytes);
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  server_.disconnected(id);
  drop(id);
}

void Rendezvous::write_to(int id, Connection& connection) {
  for (auto bytes = next_output(connection); !bytes.empty(); bytes = next_output(connection)) {
    const ssize_t size = send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EAGAIN || errno == EINTR) break;
      server_.disconnected(id);
      return drop(id);
    }
    if (connection.session)
      connection.session->remove_output(static_cast<std::size_t>(size));
    else
      connection.output.erase(connection.output.begin(), connection.output.begin() + size);
  }
  const bool written = next_output(connection).empty() && connection.output.empty();
  if (written && connection.closing) {
    // Closing only our direction lets the final message reach the peer. A full close with unread
    // bytes would send a reset, which could overtake the message.
    shutdown(connection.socket.get(), SHUT_WR);
    if (!connection.drop_at) connection.drop_at = Clock::now() + kClosingTime;
  }
  const std::uint32_t wanted = EPOLLIN | (written ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  auto changed = poller_.modify(connection.socket.get(), wanted, static_cast<std::uint64_t>(id));
  if (!changed) tell(changed.error().text);
}

/// Lets the kernel ask the peer's machine now, and not after the usual time of silence.
void Rendezvous::probe(Connection& connection) {
  set_keepalive(connection.socket.get(), kProbeTimes);
  if (!connection.probed) ++probes_;
  connection.probed = Clock::now();
  next_check_ = std::min(next_check_, Clock::now() + kProbeCheck);
}

/// Handles changes that cause no event: answers to probes, a silent machine, and closed connections
/// whose peer did not close in time.
void Rendezvous::check_connections() {
  const auto now = Clock::now();
  if (accept_again_at_ && now >= *accept_again_at_) accept_again();
  if (now < next_check_) return;
  next_check_ = now + (probes_ == 0 ? std::chrono::milliseconds(kCheck) : kProbeCheck);
  std::vector<int> lost;
  for (auto& [id, connection] : connections_) {
    const int socket = connection.socket.get();
    const auto last = since_last_ack(socket);
    if (connection.probed && last &&
        now - *last > *connection.probed + std::chrono::milliseconds(1)) {
      connection.probed.reset();
      --probes_;
      set_keepalive(socket);
      server_.alive(id);
    }
    if (is_unanswered(socket, kDeadMachine) || (connection.drop_at && now >= *connection.drop_at))
      lost.push_back(id);
  }
  for (const int id : lost) {
    server_.disconnected(id);
    drop(id);
  }
}

void Rendezvous::drop(int id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (found->second.probed) --probes_;
  auto removed = poller_.remove(found->second.socket.get());
  if (!removed) tell(removed.error().text);
  connections_.erase(found);
}

void Rendezvous::act() {
  // A connection that fails during a write causes further actions.
  for (auto actions = server_.take_actions(); !actions.empty(); actions = server_.take_actions()) {
    std::set<int> changed;
    for (ServerAction& action : actions) {
      if (carry_out(action)) changed.insert(action.connection);
    }
    // All data for a connection is sent together.
    for (const int id : changed) write_to(id, connections_.at(id));
  }
}

/// Executes one action. Returns true if there is something to write to the connection.
bool Rendezvous::carry_out(ServerAction& action) {
  if (action.kind == ServerAction::Kind::kTell) {
    if (!action.progress || options_.verbose) tell(action.text);
    return false;
  }
  if (action.kind == ServerAction::Kind::kGoOnWithout) {
    const auto client = static_cast<std::uint8_t>(action.client);
    // Only the end of a local job's impirun closes the other end, and it ends this process, too.
    if (options_.ended_clients >= 0)
      static_cast<void>(send(options_.ended_clients, &client, sizeof(client), MSG_NOSIGNAL));
    return false;
  }
  const auto found = connections_.find(action.connection);
  if (found == connections_.end()) return false;
  Connection& connection = found->second;
  switch (action.kind) {
    case ServerAction::Kind::kSend:
      connection.output.insert(connection.output.end(), action.bytes.begin(), action.bytes.end());
      return true;
    case ServerAction::Kind::kClose:
      connection.closing = true;
      return true;
    default:
      probe(connection);
      return false;
  }
}

}  // namespace impishim::wire
