/// A reliable, ordered, bidirectional stream of bytes to one peer: TCP to another host, shared
/// memory to another proc of the same host, plain memory in tests. Knows nothing of packets.
///
/// Threads: every call but descriptor() is made under the owner's lock. Nothing blocks.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/base/result.hpp"

namespace impishim::wire {

class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  /// Takes as many bytes as fit now and returns how many; 0: the stream is full. kConnection: the
  /// peer is gone.
  [[nodiscard]] virtual Result<std::size_t> try_send(std::span<const iovec> pieces) = 0;

  /// Reads into `pieces` in order and returns how many bytes; 0: nothing has arrived.
  /// kConnection: the stream has ended (by close, reset or death of the peer; the text says which).
  [[nodiscard]] virtual Result<std::size_t> try_receive(std::span<const iovec> pieces) = 0;

  /// The descriptor whose readiness announces an event; watch it with epoll_events(),
  /// level-triggered.
  [[nodiscard]] virtual int descriptor() const = 0;

  /// EPOLLIN, and EPOLLOUT where the kernel can say that there is room while
  /// `set_want_output(true)` holds.
  [[nodiscard]] virtual std::uint32_t epoll_events() const = 0;

  /// All input makes descriptor() ready, without prepare_to_sleep(): while that is watched, nothing
  /// needs to be read before.
  [[nodiscard]] virtual bool announces_input() const { return false; }

  /// Output waits: make descriptor() ready when there is room again (false: no longer). Returns
  /// true if epoll_events() changed.
  virtual bool set_want_output(bool want) = 0;

  /// Says that the owner is about to sleep on descriptor(). False: something is already there; do
  /// not sleep.
  [[nodiscard]] virtual bool prepare_to_sleep() = 0;

  /// The owner woke, or never slept: takes wake-up tokens out of descriptor().
  virtual void end_sleep() = 0;

  /// No more output will follow; the peer reads to the end of what was sent.
  virtual void shutdown_output() = 0;

  /// True if the peer's machine has stopped answering: the connection is cut, though nothing has
  /// been received that says so. To be asked every kSilenceCheckInterval (silence.hpp).
  [[nodiscard]] virtual bool peer_is_silent() { return false; }

  /// Closes this process's copies of the channel's descriptors in a child of fork(), so that the
  /// peer notices the end of the parent while the child lives on. Async-signal-safe; nothing else
  /// may be called in the child. The parent's stay open.
  virtual void close_in_forked_child() = 0;

  /// For messages: "host 3 at 192.0.2.7 port 4711", "rank 5 of this host".
  [[nodiscard]] virtual std::string peer_name() const = 0;
};

/// A channel and whom it leads to.
struct HostChannel {
  std::int32_t host = 0;
  std::unique_ptr<Channel> channel;
};
struct LocalChannel {
  std::int32_t proc = 0;  ///< world rank
  std::unique_ptr<Channel> channel;
};

}  // namespace impishim::wire
