// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/link_acceptor.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/link_handshake.hpp"
#include "wire/connect/link_socket.hpp"

namespace impishim::wire {
namespace {

/// Number of connections that are accepted before the others are served again.
constexpr int kAcceptedAtOnce = 64;

std::size_t most_strangers() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return LinkAcceptor::kMostStrangers;
  return std::clamp<std::size_t>(limit.rlim_cur / 8, 1, LinkAcceptor::kMostStrangers);
}

std::string name_of(const SocketAddress& from) {
  return fmt::format("a connection from {} port {}", address_text(from.host()), from.port());
}

}  // namespace

LinkAcceptor::LinkAcceptor(std::span<const Descriptor> listeners, Options options)
    : listeners_(listeners), options_(std::move(options)), most_strangers_(most_strangers()) {}

void LinkAcceptor::append_polled(std::vector<pollfd>& polled) {
  for (const Descriptor& listener : listeners_)
    polled.push_back({rest_.rests() ? -1 : listener.get(), POLLIN, 0});
  polled_.clear();
  for (List* list : {&strangers_, &greeted_}) {
    for (auto place = list->begin(); place != list->end(); ++place) {
      polled_.push_back(place);
      polled.push_back({place->socket.get(), awaited_events(*place->handshake), 0});
    }
  }
}

void LinkAcceptor::handle(std::span<const pollfd> polled) {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < polled_.size(); ++i) {
    if (polled[listeners_.size() + i].revents != 0) {
      drive(polled_[i]);
    } else if (now >= polled_[i]->deadline) {
      turn_away(polled_[i], {ErrorKind::kTimeout, "it did not say in time which process it is"});
    }
  }
  polled_.clear();
  for (std::size_t i = 0; i < listeners_.size(); ++i)
    if (polled[i].revents != 0) accept_some(listeners_[i]);
  if (const auto line = report_.due(now)) log(LogArea::kChannel, LogLevel::kError, "{}", *line);
}

void LinkAcceptor::accept_some(const Descriptor& listener) {
  for (int i = 0; i < kAcceptedAtOnce && accept_one(listener); ++i) {
  }
}

bool LinkAcceptor::accept_one(const Descriptor& listener) {
  SocketAddress from;
  Descriptor socket(accept4(listener.get(), from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid()) {
    rest_.accepted();
    adopt(std::move(socket), from);
    return true;
  }
  const int error = errno;
  if (error == EAGAIN || error == EWOULDBLOCK) return false;
  // Other errors concern a single connection that ended before it was accepted (accept(2)).
  if (!AcceptRest::is_lack(error) && error != EBADF && error != EINVAL && error != ENOTSOCK)
    return true;
  if (AcceptRest::is_lack(error) && drop_oldest_stranger("this process has no more descriptors"))
    return true;
  rest_.begin(error, options_.log_prefix);
  return false;
}

void LinkAcceptor::adopt(Descriptor socket, const SocketAddress& from) {
  Pending& pending = strangers_.emplace_back();
  pending.socket = std::move(socket);
  pending.from = from;
  pending.deadline = Clock::now() + kIntroductionTime;
  pending.judge.claim = [this, &pending](std::int32_t number) {
    return options_.judge(number, pending.from);
  };
  pending.judge.is_new = [this](const LinkNonce& nonce) { return seen_.insert(nonce).second; };
  pending.handshake.emplace(options_.terms ? &*options_.terms : nullptr, pending.judge);
  // The first bytes have usually arrived already. So a process of this job is recognised before it
  // can become the oldest stranger.
  drive(std::prev(strangers_.end()));
  if (strangers_.size() > most_strangers_)
    drop_oldest_stranger("there were too many that had not said which process they are");
}

bool LinkAcceptor::drop_oldest_stranger(const std::string& reason) {
  if (strangers_.empty()) return false;
  turn_away(strangers_.begin(), {ErrorKind::kTimeout, reason});
  return true;
}

void LinkAcceptor::drive(List::iterator place) {
  auto done = advance(place->socket.get(), *place->handshake);
  if (!done) return turn_away(place, done.error());
  List& list = place->greeted ? greeted_ : strangers_;
  if (*done) {
    const std::int32_t number = place->handshake->number();
    Descriptor socket = std::move(place->socket);
    list.erase(place);
    options_.take(number, std::move(socket));
  } else if (!place->greeted && place->handshake->has_greeted()) {
    place->greeted = true;
    greeted_.splice(greeted_.end(), strangers_, place);
  }
}

void LinkAcceptor::turn_away(List::iterator place, const Error& reason) {
  const AcceptorHandshake& handshake = *place->handshake;
  const std::string who = name_of(place->from);
  // The reason is kept only for expected numbers, because a stranger can claim any number of
  // others.
  if (handshake.has_claimed() &&
      place->judge.claim(handshake.number()).kind != LinkJudgement::Kind::kTurnAway) {
    reasons_[handshake.number()] = fmt::format("{} was turned away: {}", who, reason.text);
  }
  std::string line = fmt::format("{}turned away {}: {}", options_.log_prefix, who, reason.text);
  log(LogArea::kChannel, LogLevel::kDebug, "{}", line);
  const bool may_end_early = options_.may_end_early && options_.may_end_early(place->from);
  if (!may_end_early || (!place->greeted && reason.kind != ErrorKind::kConnection)) {
    if (const auto due = report_.add(std::move(line), Clock::now()))
      log(LogArea::kChannel, LogLevel::kError, "{}", *due);
  }
  (place->greeted ? greeted_ : strangers_).erase(place);
}

bool LinkAcceptor::is_greeting(std::int32_t number) const {
  return std::ranges::any_of(
      greeted_, [&](const Pending& each) { return each.handshake->number() == number; });
}

std::string LinkAcceptor::turned_away(std::int32_t number) const {
  const auto found = reasons_.find(number);
  return found == reasons_.end() ? std::string() : found->second;
}

void LinkAcceptor::close_rest() {
  while (!strangers_.empty()) {
    // A dropped attempt of a process of the job may still be unread.
    const bool unread = !strangers_.front().handshake->has_claimed();
    turn_away(strangers_.begin(), {unread ? ErrorKind::kConnection : ErrorKind::kAborted,
                                   "all that were awaited are connected"});
  }
  greeted_.clear();
  // Prints the pending report now, because there is no later occasion.
  if (const auto line = report_.due(Clock::time_point::max()))
    log(LogArea::kChannel, LogLevel::kError, "{}", *line);
}

}  // namespace impishim::wire
