// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/stripe_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/byte_ranges.hpp"
#include "wire/resume/pieces.hpp"
#include "wire/stripe/stripe_frame.hpp"

namespace impishim::wire {

void StripeOutput::begin(std::size_t strand) {
  lose(strand);
  strands_[strand].resume_due = true;
  question_due_ = false;
}

void StripeOutput::lose(std::size_t strand) {
  Strand& lost = strands_[strand];
  for (const ByteRange& each : lost.sent)
    again_.add({std::max(each.begin, acknowledged_), each.end});
  ranges_ -= lost.sent.size();
  if (lost.has_end) end_sent_ = false;
  // An acknowledgement may have been on its way.
  if (lost.peer_ready) acknowledgement_due_ = true;
  lost = Strand();
  forget();
}

Result<void> StripeOutput::resume(std::size_t strand, std::uint64_t position) {
  auto acknowledged = acknowledge(strand, position);
  strands_[strand].peer_ready = acknowledged.ok();
  return acknowledged;
}

Result<void> StripeOutput::acknowledge(std::size_t strand, std::uint64_t position) {
  Strand& heard_on = strands_[strand];
  if (position < heard_on.heard || position > most_sent_) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("the peer acknowledges {} bytes of the stream, of which {} to {} were "
                             "possible",
                             position, heard_on.heard, most_sent_)};
  }
  heard_on.heard = position;
  if (position <= acknowledged_) return {};
  acknowledged_ = position;
  again_.remove_before(position);
  for (Strand& each : strands_) {
    while (!each.sent.empty() && each.sent.front().end <= position) {
      each.sent.pop_front();
      --ranges_;
    }
  }
  forget();
  return {};
}

void StripeOutput::forget() {
  // The peer may have had these bytes from a strand that was lost, but a frame must be whole.
  std::uint64_t position = acknowledged_;
  for (const Strand& each : strands_)
    if (each.frame_left > 0) position = std::min(position, each.place);
  if (position > kept_.begin()) kept_.forget(position);
}

bool StripeOutput::has_output(std::size_t strand) const {
  const Strand& on = strands_[strand];
  return on.in_frame() || on.resume_due || can_end(on) || (on.peer_ready && !again_.empty()) ||
         ((acknowledgement_due_ || question_due_) && may_speak(on));
}

bool StripeOutput::may_speak(const Strand& strand) const {
  return strand.peer_ready || std::ranges::none_of(strands_, &Strand::peer_ready);
}

void StripeOutput::set_header(Strand& strand, const StripeFrame& frame) {
  strand.header = encode_stripe_frame(frame);
  strand.header_sent = 0;
  strand.frame_left = frame.size;
  if (frame.size > 0) strand.place = frame.place;
  acknowledged_input_ = frame.received;
  acknowledgement_due_ = false;
}

void StripeOutput::note_sent(Strand& strand, ByteRange range) {
  if (!strand.sent.empty() && strand.sent.back().end == range.begin) {
    strand.sent.back().end = range.end;
    return;
  }
  strand.sent.push_back(range);
  ++ranges_;
}

bool StripeOutput::begin_frame(Strand& strand, std::uint64_t received) {
  if (strand.resume_due) {
    strand.resume_due = false;
    set_header(strand, {StripeFrameType::kResume, 0, received});
  } else if (strand.peer_ready && !again_.empty()) {
    ByteRange range = again_.first();
    range.end = std::min(range.end, range.begin + StripeFrame::kMostFrame);
    again_.remove_before(range.end);
    repeated_ += range.size();
    note_sent(strand, range);
    set_header(strand, {StripeFrameType::kData, static_cast<std::uint32_t>(range.size()), received,
                        range.begin});
  } else if (can_end(strand)) {
    end_sent_ = strand.has_end = true;
    set_header(strand, {StripeFrameType::kEnd, 0, received, kept_.end()});
  } else if (question_due_ && may_speak(strand)) {
    question_due_ = false;
    set_header(strand, {StripeFrameType::kQuestion, 0, received});
  } else if (acknowledgement_due_ && may_speak(strand)) {
    set_header(strand, {StripeFrameType::kAcknowledge, 0, received});
  } else {
    return false;
  }
  return true;
}

std::span<const iovec> StripeOutput::rest_of_frame(Strand& strand, Pieces& pieces) {
  std::size_t count = 0;
  if (strand.header_sent < strand.header.size())
    pieces[count++] = {strand.header.data() + strand.header_sent,
                       strand.header.size() - strand.header_sent};
  if (strand.frame_left > 0)
    count += kept_.find(strand.place, strand.frame_left, std::span(pieces).subspan(count)).size();
  return std::span(pieces).first(count);
}

/// Removes what the channel has taken from the frame that has begun.
void StripeOutput::drop_sent(Strand& strand, std::size_t bytes) {
  const std::size_t of_header = std::min(bytes, strand.header.size() - strand.header_sent);
  strand.header_sent += of_header;
  const std::size_t of_data = bytes - of_header;
  strand.frame_left -= of_data;
  strand.place += of_data;
  if (of_data == 0) return;
  most_sent_ = std::max(most_sent_, strand.place);
  forget();
}

Result<void> StripeOutput::flush(std::size_t strand, Channel& channel, std::uint64_t received) {
  Strand& on = strands_[strand];
  while (on.in_frame() || begin_frame(on, received)) {
    Pieces pieces;
    const auto rest = rest_of_frame(on, pieces);
    auto taken = channel.try_send(rest);
    if (!taken) return taken.error();
    drop_sent(on, *taken);
    if (*taken < size_of(rest)) return {};
  }
  return {};
}

Result<std::size_t> StripeOutput::send(std::size_t strand, Channel& channel,
                                       std::span<const iovec> pieces, std::uint64_t received) {
  auto flushed = flush(strand, channel, received);
  if (!flushed) return flushed.error();
  Strand& on = strands_[strand];
  if (on.in_frame() || !can_send(strand) || end_due_) return std::size_t{0};
  pieces = pieces.first(std::min(pieces.size(), kMostPieces - 1));
  const std::size_t size =
      std::min({size_of(pieces), kept_.room(), std::size_t{StripeFrame::kMostFrame}});
  if (size == 0) return std::size_t{0};
  const StripeFrame frame{StripeFrameType::kData, static_cast<std::uint32_t>(size), received,
                          kept_.end()};
  const StripeHeader header = encode_stripe_frame(frame);
  Pieces parts;
  // An iovec serves reading and writing alike, so it has no const form.
  parts[0] = {
      const_cast<std::byte*>(header.data()),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      header.size()};
  const auto data = limited(pieces, size, std::span(parts).subspan(1));
  auto taken = channel.try_send(std::span(parts).first(1 + data.size()));
  if (!taken || *taken == 0) return taken;
  // The frame has begun, so all of it is taken.
  set_header(on, frame);
  note_sent(on, {frame.place, frame.place + size});
  kept_.append(data, size);
  drop_sent(on, *taken);
  return size;
}

}  // namespace impishim::wire
