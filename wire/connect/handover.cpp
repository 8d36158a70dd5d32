// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/handover.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/connect/unix_socket.hpp"

namespace impishim::wire {
namespace {

using Clock = std::chrono::steady_clock;

/// Introduces a taker, names the host of a socket, or acknowledges a socket. Both ends run the same
/// library on the same machine, so host byte order suffices.
struct Note {
  static constexpr std::uint32_t kMagic = 0x494d5048;
  std::uint32_t magic = kMagic;
  std::int32_t number = 0;  ///< index of the taker, or number of the host
};

const std::string kLogPrefix = "handing over connections: ";

std::string name_of(const std::string& token) { return fmt::format("impishim-{}-handover", token); }

Error system_error(const char* what) {
  return {ErrorKind::kSystem,
          fmt::format("handing over connections: {}: {}", what, std::strerror(errno))};
}

Result<void> wait_readable(int socket, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd descriptor{socket, POLLIN, 0};
    const int ready = poll(&descriptor, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error("poll failed");
    if (ready == 0)
      return Error{ErrorKind::kTimeout,
                   "handing over connections: a process of this host does not answer"};
  }
}

Result<Note> receive_note(int socket, Clock::time_point deadline) {
  auto waited = wait_readable(socket, deadline);
  if (!waited) return waited.error();
  Note note;
  const ssize_t size = recv(socket, &note, sizeof(note), MSG_DONTWAIT);
  if (size < 0) return system_error("no answer");
  if (size == 0)
    return Error{ErrorKind::kConnection,
                 "handing over connections: a process of this host has ended"};
  if (size != static_cast<ssize_t>(sizeof(note)) || note.magic != Note::kMagic) {
    return Error{ErrorKind::kProtocol,
                 "handing over connections: garbage from a process of this host"};
  }
  return note;
}

Result<void> send_note(int socket, std::int32_t number) {
  const Note note{Note::kMagic, number};
  if (send(socket, &note, sizeof(note), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(note)))
    return system_error("cannot send");
  return {};
}

}  // namespace

Result<HandoverGiver> HandoverGiver::open(const std::string& token) {
  auto listener = listen_unix(name_of(token), SOCK_SEQPACKET);
  if (!listener)
    return Error{listener.error().kind, "handing over connections: " + listener.error().text};
  HandoverGiver giver;
  giver.listener_ = std::move(*listener);
  return giver;
}

/// Waits after a failed accept4(2). The connection stays in the queue for the next attempt.
Result<void> HandoverGiver::rest(int error, Clock::time_point deadline) {
  rest_.begin(error, kLogPrefix);
  const auto now = Clock::now();
  if (now >= deadline) return Error{ErrorKind::kTimeout, kLogPrefix + rest_.trouble()};
  std::this_thread::sleep_until(std::min(deadline, now + AcceptRest::kRest));
  return {};
}

/// Accepts one process, and turns strangers away.
Result<void> HandoverGiver::accept_one(Clock::time_point deadline) {
  auto waited = wait_readable(listener_.get(), deadline);
  if (!waited) return waited.error();
  Descriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.valid()) {
    if (AcceptRest::is_lack(errno)) return rest(errno, deadline);
    return errno == EINTR || errno == ECONNABORTED ? Result<void>() : system_error("cannot accept");
  }
  rest_.accepted();
  if (!same_user(connection.get())) {
    const auto line = report_.add("handing over connections: turned away a process of another user",
                                  Clock::now());
    if (line) log(LogArea::kChannel, LogLevel::kError, "{}", *line);
    return {};
  }
  auto note = receive_note(connection.get(), deadline);
  if (!note) return note.error();
  connections_.emplace(note->number, std::move(connection));
  return {};
}

Result<int> HandoverGiver::connection_of(std::int32_t index, Clock::time_point deadline) {
  for (;;) {
    const auto found = connections_.find(index);
    if (found != connections_.end()) return found->second.get();
    auto accepted = accept_one(deadline);
    if (!accepted) return accepted.error();
  }
}

/// Passes one socket at a time, because the kernel limits the number of descriptors in flight.
Result<void> HandoverGiver::give(std::int32_t index, std::int32_t host, const Descriptor& socket,
                                 int timeout_ms) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  auto connection = connection_of(index, deadline);
  if (!connection) return connection.error();
  const Note note{Note::kMagic, host};
  auto sent = send_with_descriptor(*connection, std::as_bytes(std::span(&note, 1)), socket);
  if (!sent)
    return Error{sent.error().kind,
                 fmt::format("handing over connections: process {}: {}", index, sent.error().text)};
  auto taken = receive_note(*connection, deadline);
  if (!taken) return taken.error();
  if (taken->number != host)
    return Error{ErrorKind::kProtocol, "handing over connections: another one was taken"};
  return {};
}

void HandoverGiver::close_in_forked_child() {
  listener_.reset();
  for (auto& [index, connection] : connections_) connection.reset();
}

Result<HandoverTaker> HandoverTaker::connect(const std::string& token, std::int32_t my_index,
                                             int timeout_ms) {
  auto connection = connect_unix(name_of(token), SOCK_SEQPACKET, timeout_ms);
  if (!connection)
    return Error{connection.error().kind, "handing over connections: " + connection.error().text};
  if (!same_user(connection->get())) {
    return Error{ErrorKind::kSystem, "handing over connections: the giver belongs to another user"};
  }
  auto introduced = send_note(connection->get(), my_index);
  if (!introduced) return introduced.error();
  HandoverTaker taker;
  taker.connection_ = std::move(*connection);
  return taker;
}

Result<std::pair<std::int32_t, Descriptor>> HandoverTaker::take(int timeout_ms) {
  auto waited =
      wait_readable(connection_.get(), Clock::now() + std::chrono::milliseconds(timeout_ms));
  if (!waited) return waited.error();
  Note note;
  auto received =
      receive_with_descriptor(connection_.get(), std::as_writable_bytes(std::span(&note, 1)));
  if (!received) return received.error();
  auto& [size, socket] = *received;
  if (size == 0)
    return Error{ErrorKind::kConnection,
                 "the process of this host that connects it to others has given up"};
  if (size != sizeof(note) || note.magic != Note::kMagic || !socket.valid()) {
    return Error{ErrorKind::kProtocol, "handing over connections: garbage from the giver"};
  }
  auto answered = send_note(connection_.get(), note.number);
  if (!answered) return answered.error();
  return std::make_pair(note.number, std::move(socket));
}

}  // namespace impishim::wire
