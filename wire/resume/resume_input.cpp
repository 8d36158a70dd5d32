// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resume_input.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/resume_frame.hpp"

namespace impishim::wire {
namespace {

/// Pieces of the caller that one read uses; further ones are left to the next read.
constexpr std::size_t kMostPieces = 16;

Error broken(const char* what) { return Error{ErrorKind::kProtocol, what}; }

/// Returns the parts of `pieces` behind the first `skip` bytes.
std::span<const iovec> behind(std::span<const iovec> pieces, std::size_t skip,
                              std::array<iovec, kMostPieces>& parts) {
  std::size_t count = 0;
  for (const iovec& piece : pieces) {
    const std::size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    if (skipped == piece.iov_len || count == parts.size()) continue;
    parts[count++] = {static_cast<std::byte*>(piece.iov_base) + skipped, piece.iov_len - skipped};
  }
  return std::span(parts).first(count);
}

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

/// Returns the memory at `position` of the areas, up to the end of its area and of `size`.
std::span<std::byte> part_at(std::span<const iovec> areas, std::size_t position, std::size_t size) {
  for (const iovec& area : areas) {
    if (position < area.iov_len)
      return {static_cast<std::byte*>(area.iov_base) + position,
              std::min(size, area.iov_len - position)};
    position -= area.iov_len;
  }
  return {};
}

/// Moves `size` bytes of the areas from one position to a smaller one.
void move_down(std::span<const iovec> areas, std::size_t from, std::size_t to, std::size_t size) {
  if (from == to) return;
  while (size > 0) {
    const auto source = part_at(areas, from, size);
    const auto target = part_at(areas, to, source.size());
    std::memmove(target.data(), source.data(), target.size());
    from += target.size();
    to += target.size();
    size -= target.size();
  }
}

/// The pieces of one read: data of the frame that is arriving, then the next header, then what the
/// peer sent behind it.
class ReadPlan {
 public:
  ReadPlan(std::span<const iovec> areas, std::size_t frame_left, std::span<std::byte> header) {
    std::size_t left = frame_left;
    bool with_header = false;
    for (const iovec& area : areas) {
      const std::size_t direct = std::min(left, area.iov_len);
      add(area.iov_base, direct);
      left -= direct;
      if (left > 0) continue;
      if (!with_header) add(header.data(), header.size());
      with_header = true;
      add(static_cast<std::byte*>(area.iov_base) + direct, area.iov_len - direct);
    }
    if (left == 0 && !with_header) add(header.data(), header.size());
  }
  [[nodiscard]] std::span<const iovec> pieces() const { return std::span(pieces_).first(count_); }

 private:
  void add(void* memory, std::size_t size) {
    if (size > 0) pieces_[count_++] = {memory, size};
  }
  std::array<iovec, 2 * kMostPieces + 1> pieces_{};
  std::size_t count_ = 0;
};

}  // namespace

void ResumeInput::begin() {
  header_got_ = 0;
  frame_left_ = 0;
  begun_ = false;
}

Result<void> ResumeInput::handle(const ResumeFrame& frame) {
  const bool first = frame.type == ResumeFrameType::kResume;
  if (first == begun_)
    return broken(first ? "the peer resumes a connection twice"
                        : "a connection of a resumable stream begins with another frame");
  if (first) {
    begun_ = true;
    return output_.resume_from(frame.received);
  }
  if (ended_ && frame.type == ResumeFrameType::kData)
    return broken("bytes follow the end of a resumable stream");
  frame_left_ = frame.size;
  if (frame.type == ResumeFrameType::kEnd) ended_ = true;
  if (frame.type == ResumeFrameType::kEnd || frame.type == ResumeFrameType::kQuestion)
    output_.want_acknowledgement();
  return output_.acknowledge(frame.received);
}

Result<std::size_t> ResumeInput::take_header(std::span<const std::byte> bytes) {
  const std::size_t part = std::min(bytes.size(), header_.size() - header_got_);
  // A read may have placed the bytes here already.
  if (part > 0 && bytes.data() != header_.data() + header_got_)
    std::memcpy(header_.data() + header_got_, bytes.data(), part);
  header_got_ += part;
  if (header_got_ < header_.size()) return part;
  header_got_ = 0;
  ++frames_;
  auto frame = decode_resume_frame(header_);
  if (!frame) return frame.error();
  auto handled = handle(*frame);
  if (!handled) return handled.error();
  return part;
}

std::size_t ResumeInput::take_data(std::size_t available) {
  const std::size_t part = std::min(available, frame_left_);
  frame_left_ -= part;
  received_ += part;
  return part;
}

/// Takes the headers out of the bytes of the areas from `begin` to `end`, and moves the bytes of
/// the stream together. Returns the position behind the last one.
Result<std::size_t> ResumeInput::close_gaps(std::span<const iovec> areas, std::size_t begin,
                                            std::size_t end) {
  std::size_t place = begin;
  while (begin < end) {
    if (frame_left_ > 0) {
      const std::size_t part = take_data(end - begin);
      move_down(areas, begin, place, part);
      begin += part;
      place += part;
      continue;
    }
    auto taken = take_header(part_at(areas, begin, end - begin));
    if (!taken) return taken;
    begin += *taken;
  }
  return place;
}

Result<std::size_t> ResumeInput::read(Channel& channel, std::span<const iovec> pieces,
                                      std::size_t skip) {
  std::array<iovec, kMostPieces> parts;
  const auto areas = behind(pieces, skip, parts);
  const auto header_rest = std::span(header_).subspan(header_got_);
  const ReadPlan plan(areas, frame_left_, header_rest);
  may_have_more_ = false;
  if (plan.pieces().empty()) return std::size_t{0};
  auto got = channel.try_receive(plan.pieces());
  may_have_more_ = got && *got == size_of(plan.pieces());
  if (!got || *got == 0) return got;
  std::size_t left = *got;
  const std::size_t direct = take_data(left);
  left -= direct;
  if (left == 0) return direct;
  auto header = take_header(header_rest.first(std::min(left, header_rest.size())));
  if (!header) return header;
  left -= *header;
  return close_gaps(areas, direct, direct + left);
}

}  // namespace impishim::wire
