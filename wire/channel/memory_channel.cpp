// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/memory_channel.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

MemoryChannel::MemoryChannel(MemoryChannelOptions options, int end)
    : options_(options),
      random_(options.seed + static_cast<unsigned>(end)),
      event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

MemoryChannel::~MemoryChannel() {
  if (out_ != nullptr) out_->ended = in_->ended = true;
}

std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> MemoryChannel::make_pair(
    const MemoryChannelOptions& options) {
  auto left = std::make_unique<MemoryChannel>(options, 1);
  auto right = std::make_unique<MemoryChannel>(options, 2);
  left->in_ = right->out_ = std::make_shared<Stream>();
  right->in_ = left->out_ = std::make_shared<Stream>();
  return {std::move(left), std::move(right)};
}

std::size_t MemoryChannel::shortened(std::size_t size) {
  if (options_.seed == 0 || size == 0) return size;
  return random_() % 4 == 0 ? 0 : 1 + random_() % size;
}

Result<std::size_t> MemoryChannel::try_send(std::span<const iovec> pieces) {
  if (out_->ended) return Error{ErrorKind::kConnection, "the peer has closed"};
  std::size_t offered = 0;
  for (const iovec& piece : pieces) offered += piece.iov_len;
  std::size_t room = shortened(
      std::min(offered, options_.capacity - std::min(options_.capacity, out_->bytes.size())));
  if (options_.cut_after != 0)
    room = std::min<std::uint64_t>(room, options_.cut_after - out_->carried);
  std::size_t taken = 0;
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(piece.iov_len, room - taken);
    const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
    out_->bytes.insert(out_->bytes.end(), bytes, bytes + size);
    taken += size;
  }
  out_->carried += taken;
  if (options_.cut_after != 0 && out_->carried >= options_.cut_after) out_->ended = true;
  return taken;
}

Result<std::size_t> MemoryChannel::try_receive(std::span<const iovec> pieces) {
  if (in_->bytes.empty() && in_->ended) return Error{ErrorKind::kConnection, "end of stream"};
  std::size_t wanted = 0;
  for (const iovec& piece : pieces) wanted += piece.iov_len;
  const std::size_t available = shortened(std::min(wanted, in_->bytes.size()));
  std::size_t given = 0;
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(piece.iov_len, available - given);
    std::copy_n(in_->bytes.begin(), size, static_cast<std::byte*>(piece.iov_base));
    in_->bytes.erase(in_->bytes.begin(), in_->bytes.begin() + static_cast<std::ptrdiff_t>(size));
    given += size;
  }
  return given;
}

std::uint32_t MemoryChannel::epoll_events() const { return EPOLLIN; }
bool MemoryChannel::set_want_output(bool /*want*/) { return false; }
// Tests poll; nothing could end a sleep.
bool MemoryChannel::prepare_to_sleep() { return false; }
void MemoryChannel::shutdown_output() { out_->ended = true; }

}  // namespace impishim::wire
