// SPDX-License-Identifier: Apache-2.0
/// A reliable, ordered, bidirectional stream of bytes to one peer. It is TCP to another host,
/// shared memory to another proc of the same host, or plain memory in tests. A channel knows
/// nothing about packets.
///
/// Threads: the caller holds the owner's lock in every call except descriptor(). No call blocks.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// What the kernel has measured on a connection.
struct RoadState {
  std::chrono::microseconds round_trip{0};
  std::uint64_t repeated = 0;  ///< segments that were sent again, since the connection began
};

class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  /// Sends as many bytes as fit now and returns their number; 0 means that the stream is full.
  /// Fails with kConnection if the peer is gone.
  [[nodiscard]] virtual Result<std::size_t> try_send(std::span<const iovec> pieces) = 0;

  /// Reads into `pieces` in order and returns the number of bytes; 0 means that nothing has
  /// arrived. Fails with kConnection if the stream has ended by close, reset or death of the peer;
  /// the text says which.
  [[nodiscard]] virtual Result<std::size_t> try_receive(std::span<const iovec> pieces) = 0;

  /// Returns the descriptor that becomes ready when there is an event. Watch it level-triggered,
  /// with epoll_events().
  [[nodiscard]] virtual int descriptor() const = 0;

  /// Returns EPOLLIN, and also EPOLLOUT if the kernel can report room for output and
  /// `set_want_output(true)` is in effect.
  [[nodiscard]] virtual std::uint32_t epoll_events() const = 0;

  /// Returns true if all input makes descriptor() ready without prepare_to_sleep(). While the
  /// descriptor is watched, the owner need not read before an event.
  [[nodiscard]] virtual bool announces_input() const { return false; }

  /// Tells the channel that output waits: descriptor() becomes ready when there is room again
  /// (false: no longer). Returns true if epoll_events() changed.
  virtual bool set_want_output(bool want) = 0;

  /// Announces that the owner is about to sleep on descriptor(). Returns false if something has
  /// already arrived; then the owner must not sleep.
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;

  /// Ends the sleep, or an announced sleep that did not happen. Takes wake-up tokens out of
  /// descriptor().
  virtual void end_sleep() = 0;

  /// Announces that no more output will follow. The peer can still read all bytes that were sent.
  virtual void shutdown_output() = 0;

  /// Returns the time after which a silent machine counts as gone, if the peer's machine has been
  /// silent for so long. The connection is then cut, although nothing that was received shows it.
  /// Call it every kSilenceCheckInterval (silence.hpp).
  [[nodiscard]] virtual std::optional<std::chrono::seconds> peer_silence() { return std::nullopt; }
  /// Returns the number of bytes that the peer's machine has taken, whether its process has read
  /// them or not; 0 if that is unknown.
  [[nodiscard]] virtual std::uint64_t delivered() { return 0; }
  /// Returns what is known of the road to the peer, if it is known.
  [[nodiscard]] virtual std::optional<RoadState> road() const { return std::nullopt; }

  /// Closes the channel's descriptors in a child of fork(). The peer can then notice the end of the
  /// parent while the child lives on. Async-signal-safe; no other function may be called in the
  /// child. The parent's descriptors stay open.
  virtual void close_in_forked_child() = 0;

  /// Returns the peer's name for messages: "host 3 at 192.0.2.7 port 4711", "rank 5 of this host".
  [[nodiscard]] virtual std::string peer_name() const = 0;
};

/// A channel and the host that it leads to.
struct HostChannel {
  std::int32_t host = 0;
  std::unique_ptr<Channel> channel;
};
/// A channel and the proc of this host that it leads to.
struct LocalChannel {
  std::int32_t proc = 0;  ///< world rank
  std::unique_ptr<Channel> channel;
};

}  // namespace impishim::wire
