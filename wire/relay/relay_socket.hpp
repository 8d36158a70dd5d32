// SPDX-License-Identifier: Apache-2.0
/// A connection to the relay, and the events that the relay's epoll descriptor watches it for.
#pragma once

#include <cstdint>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"

namespace impishim::wire {

/// Owner of a socket that is watched, level-triggered. Events carry its id. It must end before the
/// epoll descriptor does.
class RelaySocket {
 public:
  /// Takes ownership of a connected stream socket and sets its options (set_tcp_options()).
  /// `peer` describes it in texts.
  RelaySocket(int epoll, std::uint64_t id, Descriptor socket, std::string peer);
  RelaySocket(const RelaySocket&) = delete;
  RelaySocket& operator=(const RelaySocket&) = delete;
  /// Closes the socket.
  ~RelaySocket();

  [[nodiscard]] int get() const { return socket_.get(); }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }

  /// Watches for `events`, and for failures. Calls the kernel only if something changes. A socket
  /// that was left alone stays so while `events` is 0. Fails with kSystem if the kernel lacks
  /// memory.
  [[nodiscard]] Result<void> watch(std::uint32_t events);
  /// Stops watching until events are wanted again. The kernel reports EPOLLHUP without pause from
  /// a socket whose directions have both ended, even if no event is wanted.
  void leave_alone();
  /// Lets the peer see that bytes were lost: closing will reset the connection.
  void reset_when_closed();
  /// Returns true if the peer has ended its stream or the connection has failed, even if bytes
  /// before the end have not been read.
  [[nodiscard]] bool peer_has_ended() const;
  /// Returns true if the peer's machine is gone (silence.hpp). Call it every kSilenceCheckInterval.
  [[nodiscard]] bool peer_is_silent(SilenceDetector::Clock::time_point now);
  /// Returns the text of the failure that epoll reported, and forgets the failure.
  [[nodiscard]] std::string failure();

 private:
  int epoll_;
  std::uint64_t id_;
  Descriptor socket_;
  std::string peer_;
  SilenceDetector silence_;
  std::uint32_t events_ = 0;
  bool watched_ = false;
};

}  // namespace impishim::wire
