// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/shared_memory_channel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kBytesAt = 4096;
constexpr std::size_t kMappingSize = kBytesAt + kRingCapacity;
constexpr std::uint64_t kMask = kRingCapacity - 1;
static_assert((kRingCapacity & kMask) == 0 && sizeof(RingState) <= kBytesAt);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// A waiting owner notices a dead peer when it sleeps. An owner that only polls checks the socket
/// once in this many empty reads.
constexpr std::uint32_t kEmptyReadsPerLook = 4096;

/// A long copy is published in parts of this size, so that both sides copy at the same time.
constexpr std::size_t kPublishSize = 8192;

std::size_t total_size(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

}  // namespace

Ring::Ring(Ring&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      tail_(other.tail_),
      head_seen_(other.head_seen_),
      head_(other.head_) {}

Ring& Ring::operator=(Ring&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(bytes_, other.bytes_);
  tail_ = other.tail_;
  head_seen_ = other.head_seen_;
  head_ = other.head_;
  return *this;
}

Ring::~Ring() {
  if (state_ != nullptr) munmap(state_, kMappingSize);
}

Result<Ring> Ring::map(int descriptor) {
  void* memory = mmap(nullptr, kMappingSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED)
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot map shared memory: {}", std::strerror(errno))};
  Ring ring;
  ring.state_ = static_cast<RingState*>(memory);
  ring.bytes_ = static_cast<std::byte*>(memory) + kBytesAt;
  return ring;
}

Result<Ring> Ring::create(Descriptor& descriptor) {
  descriptor = Descriptor(memfd_create("impishim-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.valid() || ftruncate(descriptor.get(), kMappingSize) != 0 ||
      fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return Error{ErrorKind::kSystem, fmt::format("cannot make {} bytes of shared memory: {}",
                                                 kMappingSize, std::strerror(errno))};
  }
  auto ring = map(descriptor.get());
  if (ring) new (ring->state_) RingState{};
  return ring;
}

Result<Ring> Ring::attach(const Descriptor& descriptor) {
  struct stat status {};
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (fstat(descriptor.get(), &status) != 0 ||
      static_cast<std::size_t>(status.st_size) != kMappingSize || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0) {
    return Error{ErrorKind::kProtocol,
                 "a local peer offered shared memory of the wrong size or without seals"};
  }
  return map(descriptor.get());
}

void Ring::copy_in(std::uint64_t at, const std::byte* from, std::size_t size) {
  const std::size_t first = std::min<std::size_t>(size, kRingCapacity - (at & kMask));
  std::memcpy(bytes_ + (at & kMask), from, first);
  if (size > first) std::memcpy(bytes_, from + first, size - first);
}

void Ring::copy_out(std::uint64_t at, std::byte* to, std::size_t size) const {
  const std::size_t first = std::min<std::size_t>(size, kRingCapacity - (at & kMask));
  std::memcpy(to, bytes_ + (at & kMask), first);
  if (size > first) std::memcpy(to + first, bytes_, size - first);
}

std::size_t Ring::push(std::span<const iovec> pieces) {
  const std::size_t wanted = total_size(pieces);
  if (kRingCapacity - (tail_ - head_seen_) < wanted) {
    const std::uint64_t head = state_->head.load(std::memory_order_seq_cst);
    // An impossible index comes from a faulty or malicious peer, which gets no data.
    if (tail_ - head > kRingCapacity) return 0;
    head_seen_ = head;
  }
  std::size_t left = std::min<std::size_t>(wanted, kRingCapacity - (tail_ - head_seen_));
  if (left == 0) return 0;
  const std::uint64_t before = tail_;
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(piece.iov_len, left);
    const auto* from = static_cast<const std::byte*>(piece.iov_base);
    for (std::size_t done = 0; done < size;) {
      const std::size_t part = std::min(size - done, kPublishSize);
      copy_in(tail_, from + done, part);
      done += part;
      tail_ += part;
      if (part == kPublishSize) state_->tail.store(tail_, std::memory_order_release);
    }
    left -= size;
  }
  state_->tail.store(tail_, std::memory_order_seq_cst);
  return tail_ - before;
}

std::size_t Ring::pop(std::span<const iovec> pieces) {
  std::size_t left =
      std::min<std::uint64_t>(state_->tail.load(std::memory_order_acquire) - head_, kRingCapacity);
  if (left == 0) return 0;
  const std::uint64_t before = head_;
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(piece.iov_len, left);
    auto* to = static_cast<std::byte*>(piece.iov_base);
    for (std::size_t done = 0; done < size;) {
      const std::size_t part = std::min(size - done, kPublishSize);
      copy_out(head_, to + done, part);
      done += part;
      head_ += part;
      if (part == kPublishSize) state_->head.store(head_, std::memory_order_release);
    }
    left -= size;
  }
  if (head_ != before) state_->head.store(head_, std::memory_order_seq_cst);
  return head_ - before;
}

bool Ring::empty() const { return state_->tail.load(std::memory_order_seq_cst) == head_; }

bool Ring::has_room() const {
  return tail_ - state_->head.load(std::memory_order_seq_cst) < kRingCapacity;
}

SharedMemoryChannel::SharedMemoryChannel(Ring in, Ring out, Descriptor socket,
                                         std::string peer_name)
    : in_(std::move(in)),
      out_(std::move(out)),
      socket_(std::move(socket)),
      peer_name_(std::move(peer_name)) {}

void SharedMemoryChannel::ring_bell() {
  const char token = 1;
  // If the socket buffer is full, it is full of tokens, so the peer wakes anyway.
  const ssize_t sent = send(socket_.get(), &token, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && !would_block(errno)) peer_has_gone();
}

bool SharedMemoryChannel::drain_bell() {
  std::array<char, 64> tokens;
  bool drained = false;
  for (;;) {
    const ssize_t size = recv(socket_.get(), tokens.data(), tokens.size(), MSG_DONTWAIT);
    drained = drained || size > 0;
    if (size == static_cast<ssize_t>(tokens.size())) continue;
    if (size > 0) return drained;
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) peer_has_gone();
      return drained;
    }
    input_ended_ = true;
    // POLLHUP: the peer has not only shut down its output; it has closed the socket or died.
    pollfd state{socket_.get(), 0, 0};
    if (poll(&state, 1, 0) > 0) peer_has_gone();
    return drained;
  }
}

void SharedMemoryChannel::peer_has_gone() {
  input_ended_ = true;
  peer_gone_ = true;
}

Result<std::size_t> SharedMemoryChannel::try_send(std::span<const iovec> pieces) {
  if (peer_gone_) return Error{ErrorKind::kConnection, "the process has ended"};
  std::size_t sent = out_.push(pieces);
  RingState& state = out_.state();
  if (sent == 0) {
    if (!want_output_) return sent;
    // Set the flag first, then try again: see Ring.
    state.producer_waits.store(1, std::memory_order_seq_cst);
    sent = out_.push(pieces);
    if (sent == 0) return sent;
  }
  if (state.consumer_sleeps.load(std::memory_order_seq_cst) != 0 &&
      state.consumer_sleeps.exchange(0) != 0)
    ring_bell();
  return sent;
}

Result<std::size_t> SharedMemoryChannel::try_receive(std::span<const iovec> pieces) {
  const std::size_t received = in_.pop(pieces);
  if (received > 0) {
    RingState& state = in_.state();
    if (state.producer_waits.load(std::memory_order_seq_cst) != 0 &&
        state.producer_waits.exchange(0) != 0)
      ring_bell();
    return received;
  }
  // The end was noticed before the ring was read, so the ring cannot hold more bytes.
  if (peer_gone_) return Error{ErrorKind::kConnection, "the process has ended"};
  if (input_ended_) return Error{ErrorKind::kConnection, "end of stream"};
  if (++empty_reads_ % kEmptyReadsPerLook == 0 && drain_bell()) {
    // The token may have been for another thread, which still sleeps and would not be woken again.
    // So set the flag and then read again, as before a sleep. If no thread sleeps, this costs one
    // token.
    if (!prepare_to_sleep()) return try_receive(pieces);
  }
  return std::size_t{0};
}

std::uint32_t SharedMemoryChannel::epoll_events() const { return EPOLLIN; }

bool SharedMemoryChannel::set_want_output(bool want) {
  want_output_ = want;
  out_.state().producer_waits.store(want ? 1 : 0, std::memory_order_seq_cst);
  return false;
}

bool SharedMemoryChannel::prepare_to_sleep() {
  in_.state().consumer_sleeps.store(1, std::memory_order_seq_cst);
  if (want_output_) {
    out_.state().producer_waits.store(1, std::memory_order_seq_cst);
    if (out_.has_room()) return false;
  }
  return in_.empty() && !input_ended_;
}

void SharedMemoryChannel::end_sleep() {
  in_.state().consumer_sleeps.store(0, std::memory_order_relaxed);
  static_cast<void>(drain_bell());
}

void SharedMemoryChannel::shutdown_output() { shutdown(socket_.get(), SHUT_WR); }

}  // namespace impishim::wire
