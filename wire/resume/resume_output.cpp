// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resume_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/pieces.hpp"
#include "wire/resume/resend_buffer.hpp"
#include "wire/resume/resume_frame.hpp"

namespace impishim::wire {
namespace {

Error impossible(const char* what, std::uint64_t position, const ResendBuffer& kept) {
  return Error{ErrorKind::kProtocol,
               fmt::format("the peer {} {} bytes of the stream, of which {} to {} were possible",
                           what, position, kept.begin(), kept.end())};
}

}  // namespace

void ResumeOutput::begin() {
  header_sent_ = header_.size();
  frame_left_ = 0;
  resume_due_ = true;
  question_due_ = false;
  peer_ready_ = false;
  end_sent_ = false;
}

Result<void> ResumeOutput::resume_from(std::uint64_t position) {
  if (position > most_sent_) return impossible("wants to continue behind", position, kept_);
  // The peer began this connection before a later one, which this end had first.
  if (position < kept_.begin())
    return Error{ErrorKind::kConnection, "it is older than one that it replaces"};
  kept_.forget(position);
  sent_ = position;
  peer_ready_ = true;
  return {};
}

Result<void> ResumeOutput::acknowledge(std::uint64_t position) {
  if (position < kept_.begin() || position > sent_)
    return impossible("acknowledges", position, kept_);
  kept_.forget(position);
  return {};
}

bool ResumeOutput::has_output() const {
  return in_frame() || resume_due_ || acknowledgement_due_ || question_due_ || can_end() ||
         (peer_ready_ && sent_ < kept_.end());
}

void ResumeOutput::set_header(const ResumeFrame& frame) {
  header_ = encode_resume_frame(frame);
  header_sent_ = 0;
  frame_left_ = frame.size;
  acknowledged_input_ = frame.received;
  acknowledgement_due_ = false;
}

bool ResumeOutput::begin_frame(std::uint64_t received) {
  if (resume_due_) {
    resume_due_ = false;
    set_header({ResumeFrameType::kResume, 0, received});
  } else if (peer_ready_ && sent_ < kept_.end()) {
    const auto size = std::min<std::uint64_t>(kept_.end() - sent_, ResumeFrame::kMostFrame);
    set_header({ResumeFrameType::kData, static_cast<std::uint32_t>(size), received});
  } else if (can_end()) {
    end_sent_ = true;
    set_header({ResumeFrameType::kEnd, 0, received});
  } else if (question_due_) {
    question_due_ = false;
    set_header({ResumeFrameType::kQuestion, 0, received});
  } else if (acknowledgement_due_) {
    set_header({ResumeFrameType::kAcknowledge, 0, received});
  } else {
    return false;
  }
  return true;
}

std::span<const iovec> ResumeOutput::rest_of_frame(Pieces& pieces) {
  std::size_t count = 0;
  if (header_sent_ < header_.size())
    pieces[count++] = {header_.data() + header_sent_, header_.size() - header_sent_};
  return std::span(pieces).first(
      count + kept_.find(sent_, frame_left_, std::span(pieces).subspan(count)).size());
}

/// Removes what the channel has taken from the frame that has begun.
void ResumeOutput::drop_sent(std::size_t bytes) {
  const std::size_t of_header = std::min(bytes, header_.size() - header_sent_);
  header_sent_ += of_header;
  const std::size_t of_data = bytes - of_header;
  frame_left_ -= of_data;
  if (sent_ < most_sent_) repeated_ += std::min<std::uint64_t>(of_data, most_sent_ - sent_);
  sent_ += of_data;
  most_sent_ = std::max(most_sent_, sent_);
}

Result<void> ResumeOutput::flush(Channel& channel, std::uint64_t received) {
  while (in_frame() || begin_frame(received)) {
    Pieces pieces;
    const auto rest = rest_of_frame(pieces);
    auto taken = channel.try_send(rest);
    if (!taken) return taken.error();
    drop_sent(*taken);
    if (*taken < size_of(rest)) return {};
  }
  return {};
}

Result<std::size_t> ResumeOutput::send(Channel& channel, std::span<const iovec> pieces,
                                       std::uint64_t received) {
  auto flushed = flush(channel, received);
  if (!flushed) return flushed.error();
  if (in_frame() || !peer_ready_ || end_due_) return std::size_t{0};
  pieces = pieces.first(std::min(pieces.size(), kMostPieces - 1));
  const std::size_t size =
      std::min({size_of(pieces), kept_.room(), std::size_t{ResumeFrame::kMostFrame}});
  if (size == 0) return std::size_t{0};
  const ResumeHeader header =
      encode_resume_frame({ResumeFrameType::kData, static_cast<std::uint32_t>(size), received});
  Pieces frame;
  // An iovec serves reading and writing alike, so it has no const form.
  frame[0] = {
      const_cast<std::byte*>(header.data()),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      header.size()};
  const auto data = limited(pieces, size, std::span(frame).subspan(1));
  auto taken = channel.try_send(std::span(frame).first(1 + data.size()));
  if (!taken || *taken == 0) return taken;
  // The frame has begun, so all of it is taken.
  set_header({ResumeFrameType::kData, static_cast<std::uint32_t>(size), received});
  kept_.append(data, size);
  drop_sent(*taken);
  return size;
}

}  // namespace impishim::wire
