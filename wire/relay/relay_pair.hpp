// SPDX-License-Identifier: Apache-2.0
/// Two connections of the relay between which it passes bytes on, both ways.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"
#include "wire/relay/relay_direction.hpp"
#include "wire/relay/relay_socket.hpp"

namespace impishim::wire {

/// One of the two ends of a pair.
struct RelayEnd {
  std::unique_ptr<RelaySocket> socket;
  std::int32_t number = 0;
};

/// The two ends, and the bytes on their way between them. An end that ends its stream still
/// receives. No function blocks. After an error, and when both streams have ended, the owner
/// destroys the pair, which closes both sockets.
class RelayPair {
 public:
  /// Allocates two buffers of `buffer_size` bytes. Throws std::bad_alloc if there is no memory.
  RelayPair(RelayEnd first, RelayEnd second, std::size_t buffer_size);

  /// Queues bytes to end `to`, for which there must be room.
  void put(std::size_t to, std::span<const std::byte> bytes);
  /// Sends what put() has queued, and begins to watch both sockets. Fails as handle() does.
  [[nodiscard]] Result<void> start();
  /// Passes bytes on after `events` at end `at`: reads and writes each socket at most once. Returns
  /// false when both streams have ended. Fails with kConnection if a socket has failed and with
  /// kSystem if it cannot be watched; the text names the ends. What a failed end had sent before
  /// has then been passed on as far as the other end takes it; if bytes are lost, closing the other
  /// end resets its connection.
  [[nodiscard]] Result<bool> handle(std::size_t at, std::uint32_t events);
  /// Fails with kConnection if the machine of an end is gone (silence.hpp). Call it every
  /// kSilenceCheckInterval.
  [[nodiscard]] Result<void> check_silence(SilenceDetector::Clock::time_point now);

  [[nodiscard]] std::uint64_t id(std::size_t of) const { return ends_[of].socket->id(); }
  /// Returns the ends and their peers, for texts.
  [[nodiscard]] std::string text() const;

 private:
  [[nodiscard]] RelaySocket& socket(std::size_t of) { return *ends_[of].socket; }
  [[nodiscard]] Result<void> pass_on(std::size_t from);
  [[nodiscard]] Result<void> write_to(std::size_t end);
  [[nodiscard]] std::uint32_t wanted_events(std::size_t of) const;
  [[nodiscard]] Result<void> watch();
  [[nodiscard]] Error failed(std::size_t end, const Error& why);

  std::array<RelayEnd, 2> ends_;
  std::array<RelayDirection, 2> from_;  ///< what each end has sent
};

}  // namespace impishim::wire
