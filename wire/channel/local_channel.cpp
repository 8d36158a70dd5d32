#include "wire/channel/local_channel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace impishim::wire {
namespace {

constexpr std::size_t kBytesAt = 4096;
constexpr std::size_t kMappingSize = kBytesAt + kRingCapacity;
constexpr std::uint64_t kMask = kRingCapacity - 1;
static_assert((kRingCapacity & kMask) == 0 && sizeof(RingState) <= kBytesAt);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// A wait finds out about a dead peer by its sleep; one that only polls looks at the socket once in so many empty reads.
constexpr std::uint32_t kEmptyReadsPerLook = 4096;

}  // namespace

Ring::Ring(Ring&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), bytes_(std::exchange(other.bytes_, nullptr)) {}

Ring& Ring::operator=(Ring&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Ring::~Ring() {
  if (state_ != nullptr) munmap(state_, kMappingSize);
}

Result<Ring> Ring::map(int descriptor) {
  void* memory = mmap(nullptr, kMappingSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return Error{ErrorKind::kSystem, fmt::format("cannot map shared memory: {}", std::strerror(errno))};
  Ring ring;
  ring.state_ = static_cast<RingState*>(memory);
  ring.bytes_ = static_cast<std::byte*>(memory) + kBytesAt;
  return ring;
}

Result<Ring> Ring::create(Descriptor& descriptor) {
  descriptor = Descriptor(memfd_create("impishim-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.valid() || ftruncate(descriptor.get(), kMappingSize) != 0 ||
      fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot make {} bytes of shared memory: {}", kMappingSize, std::strerror(errno))};
  }
  auto ring = map(descriptor.get());
  if (ring) new (ring->state_) RingState{};
  return ring;
}

Result<Ring> Ring::attach(const Descriptor& descriptor) {
  struct stat status {};
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (fstat(descriptor.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) != kMappingSize || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0) {
    return Error{ErrorKind::kProtocol, "a local peer offered shared memory of the wrong size or without seals"};
  }
  return map(descriptor.get());
}

std::size_t Ring::push(std::span<const iovec> pieces) {
  const std::uint64_t tail = state_->tail.load(std::memory_order_relaxed);
  const std::uint64_t used = tail - state_->head.load(std::memory_order_acquire);
  std::size_t room = used > kRingCapacity ? 0 : kRingCapacity - used;
  std::uint64_t at = tail;
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(piece.iov_len, room);
    const std::size_t first = std::min<std::size_t>(size, kRingCapacity - (at & kMask));
    const auto* from = static_cast<const std::byte*>(piece.iov_base);
    if (first > 0) std::memcpy(bytes_ + (at & kMask), from, first);
    if (size > first) std::memcpy(bytes_, from + first, size - first);
    at += size;
    room -= size;
  }
  state_->tail.store(at, std::memory_order_release);
  return at - tail;
}

std::size_t Ring::pop(std::span<const iovec> pieces) {
  const std::uint64_t head = state_->head.load(std::memory_order_relaxed);
  std::size_t there = std::min<std::uint64_t>(state_->tail.load(std::memory_order_acquire) - head, kRingCapacity);
  if (there == 0) return 0;
  std::uint64_t at = head;
  for (const iovec& piece : pieces) {
    const std::size_t size = std::min(piece.iov_len, there);
    const std::size_t first = std::min<std::size_t>(size, kRingCapacity - (at & kMask));
    auto* to = static_cast<std::byte*>(piece.iov_base);
    if (first > 0) std::memcpy(to, bytes_ + (at & kMask), first);
    if (size > first) std::memcpy(to + first, bytes_, size - first);
    at += size;
    there -= size;
  }
  state_->head.store(at, std::memory_order_release);
  return at - head;
}

bool Ring::empty() const {
  return state_->tail.load(std::memory_order_acquire) == state_->head.load(std::memory_order_relaxed);
}

SharedMemoryChannel::SharedMemoryChannel(Ring in, Ring out, Descriptor socket, std::string peer_name)
    : in_(std::move(in)), out_(std::move(out)), socket_(std::move(socket)), peer_name_(std::move(peer_name)) {}

void SharedMemoryChannel::ring_bell() {
  const char token = 1;
  // A full socket buffer is full of tokens: the peer wakes anyway. A dead peer is noticed by reading.
  [[maybe_unused]] const auto sent = send(socket_.get(), &token, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void SharedMemoryChannel::drain_bell() {
  std::array<char, 64> tokens;
  for (;;) {
    const ssize_t size = recv(socket_.get(), tokens.data(), tokens.size(), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) peer_gone_ = true;
    if (size < static_cast<ssize_t>(tokens.size())) return;
  }
}

Result<std::size_t> SharedMemoryChannel::try_send(std::span<const iovec> pieces) {
  if (peer_gone_) return Error{ErrorKind::kConnection, "the process has ended"};
  std::size_t sent = out_.push(pieces);
  RingState& state = out_.state();
  // Announce the wish for room before looking for room again: the consumer looks for the wish after making room.
  if (sent == 0 && want_output_) {
    state.producer_waits.store(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    sent = out_.push(pieces);
  }
  if (sent == 0) return sent;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (state.consumer_sleeps.load(std::memory_order_relaxed) != 0 && state.consumer_sleeps.exchange(0) != 0) ring_bell();
  return sent;
}

Result<std::size_t> SharedMemoryChannel::try_receive(std::span<const iovec> pieces) {
  const std::size_t received = in_.pop(pieces);
  if (received > 0) {
    RingState& state = in_.state();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (state.producer_waits.load(std::memory_order_relaxed) != 0 && state.producer_waits.exchange(0) != 0) ring_bell();
    return received;
  }
  if (peer_gone_) {
    // What it wrote before it ended comes first.
    if (!in_.empty()) return in_.pop(pieces);
    return Error{ErrorKind::kConnection, "the process has ended"};
  }
  if (++empty_reads_ % kEmptyReadsPerLook == 0) drain_bell();
  return std::size_t{0};
}

std::uint32_t SharedMemoryChannel::epoll_events() const { return EPOLLIN; }

bool SharedMemoryChannel::set_want_output(bool want) {
  want_output_ = want;
  return false;
}

bool SharedMemoryChannel::prepare_to_sleep() {
  in_.state().consumer_sleeps.store(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return in_.empty() && !peer_gone_;
}

void SharedMemoryChannel::end_sleep() {
  in_.state().consumer_sleeps.store(0, std::memory_order_relaxed);
  drain_bell();
}

void SharedMemoryChannel::shutdown_output() { shutdown(socket_.get(), SHUT_WR); }

}  // namespace impishim::wire
