// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/stripe_input.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/stripe/reorder_buffer.hpp"
#include "wire/stripe/stripe_frame.hpp"

namespace impishim::wire {
namespace {

Error broken(const char* what) { return Error{ErrorKind::kProtocol, what}; }

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

/// Fills `parts` with at most `size` bytes of `pieces` behind their first `skip` bytes.
std::span<iovec> behind(std::span<const iovec> pieces, std::size_t skip, std::size_t size,
                        std::span<iovec> parts) {
  std::size_t count = 0;
  for (const iovec& piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    const std::size_t part = std::min(size, piece.iov_len - skipped);
    if (part == 0) continue;
    if (count == parts.size()) break;
    parts[count++] = {static_cast<std::byte*>(piece.iov_base) + skipped, part};
    size -= part;
  }
  return parts.first(count);
}

}  // namespace

void StripeInput::begin(std::size_t strand) {
  Strand& it = strands_[strand];
  it.stage.resize(kStage);
  it.staged_from = it.staged_to = 0;
  it.header_got = 0;
  it.frame_left = 0;
  it.begun = false;
  it.may_have_more = true;
}

bool StripeInput::has_ready() const {
  return early_.continues(received_) ||
         std::ranges::any_of(strands_, [](const Strand& each) { return each.staged() > 0; });
}

StripeInput::Way StripeInput::way_of(const Strand& strand) const {
  if (strand.place == received_) return Way::kCaller;
  return strand.place > received_ ? Way::kEarly : Way::kNowhere;
}

std::span<iovec> StripeInput::places_of(const Strand& strand, std::span<const iovec> room,
                                        Areas& areas) {
  const auto places = std::span(areas).first(kMostPieces);
  switch (way_of(strand)) {
    case Way::kCaller:
      return behind(room, 0, strand.frame_left, places);
    case Way::kEarly:
      return early_.prepare(strand.place, strand.frame_left, places);
    case Way::kNowhere:
      break;
  }
  const std::uint64_t old = std::min<std::uint64_t>(strand.frame_left, received_ - strand.place);
  places[0] = {nowhere_.data(), std::min<std::size_t>(nowhere_.size(), old)};
  return places.first(1);
}

Result<std::size_t> StripeInput::placed(Strand& strand, Way way, std::size_t size) {
  const std::uint64_t first = strand.place;
  strand.place += size;
  strand.frame_left -= size;
  if (size > 0) ++heard_;
  if (way == Way::kEarly) {
    early_.add({first, strand.place});
    if (early_.ranges().count() > ReorderBuffer::kMostRanges)
      return broken("the peer leaves too many gaps in a striped stream");
  }
  if (way != Way::kCaller) return std::size_t{0};
  received_ += size;
  early_.forget(received_);
  return size;
}

Result<void> StripeInput::handle_data(Strand& strand, const StripeFrame& frame) {
  const std::uint64_t behind = frame.place + frame.size;
  if (behind > received_ && behind - received_ > bound_)
    return broken("a frame of a striped stream lies too far behind what has come");
  if (end_ && behind > *end_) return broken("bytes follow the end of a striped stream");
  strand.frame_left = frame.size;
  strand.place = frame.place;
  return {};
}

Result<void> StripeInput::handle_end(const StripeFrame& frame) {
  output_.want_acknowledgement();
  // A peer whose owner has left, and that has nothing more to say, says 0.
  const std::uint64_t end = frame.place == 0 ? received_ : frame.place;
  if (frame.place == 0 && !end_) end_ = end;
  if (frame.place == 0) return {};
  if (end < received_ || end < early_.ranges().end() || (end_ && *end_ != end))
    return broken("a striped stream ends before its last byte");
  if (end - received_ > bound_) return broken("the end of a striped stream lies too far behind");
  end_ = end;
  return {};
}

Result<void> StripeInput::handle(std::size_t number, Strand& strand) {
  auto frame = decode_stripe_frame(strand.header);
  if (!frame) return frame.error();
  ++heard_;
  const bool first = frame->type == StripeFrameType::kResume;
  if (first == strand.begun)
    return broken(first ? "the peer resumes a connection twice"
                        : "a connection of a striped stream begins with another frame");
  strand.begun = true;
  if (first) return output_.resume(number, frame->received);
  auto acknowledged = output_.acknowledge(number, frame->received);
  if (!acknowledged) return acknowledged;
  if (frame->type == StripeFrameType::kQuestion) output_.want_acknowledgement();
  if (frame->type == StripeFrameType::kEnd) return handle_end(*frame);
  if (frame->type == StripeFrameType::kData) return handle_data(strand, *frame);
  return {};
}

void StripeInput::take_header(Strand& strand) {
  const std::size_t part = std::min(strand.staged(), strand.header.size() - strand.header_got);
  std::memcpy(strand.header.data() + strand.header_got, strand.stage.data() + strand.staged_from,
              part);
  strand.header_got += part;
  strand.staged_from += part;
}

Result<std::size_t> StripeInput::take_staged(Strand& strand, std::span<const iovec> pieces,
                                             std::size_t skip) {
  std::size_t total = 0;
  while (strand.staged() > 0 && !ended()) {
    if (strand.frame_left == 0) {
      take_header(strand);
      if (strand.header_got < strand.header.size()) break;
      strand.header_got = 0;
      auto handled = handle(static_cast<std::size_t>(&strand - strands_.data()), strand);
      if (!handled) return handled.error();
      continue;
    }
    total += take_early(pieces, skip + total);
    std::array<iovec, kMostPieces> room;
    Areas areas;
    const Way way = way_of(strand);
    const auto places =
        places_of(strand, behind(pieces, skip + total, strand.frame_left, room), areas);
    std::size_t copied = 0;
    for (const iovec& each : places) {
      const std::size_t part = std::min(each.iov_len, strand.staged());
      std::memcpy(each.iov_base, strand.stage.data() + strand.staged_from, part);
      strand.staged_from += part;
      copied += part;
    }
    if (copied == 0) break;
    auto got = placed(strand, way, copied);
    if (!got) return got;
    total += *got;
  }
  return total;
}

std::size_t StripeInput::take_early(std::span<const iovec> pieces, std::size_t skip) {
  std::size_t total = 0;
  while (early_.continues(received_)) {
    std::array<iovec, 1> part;
    const auto room = behind(pieces, skip + total, early_.ranges().first().size(), part);
    if (room.empty()) break;
    const std::size_t copied =
        early_.copy(received_, {static_cast<std::byte*>(room[0].iov_base), room[0].iov_len});
    received_ += copied;
    total += copied;
    early_.forget(received_);
  }
  return total;
}

/// Reads the rest of the frame that is arriving, and what the peer sent behind it.
Result<std::size_t> StripeInput::read_channel(Strand& strand, Channel& channel,
                                              std::span<const iovec> pieces, std::size_t skip) {
  Areas areas;
  std::size_t count = 0;
  std::size_t direct = 0;
  Way way = Way::kNowhere;
  if (strand.frame_left > 0) {
    std::array<iovec, kMostPieces> room;
    way = way_of(strand);
    const auto places = places_of(strand, behind(pieces, skip, strand.frame_left, room), areas);
    if (places.empty()) return std::size_t{0};
    count = places.size();
    direct = size_of(places);
  }
  const bool beyond = direct == strand.frame_left;
  strand.staged_from = strand.staged_to = 0;
  if (beyond) areas[count++] = {strand.stage.data(), strand.stage.size()};
  auto got = channel.try_receive(std::span(areas).first(count));
  if (!got) return got;
  strand.may_have_more = *got == direct + (beyond ? strand.stage.size() : 0);
  const std::size_t in_place = std::min(*got, direct);
  strand.staged_to = *got - in_place;
  return placed(strand, way, in_place);
}

Result<std::size_t> StripeInput::read(std::size_t strand, Channel& channel,
                                      std::span<const iovec> pieces, std::size_t skip) {
  Strand& it = strands_[strand];
  std::size_t total = take_early(pieces, skip);
  auto staged = take_staged(it, pieces, skip + total);
  if (!staged) return staged;
  total += *staged;
  if (it.staged() > 0 || ended()) {
    it.may_have_more = false;
    return total;
  }
  it.may_have_more = false;
  auto direct = read_channel(it, channel, pieces, skip + total);
  if (!direct) {
    // What was taken before the error is the caller's.
    if (total > 0 && direct.error().kind != ErrorKind::kProtocol) return total;
    return direct;
  }
  total += *direct;
  staged = take_staged(it, pieces, skip + total);
  if (!staged) return staged;
  return total + *staged + take_early(pieces, skip + total + *staged);
}

}  // namespace impishim::wire
