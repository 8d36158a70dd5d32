// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/striped_channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/lasting_channel.hpp"
#include "wire/stripe/stripe_frame.hpp"

namespace impishim::wire {
namespace {

/// Longest time for which the destructor waits for room for the last frames.
constexpr std::chrono::milliseconds kLastFrames{250};
/// Most pieces of the caller in one frame.
constexpr std::size_t kMostPieces = 128;
/// Says of an event that no connection has it.
constexpr std::uint32_t kNoStrand = StripedChannel::kMostStrands;

Error end_of_stream() { return {ErrorKind::kConnection, "end of stream"}; }

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

/// Fills `parts` with `pieces` behind their first `skip` bytes, as many as fit.
std::span<const iovec> behind(std::span<const iovec> pieces, std::size_t skip,
                              std::array<iovec, kMostPieces>& parts) {
  std::size_t count = 0;
  for (const iovec& piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    if (skipped == piece.iov_len) continue;
    if (count == parts.size()) break;
    parts[count++] = {static_cast<std::byte*>(piece.iov_base) + skipped, piece.iov_len - skipped};
  }
  return std::span(parts).first(count);
}

bool add_watch(int events, int descriptor, std::uint32_t wanted, std::uint32_t number) {
  epoll_event event{wanted, {}};
  event.data.u32 = number;
  return epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<Channel>> StripedChannel::make(std::unique_ptr<Channel> first, Slots slots,
                                                      const ResumeLimits& limits) {
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  bool watched = events.valid();
  for (const auto& slot : slots)
    watched = watched && add_watch(events.get(), slot->descriptor(), EPOLLIN, kNoStrand);
  auto ready = WakeEvent::make();
  if (!ready) return ready.error();
  if (!watched || !add_watch(events.get(), (*ready)->descriptor(), EPOLLIN, kNoStrand)) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot make a channel of several streams to {}: {}",
                             first->peer_name(), strerror(errno))};
  }
  return std::unique_ptr<Channel>(std::make_unique<StripedChannel>(
      std::move(first), std::move(slots), limits, std::move(events), std::move(*ready)));
}

StripedChannel::StripedChannel(std::unique_ptr<Channel> first, Slots slots,
                               const ResumeLimits& limits, Descriptor events,
                               std::shared_ptr<WakeEvent> ready)
    : events_(std::move(events)),
      ready_(std::move(ready)),
      peer_name_(first->peer_name()),
      output_(limits.kept, slots.size()),
      input_(output_, limits.kept, slots.size()),
      answers_(limits.answer) {
  for (auto& slot : slots) strands_.push_back({.slot = std::move(slot)});
  attach(0, std::move(first));
  ask_for(limits.first_strands);
}

StripedChannel::~StripedChannel() {
  const auto end = std::chrono::steady_clock::now() + kLastFrames;
  while (true) {
    flush();
    std::vector<pollfd> rooms;
    for (std::size_t i = 0; i < strands_.size(); ++i) {
      if (!strands_[i].connection || !output_.has_output(i)) continue;
      strands_[i].connection->set_want_output(true);
      rooms.push_back({strands_[i].connection->descriptor(), POLLOUT, 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (rooms.empty() || left.count() <= 0 ||
        poll(rooms.data(), rooms.size(), static_cast<int>(left.count())) <= 0)
      break;
  }
  for (const Strand& each : strands_) each.slot->stop();
}

/// Asks for the connections of strands, so that there are `count`.
void StripedChannel::ask_for(std::size_t count) {
  for (; wanted_ < std::min(count, strands_.size()); ++wanted_)
    strands_[wanted_].slot->report_loss("it is not there yet");
}

std::size_t StripedChannel::live() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      strands_, [](const Strand& each) { return each.connection != nullptr; }));
}

void StripedChannel::attach(std::size_t number, std::unique_ptr<Channel> connection) {
  Strand& strand = strands_[number];
  if (strand.connection)  // the peer has noticed before this end that the old one is lost
    static_cast<void>(
        epoll_ctl(events_.get(), EPOLL_CTL_DEL, strand.connection->descriptor(), nullptr));
  strand.connection = std::move(connection);
  strand.may_have_input = true;
  ++connections_;
  output_.begin(number);
  input_.begin(number);
  answers_.reset();
  strand.connection->set_want_output(false);
  strand.events = strand.connection->epoll_events();
  if (!add_watch(events_.get(), strand.connection->descriptor(), strand.events,
                 static_cast<std::uint32_t>(number)))
    return lose(number,
                {ErrorKind::kSystem, fmt::format("epoll_ctl(2) fails: {}", strerror(errno))});
  flush();
}

/// Takes what the slots have. A delivery replaces a connection, whether it is lost or not: unread
/// bytes of the old one will come again.
void StripedChannel::take_deliveries() {
  std::optional<Error> given_up;
  for (std::size_t i = 0; i < strands_.size(); ++i) {
    Strand& strand = strands_[i];
    if (!strand.slot->has_delivery()) continue;
    auto delivery = strand.slot->take();
    if (!delivery || failure_) continue;
    if (Error* const error = std::get_if<Error>(&*delivery)) {
      // The other strands do without it.
      if (i == 0) given_up = std::move(*error);
      continue;
    }
    attach(i, std::move(std::get<std::unique_ptr<Channel>>(*delivery)));
    const bool again = std::exchange(strand.was_there, true) || i == 0;
    if (strand.connection && again)
      log(LogArea::kChannel, LogLevel::kInfo,
          "the connection to {} is taken up again (stream {}, connection {})", peer_name_, i,
          connections_);
    else if (strand.connection)
      log(LogArea::kChannel, LogLevel::kInfo, "stream {} to {} is there", i, peer_name_);
  }
  if (!given_up || failure_) return;
  if (live() == 0) return fail(std::move(*given_up));
  if (!strands_[0].connection) strands_[0].slot->report_loss(given_up->text);
}

void StripedChannel::lose(std::size_t number, const Error& error) {
  Strand& lost = strands_[number];
  static_cast<void>(
      epoll_ctl(events_.get(), EPOLL_CTL_DEL, lost.connection->descriptor(), nullptr));
  lost.connection.reset();
  output_.lose(number);
  if (failure_) return;
  if (error.kind != ErrorKind::kConnection && error.kind != ErrorKind::kSystem) {
    fail(error);
    for (Strand& each : strands_) each.connection.reset();
    return;
  }
  if (live() == 0) return end_of_all(error);
  // The peer may have said its end there, and look after its channel no more. Then its slot says it
  // on the next connection.
  if (input_.ended()) return;
  log(LogArea::kChannel, LogLevel::kInfo, "stream {} to {} is lost: {}", number, peer_name_,
      error.text);
  if (!lost.slot->has_delivery()) lost.slot->report_loss(error.text);
  flush();
}

/// Handles the loss of the last strand.
void StripedChannel::end_of_all(const Error& error) {
  if (input_.ended() || (output_.ended() && output_.all_acknowledged())) {
    finish();
    return fail(end_of_stream());
  }
  log(LogArea::kChannel, LogLevel::kInfo, "the connection to {} is lost: {}", peer_name_,
      error.text);
  // The time for which they are tried begins again.
  for (std::size_t i = 0; i < strands_.size(); ++i) {
    const ConnectionSlot& slot = *strands_[i].slot;
    if ((i < wanted_ || strands_[i].was_there) && !slot.has_delivery())
      strands_[i].slot->report_loss(error.text);
  }
}

/// The owner may call neither try_send() nor try_receive() before its descriptor is ready.
void StripedChannel::fail(Error error) {
  failure_ = std::move(error);
  for (const Strand& each : strands_) {
    each.slot->stop();
    each.slot->announce_end();
  }
}

void StripedChannel::finish() {
  const std::array words = {
      encode_stripe_frame({StripeFrameType::kResume, 0, input_.received()}),
      encode_stripe_frame({StripeFrameType::kEnd, 0, input_.received()}),
  };
  for (const Strand& each : strands_) {
    each.slot->stop();
    each.slot->finish(std::as_bytes(std::span(words)));
  }
}

void StripedChannel::finish_if_over() {
  if (input_.ended() && output_.ended() && output_.all_acknowledged()) finish();
}

void StripedChannel::flush() {
  for (std::size_t i = 0; i < strands_.size(); ++i) {
    if (!strands_[i].connection || !output_.has_output(i)) continue;
    auto flushed = output_.flush(i, *strands_[i].connection, input_.received());
    if (!flushed) lose(i, flushed.error());
  }
  watch();
}

/// Watches the connections for room while output waits for it.
void StripedChannel::watch() {
  for (std::size_t i = 0; i < strands_.size(); ++i) {
    Strand& strand = strands_[i];
    if (!strand.connection) continue;
    const bool output = output_.has_output(i) || (want_output_ && output_.can_send(i));
    if (!strand.connection->set_want_output(output)) continue;
    const std::uint32_t wanted = strand.connection->epoll_events();
    if (wanted == strand.events) continue;
    strand.events = wanted;
    epoll_event event{wanted, {}};
    event.data.u32 = static_cast<std::uint32_t>(i);
    // The descriptor is in the set, so the call cannot fail.
    static_cast<void>(
        epoll_ctl(events_.get(), EPOLL_CTL_MOD, strand.connection->descriptor(), &event));
  }
}

Result<std::size_t> StripedChannel::try_send(std::span<const iovec> pieces) {
  take_deliveries();
  if (failure_) return *failure_;
  const auto can_send = [&](std::size_t i) {
    return strands_[i].connection != nullptr && output_.can_send(i);
  };
  bool can = false;
  for (std::size_t i = 0; i < strands_.size(); ++i) can = can || can_send(i);
  // An owner that only sends would never read the acknowledgement that makes room.
  if (!can) static_cast<void>(receive({}));
  if (failure_) return *failure_;
  const std::size_t wanted = size_of(pieces);
  std::size_t total = 0;
  for (std::size_t i = 0; i < strands_.size() && total < wanted;) {
    std::array<iovec, kMostPieces> parts;
    const auto rest = behind(pieces, total, parts);
    auto sent = can_send(i) ? output_.send(i, *strands_[i].connection, rest, input_.received())
                            : Result<std::size_t>(0);
    if (!sent) lose(i, sent.error());
    total += sent ? *sent : 0;
    // The next frame tries the same strand, unless that has taken a part only.
    if (!sent || *sent == 0 || output_.in_frame(i)) ++i;
  }
  watch();
  if (total == 0 && failure_) return *failure_;
  return total;
}

void StripedChannel::look_at_events() {
  std::array<epoll_event, 16> found;
  const int count = epoll_wait(events_.get(), found.data(), static_cast<int>(found.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t number = found[static_cast<std::size_t>(i)].data.u32;
    if (number < strands_.size()) strands_[number].may_have_input = true;
  }
}

/// Reads until the pieces are full or the strand is empty. Returns the new total.
std::size_t StripedChannel::receive_from(std::size_t number, std::span<const iovec> pieces,
                                         std::size_t total) {
  Strand& strand = strands_[number];
  const std::size_t wanted = size_of(pieces);
  do {
    auto got = input_.read(number, *strand.connection, pieces, total);
    if (!got) {
      lose(number, got.error());
      return total;
    }
    total += *got;
  } while (input_.may_have_more(number) && (total < wanted || wanted == 0) && !input_.ended());
  strand.may_have_input = input_.may_have_more(number);
  return total;
}

std::size_t StripedChannel::receive(std::span<const iovec> pieces) {
  const std::size_t wanted = size_of(pieces);
  look_at_events();
  std::size_t total = 0;
  for (bool again = true; again && !input_.ended() && !failure_;) {
    const std::size_t before = total;
    for (std::size_t i = 0; i < strands_.size(); ++i) {
      if (!strands_[i].connection || input_.ended() || failure_) continue;
      if (!strands_[i].may_have_input && !input_.has_ready()) continue;
      total = receive_from(i, pieces, total);
    }
    // Bytes of one strand may be what those of another one have waited for.
    again = total > before && total < wanted && input_.has_ready();
  }
  // Nothing follows that would make a connection's descriptor ready.
  if (input_.ended())
    for (const Strand& each : strands_) each.slot->announce_end();
  if (input_.received() - output_.acknowledged_input() >= kAcknowledgeAfter)
    output_.want_acknowledgement();
  announce_ready(!input_.ended() && input_.has_ready());
  return total;
}

void StripedChannel::announce_ready(bool ready) {
  if (ready == announced_) return;
  announced_ = ready;
  if (ready)
    ready_->raise();
  else
    ready_->clear();
}

Result<std::size_t> StripedChannel::try_receive(std::span<const iovec> pieces) {
  take_deliveries();
  std::size_t total = 0;
  if (!failure_ && !input_.ended()) {
    total = receive(pieces);
    // Acknowledgements may have made room that output waits for.
    flush();
  }
  if (total > 0) return total;
  if (failure_) return *failure_;
  if (!input_.ended()) return total;
  finish_if_over();
  return end_of_stream();
}

std::uint32_t StripedChannel::epoll_events() const { return EPOLLIN; }

bool StripedChannel::set_want_output(bool want) {
  want_output_ = want;
  watch();
  return false;
}

bool StripedChannel::prepare_to_sleep() {
  flush();
  bool may_sleep = !failure_ && !announced_;
  for (const Strand& each : strands_) {
    may_sleep = may_sleep && !each.slot->has_delivery();
    if (each.connection) may_sleep = each.connection->prepare_to_sleep() && may_sleep;
  }
  return may_sleep;
}

void StripedChannel::end_sleep() {
  for (const Strand& each : strands_)
    if (each.connection) each.connection->end_sleep();
}

void StripedChannel::shutdown_output() {
  output_.end();
  flush();
  finish_if_over();
}

std::optional<std::chrono::seconds> StripedChannel::peer_silence() {
  for (std::size_t i = 0; i < strands_.size(); ++i) {
    if (!strands_[i].connection) continue;
    const auto silence = strands_[i].connection->peer_silence();
    if (silence)
      lose(i, {ErrorKind::kConnection,
               fmt::format("its machine has not answered for {} s", silence->count())});
  }
  if (live() > 0 && !failure_ && !input_.ended()) {
    choose_strands();
    check_answers();
  }
  return std::nullopt;
}

void StripedChannel::choose_strands() {
  if (wanted_ == strands_.size()) return;
  RoadState all;
  for (const Strand& each : strands_) {
    const auto road = each.connection ? each.connection->road() : std::nullopt;
    if (!road) continue;
    all.round_trip = std::max(all.round_trip, road->round_trip);
    all.repeated += road->repeated;
  }
  ask_for(choice_.observe(all, wanted_, strands_.size()));
}

/// As ResumableChannel's, over all strands.
void StripedChannel::check_answers() {
  const auto now = AnswerWatch::Clock::now();
  std::uint64_t delivered = 0;
  bool waits = false;
  for (std::size_t i = 0; i < strands_.size(); ++i) {
    if (!strands_[i].connection) continue;
    delivered += strands_[i].connection->delivered();
    waits = waits || output_.has_output(i);
  }
  switch (answers_.observe(now, input_.heard(), delivered)) {
    case AnswerWatch::Advice::kWait:
      return;
    case AnswerWatch::Advice::kAsk:
      // Output that does not leave is a question by itself, and another one would only delay it.
      if (waits) return;
      answers_.asked();
      output_.ask();
      return flush();
    case AnswerWatch::Advice::kGiveUp:
      return fail(
          {ErrorKind::kTimeout,
           fmt::format("it has not answered for {} s, though its machine has: it is stopped "
                       "(IMPISHIM_ANSWER_TIME)",
                       answers_.limit().count())});
  }
}

void StripedChannel::close_in_forked_child() {
  for (const Strand& each : strands_) {
    if (each.connection) each.connection->close_in_forked_child();
    each.slot->close_in_forked_child();
  }
  ready_->close_in_forked_child();
  events_.reset();
}

}  // namespace impishim::wire
