// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/server_stream.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/keepalive.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/tls/shared_secret.hpp"
#include "wire/tls/tls_handshake.hpp"

namespace impishim::wire {
namespace {

/// The text of channels and of this file for the orderly end of a stream.
constexpr const char* kEndOfStream = "end of stream";

Error server_error(const std::string& what) {
  return Error{ErrorKind::kConnection, fmt::format("rendezvous server: {}", what)};
}

/// The server's machine counts as dead if it has not acknowledged bytes for this time. The kernel
/// sends no keepalive probes while bytes are unacknowledged.
constexpr std::chrono::milliseconds kDeadMachine{30000};
constexpr std::chrono::milliseconds kAnswerCheck{3000};

std::string text_of(std::span<const std::byte> bytes) {
  return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::int64_t whole_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

}  // namespace

ServerStream::ServerStream(Descriptor socket, std::string server, ServerPatience patience)
    : socket_(std::move(socket)),
      socket_number_(socket_.get()),
      server_(std::move(server)),
      patience_(patience) {
  begin(Phase::kMethod);
}

Result<void> ServerStream::encrypt(const SharedSecret& shared, int timeout_ms) {
  auto terms = terms_with_server(shared, server_);
  if (!terms) return terms.error();
  std::vector<TlsLink> links;
  links.push_back({std::move(socket_), *terms, "the rendezvous server at " + server_});
  auto channels = make_tls_channels(std::move(links), timeout_ms);
  if (!channels) {
    return Error{
        channels.error().kind,
        channels.error().text +
            (shared.secret
                 ? "; server and systems need the same IMPISHIM_SECRET or "
                   "IMPISHIM_SECRET_FILE, and the same IMPISHIM_TLS"
                 : "; server and systems need certificates (IMPISHIM_CERTIFICATE), and the "
                   "same IMPISHIM_TLS")};
  }
  encrypted_ = std::move(channels->front());
  begin(Phase::kMethod);
  return {};
}

void ServerStream::shutdown_output() {
  if (encrypted_)
    encrypted_->shutdown_output();
  else
    shutdown(socket_.get(), SHUT_WR);
}

void ServerStream::be_patient(std::chrono::milliseconds time) {
  patience_.answer = patience_.foreign_answer = patience_.report = time;
  begin(Phase::kLabels);
}

void ServerStream::begin(Phase phase) {
  phase_ = phase;
  waiting_since_ = heard_ = Clock::now();
  next_report_ = waiting_since_ + patience_.report;
}

/// Returns nothing if there is no limit: a foreign server may be silent until the last client has
/// joined.
std::optional<std::chrono::milliseconds> ServerStream::bound() const {
  if (phase_ == Phase::kLeaving) return patience_.leaving;
  if (ours_ || phase_ == Phase::kMethod) return patience_.answer;
  if (phase_ == Phase::kLabels) return patience_.foreign_answer;
  return std::nullopt;
}

std::string ServerStream::awaited() const {
  if (phase_ == Phase::kMethod || phase_ == Phase::kLeaving)
    return fmt::format("the rendezvous server at {} to answer", server_);
  const bool known =
      notice_ && notice_->joined == (phase_ == Phase::kLabels) && notice_->missing != 0;
  if (phase_ == Phase::kJoining) {
    return known ? describe_missing(*notice_)
                 : fmt::format("the rendezvous server at {} to say that all systems have joined",
                               server_);
  }
  return known ? fmt::format("what {} announces", describe_missing(*notice_))
               : fmt::format("the rendezvous server at {} to pass on what the systems announce",
                             server_);
}

Error ServerStream::dead_machine() const {
  return server_error(
      fmt::format("the machine of {} does not answer: is the network cut?", server_));
}

/// Blocks until one of `events` occurs on the socket. Fails if a time limit passes or the server's
/// machine does not answer.
Result<void> ServerStream::wait_for(short events) {
  for (;;) {
    const auto now = Clock::now();
    const auto limit = bound();
    if (limit && now - heard_ >= *limit) {
      return Error{ErrorKind::kTimeout, fmt::format("rendezvous server: {} has been silent for {} "
                                                    "s: is it stopped, or the network between cut?",
                                                    server_, whole_seconds(now - heard_))};
    }
    if (patience_.all && now - since_ >= *patience_.all) {
      return Error{ErrorKind::kTimeout,
                   fmt::format("rendezvous server: {} has not answered in time", server_)};
    }
    if (is_unanswered(socket_number_, kDeadMachine)) return dead_machine();
    if (now >= next_report_) {
      log_line(LogArea::kStartup, LogLevel::kError,
               fmt::format("waiting for {}, {} s", awaited(), whole_seconds(now - waiting_since_)));
      next_report_ = now + patience_.report;
    }
    auto until = std::min(next_report_, now + kAnswerCheck);
    if (limit) until = std::min(until, heard_ + *limit);
    if (patience_.all) until = std::min(until, since_ + *patience_.all);
    pollfd ready{socket_.get(), events, 0};
    if (encrypted_) {
      // Its own descriptor is readable when there is input, or room if that is wanted.
      encrypted_->set_want_output((events & POLLOUT) != 0);
      ready = {encrypted_->descriptor(), POLLIN, 0};
      if (!encrypted_->prepare_to_sleep()) return {};
    }
    const int count =
        poll(&ready, 1,
             static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(until - now).count()));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return server_error(std::strerror(errno));
  }
}

Result<std::size_t> ServerStream::send_some(std::span<const std::byte> bytes, int& error) {
  error = 0;
  if (encrypted_) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): try_send() only reads
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return encrypted_->try_send({&piece, 1});
  }
  const ssize_t size =
      ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size >= 0) return static_cast<std::size_t>(size);
  error = errno;
  if (would_block(error)) return std::size_t{0};
  return Error{ErrorKind::kConnection, std::strerror(error)};
}

Result<std::size_t> ServerStream::receive_some(std::span<std::byte> room, int& error) {
  error = 0;
  if (encrypted_) {
    const iovec piece{room.data(), room.size()};
    return encrypted_->try_receive({&piece, 1});
  }
  const ssize_t size = recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (size > 0) return static_cast<std::size_t>(size);
  error = size == 0 ? 0 : errno;
  if (size == 0) return Error{ErrorKind::kConnection, kEndOfStream};
  if (would_block(error)) return std::size_t{0};
  return Error{ErrorKind::kConnection, std::strerror(error)};
}

Result<bool> ServerStream::read_available() {
  std::array<std::byte, 65536> bytes;
  int error = 0;
  const auto size = receive_some(bytes, error);
  if (!size) {
    ended_ = true;
    const bool broken = encrypted_ && size.error().kind != ErrorKind::kConnection;
    closed_ = !broken && (error == 0 || error == ECONNRESET || error == EPIPE);
    in_order_ = size.error().text == kEndOfStream;
    if (!said_.empty()) return server_error(said_);
    if (broken) return Error{size.error().kind, server_error(size.error().text).text};
    if (closed_) return server_error("it disconnected");
    if (error != ETIMEDOUT) return server_error(std::strerror(error));
    return dead_machine();
  }
  if (*size == 0) return false;
  heard_ = Clock::now();
  decoder_.feed(std::span(bytes).first(*size));
  return true;
}

Result<void> ServerStream::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    int error = 0;
    const auto sent = send_some(bytes, error);
    if (sent && *sent > 0) {
      bytes = bytes.subspan(*sent);
      heard_ = Clock::now();  // the server reads, so it is alive
      continue;
    }
    // A server that has closed the connection has sent its reason before that.
    if (!sent && (error == 0 || error == EPIPE || error == ECONNRESET)) {
      auto last_words = message();
      while (last_words) last_words = message();
      return last_words.error();
    }
    if (!sent) return server_error(std::strerror(error));
    auto waited = wait_for(POLLIN | POLLOUT);
    if (!waited) return waited;
    auto read = read_available();
    if (!read) return read.error();
  }
  return {};
}

bool ServerStream::is_for_stream(const StartupMessage& message) {
  switch (static_cast<StartupCommand>(message.command)) {
    case StartupCommand::kSaid:
      said_ = text_of(message.payload);
      return true;
    case StartupCommand::kHello:
      ours_ = true;
      if (message.payload.size() == sizeof(RelayToken)) {
        relay_.emplace();
        std::ranges::copy(message.payload, relay_->begin());
      }
      return true;
    case StartupCommand::kWaiting:
      notice_ = parse_waiting(message.payload);
      return true;
    case StartupCommand::kNote:
      log_line(LogArea::kStartup, LogLevel::kError,
               "rendezvous server: " + text_of(message.payload));
      return true;
    default:
      return false;
  }
}

Result<StartupMessage> ServerStream::message() {
  for (;;) {
    auto next = decoder_.next();
    if (!next) return next.error();
    if (next->has_value()) {
      if (!is_for_stream(**next)) return std::move(**next);
      continue;
    }
    auto read = read_available();
    if (!read) return read.error();
    if (*read) continue;
    auto waited = wait_for(POLLIN);
    if (!waited) return waited.error();
  }
}

Result<void> ServerStream::check_open() {
  for (;;) {
    auto next = decoder_.next();
    if (!next) return next.error();
    if (next->has_value()) {
      static_cast<void>(is_for_stream(**next));  // other messages are of no interest here
      continue;
    }
    auto read = read_available();
    if (!read) return read.error();
    if (!*read) return {};
  }
}

Result<void> ServerStream::await_end() {
  auto next = message();
  while (next) next = message();
  if (in_order_) return {};
  return next.error();
}

Result<StartupMessage> ServerStream::await(StartupCommand command) {
  for (;;) {
    auto got = message();
    if (!got || got->command == static_cast<std::uint32_t>(command)) return got;
  }
}

Result<std::int32_t> ServerStream::method() {
  std::optional<std::vector<std::byte>> head;
  for (;;) {
    if (!head) head = decoder_.next_raw(8);
    if (head) {
      const auto which = load_big_endian<std::int32_t>(head->data());
      const auto length = load_big_endian<std::uint32_t>(head->data() + 4);
      if (length > kMaxStartupPayload) return server_error("it does not speak IMPI");
      if (auto rest = decoder_.next_raw(length)) {
        if (static_cast<std::uint32_t>(which) != static_cast<std::uint32_t>(StartupCommand::kSaid))
          return which;
        said_ = text_of(*rest);
        head.reset();
        continue;
      }
    }
    auto read = read_available();
    if (!read) return read.error();
    if (*read) continue;
    auto waited = wait_for(POLLIN);
    if (!waited) return waited.error();
  }
}

Result<int> ServerStream::watch() {
  watch_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (!watch_.valid() ||
      epoll_ctl(watch_.get(), EPOLL_CTL_ADD, watched_descriptor(), &event) != 0) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot watch the rendezvous server: {}", std::strerror(errno))};
  }
  return watch_.get();
}

std::optional<Error> ServerStream::given_up() {
  const bool gone = ended_;
  while (!ended_) {
    auto next = decoder_.next();
    if (!next) return next.error();
    if (next->has_value()) {
      static_cast<void>(is_for_stream(**next));  // other messages are of no interest here
      continue;
    }
    if (!said_.empty()) return server_error(said_);
    auto read = read_available();
    if (!read) break;
    if (!*read) return std::nullopt;
  }
  if (!said_.empty()) return server_error(said_);
  if (gone) return std::nullopt;
  log(LogArea::kStartup, LogLevel::kWarn,
      "the rendezvous server at {} has disconnected; the job goes on without it", server_);
  epoll_ctl(watch_.get(), EPOLL_CTL_DEL, watched_descriptor(), nullptr);
  return std::nullopt;
}

}  // namespace impishim::wire
