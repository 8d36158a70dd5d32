// SPDX-License-Identifier: Apache-2.0
/// A channel between two procs of one host. It has a ring of shared memory per direction, and a
/// Unix socket. The socket carries wake-ups, and its end shows that the peer has died.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// Capacity of a ring in bytes. A power of two.
inline constexpr std::size_t kRingCapacity = 256U << 10U;

/// The shared state of one direction. The consumer writes `head`, the producer writes `tail`; both
/// only grow.
struct RingState {
  alignas(64) std::atomic<std::uint64_t> head;
  alignas(64) std::atomic<std::uint64_t> tail;
  alignas(
      64) std::atomic<std::uint32_t> consumer_sleeps;  ///< write a wake-up token after adding bytes
  std::atomic<std::uint32_t> producer_waits;           ///< write a wake-up token after taking bytes
};

/// A mapped ring with a single producer and a single consumer. push() and has_room() belong to the
/// producer, pop() and empty() to the consumer. Each side keeps its own index. A peer that writes
/// wrong values into the shared state can therefore only lose its own data.
///
/// Sleep protocol: one side sets its flag and then reads the other side's index; the other side
/// changes its index and then reads the flag. All four accesses are sequentially consistent, so at
/// least one side sees the other's change. No wake-up is lost, and none is sent to a side that is
/// awake.
class Ring {
 public:
  Ring() = default;
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&& other) noexcept;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  /// Creates shared memory of the right size, sealed against shrinking. `descriptor` receives its
  /// descriptor for the peer.
  [[nodiscard]] static Result<Ring> create(Descriptor& descriptor);
  /// Maps a peer's ring. Rejects a ring of another size, or one that could shrink while it is
  /// mapped.
  [[nodiscard]] static Result<Ring> attach(const Descriptor& descriptor);

  [[nodiscard]] RingState& state() const { return *state_; }
  /// Copies in as many bytes as fit, and returns their number.
  std::size_t push(std::span<const iovec> pieces);
  /// Copies out the bytes that are there, and returns their number.
  std::size_t pop(std::span<const iovec> pieces);
  [[nodiscard]] bool empty() const;
  [[nodiscard]] bool has_room() const;

 private:
  [[nodiscard]] static Result<Ring> map(int descriptor);
  void copy_in(std::uint64_t at, const std::byte* from, std::size_t size);
  void copy_out(std::uint64_t at, std::byte* to, std::size_t size) const;
  RingState* state_ = nullptr;  // a view of the mapping, which this object unmaps
  std::byte* bytes_ = nullptr;
  // On separate cache lines, because producer and consumer may be threads of one process that share
  // this object.
  alignas(64) std::uint64_t tail_ = 0;  // written by the producer
  std::uint64_t head_seen_ =
      0;  // used by the producer, which reads `head` again only if too little room is left
  alignas(64) std::uint64_t head_ = 0;  // written by the consumer
};

/// A channel over two rings of shared memory, one per direction. It owns the rings and the socket.
class SharedMemoryChannel final : public Channel {
 public:
  /// `in` is the ring that this side reads, `out` is the ring that it writes. `socket` is connected
  /// to the peer.
  SharedMemoryChannel(Ring in, Ring out, Descriptor socket, std::string peer_name);

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return socket_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override;
  void shutdown_output() override;
  void close_in_forked_child() override { socket_.reset(); }
  [[nodiscard]] std::string peer_name() const override { return peer_name_; }

 private:
  void ring_bell();
  /// Returns true if there were tokens.
  bool drain_bell();
  void peer_has_gone();
  Ring in_;
  Ring out_;
  Descriptor socket_;
  std::string peer_name_;
  bool want_output_ = false;
  bool input_ended_ = false;  // bytes that are still in the ring can be read
  bool peer_gone_ = false;
  std::uint32_t empty_reads_ = 0;
};

}  // namespace impishim::wire
