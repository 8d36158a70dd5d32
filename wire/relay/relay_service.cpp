// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_service.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/silence.hpp"
#include "wire/relay/relay_hello.hpp"
#include "wire/relay/relay_pair.hpp"
#include "wire/relay/relay_socket.hpp"

namespace impishim::wire {
namespace {

/// Events that one call handles. The rendezvous server has other work too.
constexpr std::size_t kMaxEvents = 64;
/// The smallest buffer: it holds the relay's answer, and what a host has sent too early.
constexpr std::size_t kMinBufferSize = 4096;

/// Time after which a connection that an end has reset is reported.
constexpr auto kLossDelay = std::chrono::seconds(2);

constexpr std::uint32_t kInput = EPOLLIN;
/// A connection that waits is not read, and must not cause an event because of what it sent.
constexpr std::uint32_t kEndOfStream = EPOLLRDHUP;

}  // namespace

RelayService::RelayService(const RelayToken& token, const RelayLimits& limits, Descriptor epoll)
    : epoll_(std::move(epoll)), token_(token), limits_(limits) {}

Result<RelayService> RelayService::open(const RelayToken& token, const RelayLimits& limits) {
  if (limits.connections < 2 || limits.newcomers < 1 || limits.buffer_size < kMinBufferSize)
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("a relay needs at least 2 connections, 1 newcomer and a buffer of {} "
                    "bytes, not {}, {} and {}",
                    kMinBufferSize, limits.connections, limits.newcomers, limits.buffer_size)};
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid())
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot relay: epoll_create1: {}", std::strerror(errno))};
  return RelayService(token, limits, std::move(epoll));
}

void RelayService::tell(std::string text, bool progress) {
  reports_.push_back({std::move(text), progress});
}

void RelayService::tell_of_stranger(std::string text, Clock::time_point now) {
  if (auto line = strangers_.add(std::move(text), now)) tell(std::move(*line));
}

std::vector<RelayReport> RelayService::take_reports() {
  if (std::exchange(lacked_memory_, false)) {
    try {
      tell("the relay closed a connection: there is not enough memory");
    } catch (const std::bad_alloc&) {
      lacked_memory_ = true;  // told next time
    }
  }
  return std::exchange(reports_, {});
}

std::optional<RelayService::Clock::time_point> RelayService::next_limit() const {
  auto next = Clock::time_point::max();
  if (!newcomers_.empty()) next = newcomers_.begin()->second.limit;
  if (!sides_.empty()) next = std::min(next, next_silence_check_);
  if (!losses_.empty()) next = std::min(next, losses_due_);
  for (const StrangerReport* report : {&strangers_, &refusals_})
    next = std::min(next, report->next().value_or(next));
  return next == Clock::time_point::max() ? std::nullopt : std::optional(next);
}

void RelayService::adopt(Descriptor socket, std::string peer,
                         std::span<const std::byte> first_bytes, Clock::time_point now) {
  const std::uint64_t id = next_id_++;
  try {
    take_in(std::make_unique<RelaySocket>(epoll_.get(), id, std::move(socket), std::move(peer)),
            first_bytes, now);
  } catch (const std::bad_alloc&) {
    forget(id);
    lacked_memory_ = true;
  }
}

void RelayService::take_in(std::unique_ptr<RelaySocket> socket,
                           std::span<const std::byte> first_bytes, Clock::time_point now) {
  if (connections() >= limits_.connections) {
    auto line = refusals_.add(fmt::format("the relay refused {}: it has {} connections already",
                                          socket->peer(), limits_.connections),
                              now);
    if (line) tell(std::move(*line));
    return;
  }
  if (newcomers_.size() >= limits_.newcomers)
    turn_away(newcomers_.begin()->first, "too many others came before it had sent its hello", now);
  auto watched = socket->watch(kInput);
  if (!watched) return tell(fmt::format("the relay: {}: {}", socket->peer(), watched.error().text));
  const std::uint64_t id = socket->id();
  newcomers_.emplace(id, Newcomer{std::move(socket),
                                  {first_bytes.begin(), first_bytes.end()},
                                  now + limits_.hello_time});
  examine(id, now);
}

void RelayService::handle(Clock::time_point now) {
  std::array<epoll_event, kMaxEvents> events{};
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    try {
      handle_event(event.data.u64, event.events, now);
    } catch (const std::bad_alloc&) {
      forget(event.data.u64);
      lacked_memory_ = true;
    }
  }
  try {
    end_late_newcomers(now);
    end_silent_pairs(now);
    if (!losses_.empty() && losses_due_ <= now) report_losses_now();
    for (StrangerReport* report : {&strangers_, &refusals_})
      if (auto line = report->due(now)) tell(std::move(*line));
  } catch (const std::bad_alloc&) {
    lacked_memory_ = true;
  }
}

void RelayService::handle_event(std::uint64_t id, std::uint32_t events, Clock::time_point now) {
  // An event of the same call may have closed the connection.
  if (const auto side = sides_.find(id); side != sides_.end())
    return handle_side(side->second, events, now);
  if (newcomers_.contains(id)) return read_hello(id, now);
  handle_waiting(id);
}

/// Reads what the hello of a newcomer lacks, and no more.
void RelayService::read_hello(std::uint64_t id, Clock::time_point now) {
  Newcomer& newcomer = newcomers_.at(id);
  std::array<std::byte, kRelayHelloSize> bytes{};
  const std::size_t missing = kRelayHelloSize - newcomer.bytes.size();
  const ssize_t count = recv(newcomer.socket->get(), bytes.data(), missing, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (count <= 0) return turn_away(id, "it closed the connection before its hello ended", now);
  newcomer.bytes.insert(newcomer.bytes.end(), bytes.begin(), bytes.begin() + count);
  examine(id, now);
}

/// Decides what to do with a newcomer after it has sent bytes.
void RelayService::examine(std::uint64_t id, Clock::time_point now) {
  const std::vector<std::byte>& bytes = newcomers_.at(id).bytes;
  auto hello = decode_relay_hello(bytes);
  if (!hello) return turn_away(id, hello.error().text, now);
  if (!*hello) return;
  if (!equal_in_constant_time((*hello)->token, token_))
    return turn_away(id, "its token is not the one of this job", now);
  if (bytes.size() > kRelayHelloSize + limits_.buffer_size / 2)
    return turn_away(id, "it sent too much before it was connected", now);
  welcome(id, (*hello)->ends);
}

void RelayService::welcome(std::uint64_t id, const RelayEnds& ends) {
  Newcomer newcomer = std::move(newcomers_.extract(id).mapped());
  newcomer.bytes.erase(newcomer.bytes.begin(), newcomer.bytes.begin() + kRelayHelloSize);
  Waiting newer{std::move(newcomer.socket), std::move(newcomer.bytes)};
  const auto partner = partner_of(ends);
  if (partner == waiting_.end()) return wait_for_partner(ends, std::move(newer));
  join(ends, std::move(newer), std::move(waiting_.extract(partner).mapped()));
}

/// Returns the connection that waits for the host of `ends`, if it is still there: its end may not
/// have been handled yet.
RelayService::WaitingMap::iterator RelayService::partner_of(const RelayEnds& ends) {
  const auto partner = waiting_.find({ends.other, ends.own});
  if (partner == waiting_.end() || !partner->second.socket->peer_has_ended()) return partner;
  end_waiting(partner);
  return waiting_.end();
}

void RelayService::wait_for_partner(const RelayEnds& ends, Waiting waiting) {
  auto watched = waiting.socket->watch(kEndOfStream);
  if (!watched) return tell(fmt::format("the relay: end {}: {}", ends.own, watched.error().text));
  const auto older = waiting_.find(ends);
  if (older == waiting_.end()) {
    waiting_.emplace(ends, std::move(waiting));
    return;
  }
  tell(fmt::format("the relay replaced {} by {}: both are end {}, for end {}",
                   older->second.socket->peer(), waiting.socket->peer(), ends.own, ends.other));
  older->second = std::move(waiting);
}

void RelayService::join(const RelayEnds& ends, Waiting newer, Waiting older) {
  const auto pair = std::make_shared<RelayPair>(RelayEnd{std::move(newer.socket), ends.own},
                                                RelayEnd{std::move(older.socket), ends.other},
                                                limits_.buffer_size);
  if (sides_.empty()) next_silence_check_ = Clock::now() + kSilenceCheckInterval;
  sides_.emplace(pair->id(0), Side{pair, 0});
  sides_.emplace(pair->id(1), Side{pair, 1});
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}})
    pair->put(end, encode_relay_answer());
  pair->put(0, older.early);
  pair->put(1, newer.early);
  tell(fmt::format("the relay connects {}", pair->text()), true);
  auto started = pair->start();
  if (started) return;
  end_pair(*pair);
  tell(started.error().text);
}

/// Handles the end of a connection that waits, the only event that it is watched for.
void RelayService::handle_waiting(std::uint64_t id) {
  const auto found = std::ranges::find_if(
      waiting_, [id](const auto& each) { return each.second.socket->id() == id; });
  if (found != waiting_.end()) end_waiting(found);
}

void RelayService::end_waiting(WaitingMap::iterator waiting) {
  const Waiting ended = std::move(waiting->second);
  const RelayEnds ends = waiting->first;
  waiting_.erase(waiting);
  tell(fmt::format("{} (end {}) closed its connection to the relay before end {} came",
                   ended.socket->peer(), ends.own, ends.other),
       true);
}

void RelayService::handle_side(const Side& side, std::uint32_t events, Clock::time_point now) {
  const auto pair = side.pair;
  auto open = pair->handle(side.end, events);
  if (open && *open) return;
  end_pair(*pair);
  if (open) return;
  if (losses_.empty()) losses_due_ = now + kLossDelay;
  losses_.push_back({open.error().text, false});
}

void RelayService::report_losses_now() {
  reports_.insert(reports_.end(), losses_.begin(), losses_.end());
  losses_.clear();
}

void RelayService::end_late_newcomers(Clock::time_point now) {
  while (!newcomers_.empty() && newcomers_.begin()->second.limit <= now)
    turn_away(newcomers_.begin()->first, "it did not send its hello in time", now);
}

void RelayService::end_silent_pairs(Clock::time_point now) {
  if (sides_.empty() || now < next_silence_check_) return;
  next_silence_check_ = now + kSilenceCheckInterval;
  std::vector<std::pair<std::shared_ptr<RelayPair>, std::string>> silent;
  for (const auto& [id, side] : sides_) {
    if (side.end != 0) continue;
    auto checked = side.pair->check_silence(now);
    if (!checked) silent.emplace_back(side.pair, checked.error().text);
  }
  for (auto& [pair, text] : silent) {
    end_pair(*pair);
    tell(std::move(text));
  }
}

/// Closes the connection of a newcomer and tells why. The connection goes first: a lack of memory
/// must not keep it.
void RelayService::turn_away(std::uint64_t id, const std::string& why, Clock::time_point now) {
  const Newcomer newcomer = std::move(newcomers_.extract(id).mapped());
  tell_of_stranger(fmt::format("the relay turned {} away: {}", newcomer.socket->peer(), why), now);
}

/// Forgets both ends of a pair. The sockets are closed with its last owner.
void RelayService::end_pair(const RelayPair& pair) {
  sides_.erase(pair.id(0));
  sides_.erase(pair.id(1));
}

/// Closes the connection `id` wherever it is, and the other end of its pair. Needs no memory.
void RelayService::forget(std::uint64_t id) {
  newcomers_.erase(id);
  std::erase_if(waiting_, [id](const auto& each) { return each.second.socket->id() == id; });
  const auto side = sides_.find(id);
  if (side == sides_.end()) return;
  const auto pair = side->second.pair;
  end_pair(*pair);
}

}  // namespace impishim::wire
