// SPDX-License-Identifier: Apache-2.0
/// The host's side of the relay: a connection to the relay, until the other host has come.
#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/relay/relay_hello.hpp"

namespace impishim::wire {

/// A connection that this process makes to the relay, from the first SYN to the relay's answer. No
/// function blocks. The relay answers when the other host has come, so the caller limits the time.
class RelayDial {
 public:
  /// Starts a connection from end `own` to end `other`. Fails with kProtocol if the two cannot be
  /// connected (check_relay_ends()), and with kSystem if there is no descriptor. Failures of the
  /// network are left to advance().
  [[nodiscard]] static Result<RelayDial> start(const SocketAddress& relay, const RelayToken& token,
                                               std::int32_t own, std::int32_t other);
  [[nodiscard]] pollfd polled() const;
  /// Continues after events. Returns true when the other host is connected and the socket can be
  /// taken. It reads no byte behind the relay's answer. Fails with kConnection if the relay cannot
  /// be reached or closes the connection, and with kProtocol if it answers something else; the text
  /// names the relay. After an error, the object can only be destroyed.
  [[nodiscard]] Result<bool> advance();
  /// Returns the socket, which does not block and has the options of set_tcp_options().
  [[nodiscard]] Descriptor take() { return std::move(socket_); }

 private:
  RelayDial(Descriptor socket, const RelayHello& hello, std::string relay);
  [[nodiscard]] Result<void> check_connected();
  [[nodiscard]] Result<void> send_hello();
  [[nodiscard]] Result<bool> read_answer();
  [[nodiscard]] Error failed(const std::string& why) const;

  Descriptor socket_;
  std::array<std::byte, kRelayHelloSize> hello_;
  std::array<std::byte, kRelayAnswerSize> answer_{};
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
  bool connected_ = false;  ///< true if TCP is connected
  int connect_error_ = 0;   ///< of a connection that failed at once
  std::string relay_;       ///< its address, for texts
};

}  // namespace impishim::wire
