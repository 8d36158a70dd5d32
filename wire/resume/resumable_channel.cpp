// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resumable_channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

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

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/resume_frame.hpp"

namespace impishim::wire {
namespace {

/// Longest time for which the destructor waits for room for the last frames.
constexpr std::chrono::milliseconds kLastFrames{250};

Error end_of_stream() { return {ErrorKind::kConnection, "end of stream"}; }

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

}  // namespace

Result<std::unique_ptr<Channel>> ResumableChannel::make(std::unique_ptr<Channel> first,
                                                        std::shared_ptr<ConnectionSlot> slot,
                                                        const ResumeLimits& limits) {
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  epoll_event of_slot{EPOLLIN, {}};
  if (!events.valid() ||
      epoll_ctl(events.get(), EPOLL_CTL_ADD, slot->descriptor(), &of_slot) != 0) {
    return Error{ErrorKind::kSystem, fmt::format("cannot make a resumable channel to {}: {}",
                                                 first->peer_name(), strerror(errno))};
  }
  return std::unique_ptr<Channel>(std::make_unique<ResumableChannel>(
      std::move(first), std::move(slot), limits, std::move(events)));
}

ResumableChannel::ResumableChannel(std::unique_ptr<Channel> first,
                                   std::shared_ptr<ConnectionSlot> slot, const ResumeLimits& limits,
                                   Descriptor events)
    : slot_(std::move(slot)),
      events_(std::move(events)),
      peer_name_(first->peer_name()),
      output_(limits.kept),
      input_(output_),
      answers_(limits.answer) {
  attach(std::move(first));
}

ResumableChannel::~ResumableChannel() {
  const auto end = std::chrono::steady_clock::now() + kLastFrames;
  while (connection_ && output_.has_output()) {
    flush();
    if (!connection_ || !output_.has_output()) return;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    connection_->set_want_output(true);
    pollfd room{connection_->descriptor(), POLLOUT, 0};
    if (left.count() <= 0 || poll(&room, 1, static_cast<int>(left.count())) <= 0) return;
  }
}

void ResumableChannel::attach(std::unique_ptr<Channel> connection) {
  if (connection_)  // the peer has noticed before this end that the old one is lost
    static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection_->descriptor(), nullptr));
  connection_ = std::move(connection);
  ++connections_;
  output_.begin();
  input_.begin();
  answers_.reset();
  connection_->set_want_output(false);
  connection_events_ = connection_->epoll_events();
  epoll_event events{connection_events_, {}};
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, connection_->descriptor(), &events) != 0)
    return lose({ErrorKind::kSystem, fmt::format("epoll_ctl(2) fails: {}", strerror(errno))});
  flush();
}

/// Takes what the slot has. A delivery replaces the connection, whether it is lost or not: unread
/// bytes of the old one will come again.
void ResumableChannel::take_delivery() {
  if (!slot_->has_delivery()) return;
  auto delivery = slot_->take();
  if (!delivery || failure_) return;
  if (Error* const error = std::get_if<Error>(&*delivery)) return fail(std::move(*error));
  attach(std::move(std::get<std::unique_ptr<Channel>>(*delivery)));
  if (connection_)
    log(LogArea::kChannel, LogLevel::kInfo,
        "the connection to {} is taken up again (connection {})", peer_name_, connections_);
}

void ResumableChannel::lose(const Error& error) {
  static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_DEL, connection_->descriptor(), nullptr));
  connection_.reset();
  if (error.kind != ErrorKind::kConnection && error.kind != ErrorKind::kSystem) return fail(error);
  if (input_.ended() || (output_.ended() && output_.all_acknowledged())) {
    finish();
    return fail(end_of_stream());
  }
  log(LogArea::kChannel, LogLevel::kInfo, "the connection to {} is lost: {}", peer_name_,
      error.text);
  if (!slot_->has_delivery()) slot_->report_loss(error.text);
}

/// The owner may call neither try_send() nor try_receive() before its descriptor is ready.
void ResumableChannel::fail(Error error) {
  failure_ = std::move(error);
  slot_->announce_end();
}

void ResumableChannel::finish() {
  const std::array words = {
      encode_resume_frame({ResumeFrameType::kResume, 0, input_.received()}),
      encode_resume_frame({ResumeFrameType::kEnd, 0, input_.received()}),
  };
  slot_->finish(std::as_bytes(std::span(words)));
}

void ResumableChannel::finish_if_over() {
  if (input_.ended() && output_.ended() && output_.all_acknowledged()) finish();
}

void ResumableChannel::flush() {
  auto flushed = output_.flush(*connection_, input_.received());
  if (!flushed) return lose(flushed.error());
  watch_connection();
}

/// Watches the connection for room while output waits for it.
void ResumableChannel::watch_connection() {
  const bool output = output_.has_output() || (want_output_ && output_.can_send());
  if (!connection_->set_want_output(output)) return;
  const std::uint32_t wanted = connection_->epoll_events();
  if (wanted == connection_events_) return;
  connection_events_ = wanted;
  epoll_event events{wanted, {}};
  // The descriptor is in the set, so the call cannot fail.
  static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_MOD, connection_->descriptor(), &events));
}

Result<std::size_t> ResumableChannel::try_send(std::span<const iovec> pieces) {
  take_delivery();
  if (failure_) return *failure_;
  // An owner that only sends would never read the acknowledgement that makes room.
  if (connection_ && !output_.can_send()) static_cast<void>(receive({}));
  if (failure_) return *failure_;
  if (!connection_) return std::size_t{0};
  auto sent = output_.send(*connection_, pieces, input_.received());
  if (sent) {
    watch_connection();
    return sent;
  }
  lose(sent.error());
  if (failure_) return *failure_;
  return std::size_t{0};
}

std::size_t ResumableChannel::receive(std::span<const iovec> pieces) {
  const std::size_t wanted = size_of(pieces);
  std::size_t total = 0;
  do {
    auto got = input_.read(*connection_, pieces, total);
    if (!got) {
      lose(got.error());
      return total;
    }
    total += *got;
  } while (input_.may_have_more() && (total < wanted || wanted == 0) && !input_.ended());
  // Nothing follows that would make the connection's descriptor ready.
  if (input_.ended()) slot_->announce_end();
  if (input_.received() - output_.acknowledged_input() >= kAcknowledgeAfter)
    output_.want_acknowledgement();
  return total;
}

Result<std::size_t> ResumableChannel::try_receive(std::span<const iovec> pieces) {
  take_delivery();
  std::size_t total = 0;
  if (connection_ && !failure_ && !input_.ended()) {
    total = receive(pieces);
    // Acknowledgements may have made room that output waits for.
    if (connection_ && (output_.has_output() || want_output_)) flush();
  }
  if (total > 0) return total;
  if (failure_) return *failure_;
  if (!input_.ended()) return total;
  finish_if_over();
  return end_of_stream();
}

std::uint32_t ResumableChannel::epoll_events() const { return EPOLLIN; }

bool ResumableChannel::set_want_output(bool want) {
  want_output_ = want;
  if (connection_) watch_connection();
  return false;
}

bool ResumableChannel::prepare_to_sleep() {
  if (connection_ && output_.has_output()) flush();
  return !slot_->has_delivery() && !failure_ && (!connection_ || connection_->prepare_to_sleep());
}

void ResumableChannel::end_sleep() {
  if (connection_) connection_->end_sleep();
}

void ResumableChannel::shutdown_output() {
  output_.end();
  if (connection_) flush();
  finish_if_over();
}

std::optional<std::chrono::seconds> ResumableChannel::peer_silence() {
  const auto silence = connection_ ? connection_->peer_silence() : std::nullopt;
  if (silence)
    lose({ErrorKind::kConnection,
          fmt::format("its machine has not answered for {} s", silence->count())});
  if (connection_ && !failure_ && !input_.ended()) check_answers();
  return std::nullopt;
}

/// A process that computes has a thread that answers; one that has stopped has none.
void ResumableChannel::check_answers() {
  const auto now = AnswerWatch::Clock::now();
  switch (answers_.observe(now, input_.heard(), connection_->delivered())) {
    case AnswerWatch::Advice::kWait:
      return;
    case AnswerWatch::Advice::kAsk:
      // Output that does not leave is a question by itself, and another one would only delay it.
      if (output_.has_output()) return;
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

void ResumableChannel::close_in_forked_child() {
  if (connection_) connection_->close_in_forked_child();
  slot_->close_in_forked_child();
  events_.reset();
}

}  // namespace impishim::wire
