// SPDX-License-Identifier: Apache-2.0
/// What the roots of two groups tell each other over a port (MPI_Comm_accept, MPI_Comm_connect).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

/// A connected, authenticated socket that carries messages of bytes. Functions block.
class Conversation {
 public:
  /// Bound of a message, which bounds the memory that a peer can make this process use.
  static constexpr std::size_t kLongest = std::size_t{1} << 28U;

  /// Takes a connected stream socket. `accepted` is true at the end that has accepted it.
  Conversation(Descriptor socket, bool accepted);
  /// Bounds each wait for the peer from now on. At first there is no bound.
  void set_timeout(int milliseconds) { timeout_ms_ = milliseconds; }

  [[nodiscard]] bool accepted() const { return accepted_; }
  /// Sends a message of at most kLongest bytes. Fails with kConnection if the peer is gone.
  [[nodiscard]] Result<void> send(std::span<const std::byte> message);
  /// Receives the next message. Fails with kConnection if the peer is gone, and with kProtocol if
  /// it is longer than kLongest.
  [[nodiscard]] Result<std::vector<std::byte>> receive();

 private:
  [[nodiscard]] Result<void> send_all(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> receive_all(std::span<std::byte> bytes);

  Descriptor socket_;
  bool accepted_;
  int timeout_ms_ = -1;
};

}  // namespace impishim::wire
