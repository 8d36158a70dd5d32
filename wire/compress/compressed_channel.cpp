// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/compressed_channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/zstd_library.hpp"

namespace impishim::wire {
namespace {

/// Longest time for which the destructor waits for room for the last bytes.
constexpr std::chrono::milliseconds kLastBytes{250};
/// Most parts of memory that form one piece of the stream.
constexpr std::size_t kMostParts = 64;

/// Up to this size a plain piece is copied behind its header: the kernel takes one part of memory
/// faster than two.
constexpr std::size_t kMostCopied = 512;

using Part = std::span<const std::byte>;

iovec piece_of(Part bytes) {
  // An iovec serves reading and writing alike, so it has no const form.
  return {const_cast<std::byte*>(bytes.data()),
          bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

/// Divides memory into pieces of the stream.
class Cutter {
 public:
  explicit Cutter(std::span<const iovec> memory) : memory_(memory) {}

  /// Finds the parts of the next piece. Returns false if no bytes are left.
  bool next() {
    count_ = size_ = 0;
    while (!memory_.empty() && count_ < kMostParts && size_ < Piece::kMostPlain) {
      const iovec& front = memory_.front();
      const auto rest =
          Part(static_cast<const std::byte*>(front.iov_base), front.iov_len).subspan(used_);
      const Part part = rest.first(std::min<std::size_t>(rest.size(), Piece::kMostPlain - size_));
      if (!part.empty()) parts_[count_++] = part;
      size_ += part.size();
      used_ += part.size();
      if (used_ < front.iov_len) break;
      used_ = 0;
      memory_ = memory_.subspan(1);
    }
    return size_ > 0;
  }
  [[nodiscard]] std::span<const Part> parts() const { return std::span(parts_).first(count_); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::span<const iovec> memory_;
  std::size_t used_ = 0;  ///< bytes of the first memory that belong to earlier pieces
  std::array<Part, kMostParts> parts_;
  std::size_t count_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

Result<std::unique_ptr<Channel>> CompressedChannel::make(std::unique_ptr<Channel> channel) {
  auto loaded = load_zstd();
  if (!loaded) return loaded.error();
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  Descriptor ready(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event of_channel{channel->epoll_events(), {}};
  epoll_event of_ready{0, {}};
  if (!events.valid() || !ready.valid() ||
      epoll_ctl(events.get(), EPOLL_CTL_ADD, channel->descriptor(), &of_channel) != 0 ||
      epoll_ctl(events.get(), EPOLL_CTL_ADD, ready.get(), &of_ready) != 0) {
    return Error{ErrorKind::kSystem, fmt::format("cannot make a compressed channel to {}: {}",
                                                 channel->peer_name(), strerror(errno))};
  }
  return std::unique_ptr<Channel>(
      std::make_unique<CompressedChannel>(std::move(channel), std::move(events), std::move(ready)));
}

CompressedChannel::CompressedChannel(std::unique_ptr<Channel> channel, Descriptor events,
                                     Descriptor ready)
    : channel_(std::move(channel)),
      events_(std::move(events)),
      ready_(std::move(ready)),
      channel_events_(channel_->epoll_events()) {}

CompressedChannel::~CompressedChannel() {
  log(LogLevel::kInfo, "compression to {}: {} bytes became {}, {} went plain", peer_name(),
      compressed_, compressed_size_, sent_plain_);
  const auto end = std::chrono::steady_clock::now() + kLastBytes;
  while (channel_->descriptor() >= 0 && !output_.empty()) {
    flush();
    if (output_.empty()) return;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd room{channel_->descriptor(),
                static_cast<short>((channel_->epoll_events() & EPOLLOUT) != 0 ? POLLOUT : POLLIN),
                0};
    if (left.count() <= 0 || poll(&room, 1, static_cast<int>(left.count())) <= 0) return;
  }
}

/// After an error there is nothing more to send.
void CompressedChannel::fail_output(const Error& error) {
  output_error_ = error;
  output_.remove(output_.bytes().size());
}

/// Sends what waits, until the other channel is full.
void CompressedChannel::flush() {
  while (!output_.empty()) {
    const iovec piece = piece_of(output_.bytes());
    auto sent = channel_->try_send(std::span(&piece, 1));
    if (!sent) {
      fail_output(sent.error());
    } else if (*sent == 0) {
      choice_.found_full();
      break;
    } else {
      output_.remove(*sent);
    }
  }
  if (end_wanted_ && !end_sent_ && output_.empty()) {
    end_sent_ = true;
    channel_->shutdown_output();
  }
  watch_channel();
}

void CompressedChannel::watch_channel() {
  const bool output = want_output_ || !output_.empty();
  if (output == wanted_of_channel_) return;
  wanted_of_channel_ = output;
  if (!channel_->set_want_output(output)) return;
  channel_events_ = channel_->epoll_events();
  epoll_event event{channel_events_, {}};
  // The descriptor is in the set, so the call cannot fail.
  static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_MOD, channel_->descriptor(), &event));
}

void CompressedChannel::announce_input() {
  const bool input = has_input();
  if (input == announced_) return;
  announced_ = input;
  epoll_event event{input ? static_cast<std::uint32_t>(EPOLLIN) : 0, {}};
  static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_MOD, ready_.get(), &event));
}

/// Compresses a piece behind the output. Returns false if it does not shrink, or if zstd fails.
bool CompressedChannel::append_compressed(std::span<const Part> parts, std::size_t size) {
  output_.make_room(kPieceRoom);
  auto carried = encoder_.compress(parts, size, output_.room());
  if (!carried) {
    fail_output(carried.error());
    return false;
  }
  choice_.tried(size, *carried > 0);
  if (*carried == 0) return false;
  output_.add(*carried);
  compressed_ += size;
  compressed_size_ += *carried;
  return true;
}

/// Sends a piece from where it is, if nothing waits. What the other channel does not take now is
/// copied. Returns 0 if it takes nothing.
std::size_t CompressedChannel::send_plain(std::span<const Part> parts, std::size_t size) {
  if (!output_.empty()) return 0;
  const auto number = static_cast<std::uint32_t>(size);
  const PieceHeader header = encode_piece_header({PieceKind::kPlain, number, number});
  std::array<iovec, kMostParts + 1> pieces;
  std::array<std::byte, Piece::kHeaderSize + kMostCopied> copy;
  std::size_t count = 1;
  if (size <= kMostCopied) {
    auto end = std::ranges::copy(header, copy.begin()).out;
    for (const Part part : parts) end = std::ranges::copy(part, end).out;
    pieces[0] = piece_of(std::span(copy).first(Piece::kHeaderSize + size));
  } else {
    pieces[0] = piece_of(header);
    std::ranges::transform(parts, pieces.begin() + 1, piece_of);
    count += parts.size();
  }
  const auto whole = std::span(pieces).first(count);
  auto sent = channel_->try_send(whole);
  if (!sent) fail_output(sent.error());
  if (!sent || *sent == 0) {
    choice_.found_full();
    return 0;
  }
  choice_.went_plain(size);
  sent_plain_ += size;
  std::size_t skip = *sent;
  for (const iovec& piece : whole) {
    const std::size_t skipped = std::min(skip, piece.iov_len);
    skip -= skipped;
    const std::size_t left = piece.iov_len - skipped;
    if (left == 0) continue;
    std::memcpy(output_.room().data(), static_cast<const std::byte*>(piece.iov_base) + skipped,
                left);
    output_.add(left);
  }
  return size;
}

Result<std::size_t> CompressedChannel::try_send(std::span<const iovec> pieces) {
  if (!output_.empty()) flush();
  std::size_t taken = 0;
  Cutter cutter(pieces);
  while (!output_error_ && output_.bytes().size() < kMostWaiting && cutter.next()) {
    const bool compressed =
        choice_.compresses(cutter.size()) && append_compressed(cutter.parts(), cutter.size());
    if (output_error_) break;
    if (!compressed && send_plain(cutter.parts(), cutter.size()) == 0) break;
    taken += cutter.size();
    if (!output_.empty()) flush();
  }
  if (output_error_) return *output_error_;
  return taken;
}

/// Reads the other channel once, as much as there is room for.
void CompressedChannel::read_channel() {
  const auto room = decoder_.input_room();
  if (room.empty() || input_error_) return;
  const iovec piece{room.data(), room.size()};
  auto got = channel_->try_receive(std::span(&piece, 1));
  if (got) {
    decoder_.add_input(*got);
  } else {
    input_error_ = got.error();
  }
}

Error CompressedChannel::end_of_input() const {
  if (decoder_.between_pieces()) return *input_error_;
  return {input_error_->kind, input_error_->text + " (inside a piece: the connection was cut)"};
}

Result<std::size_t> CompressedChannel::try_receive(std::span<const iovec> pieces) {
  if (!output_.empty()) flush();
  std::size_t wanted = 0;
  for (const iovec& piece : pieces) wanted += piece.iov_len;
  std::size_t total = 0;
  if (decoder_.has_input()) {
    auto first = decoder_.read(pieces);
    if (!first) return first;
    total = *first;
  }
  if (total < wanted) {
    read_channel();
    auto second = decoder_.read(pieces, total);
    if (!second && total == 0) return second;
    if (second) total += *second;
  }
  announce_input();
  if (total == 0 && input_error_ && wanted > 0) return end_of_input();
  return total;
}

std::uint32_t CompressedChannel::epoll_events() const { return EPOLLIN; }

bool CompressedChannel::set_want_output(bool want) {
  want_output_ = want;
  watch_channel();
  return false;
}

bool CompressedChannel::prepare_to_sleep() {
  if (!output_.empty()) flush();
  const bool nothing = channel_->prepare_to_sleep();
  return nothing && !has_input();
}

void CompressedChannel::shutdown_output() {
  end_wanted_ = true;
  flush();
}

void CompressedChannel::close_in_forked_child() {
  channel_->close_in_forked_child();
  events_.reset();
  ready_.reset();
}

}  // namespace impishim::wire
