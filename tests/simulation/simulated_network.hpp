// SPDX-License-Identifier: Apache-2.0
/// Connections in virtual time: bytes arrive after random delays, reads and writes are short at
/// random, and connections are cut in the ways in which networks cut them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/random.hpp"
#include "tests/simulation/virtual_clock.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire::test {

class SimulatedChannel;

/// Bytes in the order in which they came.
class ByteQueue {
 public:
  [[nodiscard]] std::size_t size() const { return bytes_.size() - begin_; }
  void append(std::span<const std::byte> bytes);
  /// Removes as many bytes from the front as fit, which must be there.
  void take(std::span<std::byte> bytes);
  void clear() { begin_ = bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
};

/// One direction of a connection.
struct SimulatedStream {
  ByteQueue bytes;          ///< sent and not read
  std::size_t arrived = 0;  ///< of them, what the reader can read
  VirtualTime latest = 0;   ///< when the last byte arrives
  bool broken = false;      ///< what is on its way, or is sent from now on, does not arrive
  bool ended = false;       ///< the reader gets an error behind what has arrived
  bool refused = false;     ///< the writer gets an error
};

struct SimulatedConnection {
  std::array<SimulatedStream, 2> from;         ///< what each end sends
  std::array<SimulatedChannel*, 2> ends = {};  ///< null: closed
  bool cut = false;
  bool silent = false;  ///< the machines do not reach each other
  VirtualTime most_delay = 0;
};

struct NetworkShape {
  std::size_t capacity = 1U << 16U;  ///< bytes of one direction that are sent and not read
  VirtualTime most_delay = kMillisecond;
  /// A connection with room may take a part of a single header. Otherwise it takes all of it, as a
  /// kernel does.
  bool splits_headers = false;
  /// Some connections are ten times as slow as others.
  bool uneven = false;
};

class SimulatedNetwork {
 public:
  using Ends = std::array<std::unique_ptr<Channel>, 2>;

  SimulatedNetwork(VirtualClock& clock, Random& random, const NetworkShape& shape)
      : clock_(clock), random_(random), shape_(shape) {}

  [[nodiscard]] Ends connect();
  /// Cuts one of the connections that are good, if there is one.
  void cut_any();
  /// While this is set, connections take all that is sent: for the destructors of channels, which
  /// would wait for room.
  void drain(bool draining) { draining_ = draining; }
  [[nodiscard]] std::uint64_t cuts() const { return cuts_; }

 private:
  friend class SimulatedChannel;
  using Shared = std::shared_ptr<SimulatedConnection>;

  [[nodiscard]] VirtualTime delay(const SimulatedConnection& connection) {
    return random_.scaled(connection.most_delay);
  }
  [[nodiscard]] std::size_t room(const SimulatedStream& stream) const;
  [[nodiscard]] std::size_t shortened(std::size_t size);
  /// Returns how many of the bytes that are offered a stream takes.
  [[nodiscard]] std::size_t taken(const SimulatedStream& stream, std::size_t offered);
  /// Makes the last `size` bytes that `end` sent arrive.
  void carry(const Shared& connection, std::size_t end, std::size_t size);
  void close(const Shared& connection, std::size_t end);
  void cut(const Shared& connection);
  /// Tells an end that its connection is lost.
  static void learn(SimulatedConnection& connection, std::size_t end, bool drop_unread);
  static void update(SimulatedConnection& connection);

  VirtualClock& clock_;
  Random& random_;
  NetworkShape shape_;
  bool draining_ = false;
  std::uint64_t cuts_ = 0;
  std::vector<std::weak_ptr<SimulatedConnection>> connections_;
};

/// One end of a simulated connection. Its descriptor is readable while there are bytes to read, an
/// end, or room that was asked for.
class SimulatedChannel final : public Channel {
 public:
  SimulatedChannel(SimulatedNetwork& network, std::shared_ptr<SimulatedConnection> connection,
                   std::size_t end);
  ~SimulatedChannel() override;

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override;
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return event_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  [[nodiscard]] bool announces_input() const override { return true; }
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override {}
  void shutdown_output() override {}
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override;
  void close_in_forked_child() override { event_.reset(); }
  [[nodiscard]] std::string peer_name() const override { return "the simulated peer"; }

  /// Raises or clears the descriptor.
  void update();

 private:
  [[nodiscard]] SimulatedStream& out() { return connection_->from[end_]; }
  [[nodiscard]] SimulatedStream& in() { return connection_->from[1 - end_]; }

  SimulatedNetwork& network_;
  std::shared_ptr<SimulatedConnection> connection_;
  std::size_t end_;
  Descriptor event_;
  bool raised_ = false;
  bool want_output_ = false;
};

}  // namespace impishim::wire::test
