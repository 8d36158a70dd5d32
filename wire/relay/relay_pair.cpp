// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_pair.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"
#include "wire/relay/relay_direction.hpp"
#include "wire/relay/relay_socket.hpp"

namespace impishim::wire {
namespace {

/// Limit of the reads from an end that has failed. One that cannot be watched may still send.
constexpr int kMaxLastReads = 64;

/// Returns the index of the end that faces end `of`.
constexpr std::size_t opposite(std::size_t of) { return 1 - of; }

}  // namespace

RelayPair::RelayPair(RelayEnd first, RelayEnd second, std::size_t buffer_size)
    : ends_{std::move(first), std::move(second)},
      from_{RelayDirection(buffer_size), RelayDirection(buffer_size)} {}

void RelayPair::put(std::size_t to, std::span<const std::byte> bytes) {
  from_[opposite(to)].put(bytes);
}

std::string RelayPair::text() const {
  return fmt::format("end {} ({}) and end {} ({})", ends_[0].number, ends_[0].socket->peer(),
                     ends_[1].number, ends_[1].socket->peer());
}

Result<void> RelayPair::write_to(std::size_t end) {
  auto written = from_[opposite(end)].write_to(socket(end).get());
  if (!written) return failed(end, written.error());
  return {};
}

/// Reads what end `from` has sent, and writes it to the other end.
Result<void> RelayPair::pass_on(std::size_t from) {
  auto read = from_[from].read_from(socket(from).get());
  if (!read) return failed(from, read.error());
  return write_to(opposite(from));
}

Result<void> RelayPair::start() {
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    auto written = write_to(end);
    if (!written) return written;
  }
  return watch();
}

Result<bool> RelayPair::handle(std::size_t at, std::uint32_t events) {
  if ((events & EPOLLERR) != 0) return failed(at, {ErrorKind::kConnection, socket(at).failure()});
  // EPOLLHUP comes alone if the socket is watched for failures only.
  const bool hung_up = (events & EPOLLHUP) != 0;
  if ((hung_up || (events & EPOLLOUT) != 0) && from_[opposite(at)].wants_output()) {
    auto written = write_to(at);
    if (!written) return written.error();
  }
  if ((hung_up || (events & EPOLLIN) != 0) && from_[at].wants_input()) {
    auto passed = pass_on(at);
    if (!passed) return passed.error();
  }
  if (from_[0].done() && from_[1].done()) return false;
  if (hung_up && wanted_events(at) == 0) socket(at).leave_alone();
  auto watched = watch();
  if (!watched) return watched.error();
  return true;
}

std::uint32_t RelayPair::wanted_events(std::size_t of) const {
  std::uint32_t events = 0;
  if (from_[of].wants_input()) events |= EPOLLIN;
  if (from_[opposite(of)].wants_output()) events |= EPOLLOUT;
  return events;
}

Result<void> RelayPair::watch() {
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    auto watched = socket(end).watch(wanted_events(end));
    if (!watched) return failed(end, watched.error());
  }
  return {};
}

Result<void> RelayPair::check_silence(SilenceDetector::Clock::time_point now) {
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    if (socket(end).peer_is_silent(now))
      return failed(end, {ErrorKind::kConnection, "its machine does not answer"});
  }
  return {};
}

/// Passes on the last words of an end that has failed: the kernel still has what arrived before the
/// failure, perhaps the reason why the host ends.
Error RelayPair::failed(std::size_t end, const Error& why) {
  RelaySocket& other = socket(opposite(end));
  bool may_have_more = true;
  for (int i = 0; i < kMaxLastReads && may_have_more; ++i) {
    auto read = from_[end].read_from(socket(end).get());
    may_have_more = read && *read > 0 && from_[end].write_to(other.get());
  }
  if (may_have_more || from_[end].wants_output()) other.reset_when_closed();
  return {why.kind, fmt::format("the connection of {} is lost: end {}: {}", text(),
                                ends_[end].number, why.text)};
}

}  // namespace impishim::wire
