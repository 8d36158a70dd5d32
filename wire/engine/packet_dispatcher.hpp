// SPDX-License-Identifier: Apache-2.0
/// Reads the input of links, checks who may send what over which link, and hands each packet to the
/// part of the engine that it concerns.
#pragma once

#include <cstddef>

#include "wire/base/result.hpp"
#include "wire/engine/shutdown.hpp"
#include "wire/packet/packet.hpp"
#include "wire/path/receive_path.hpp"
#include "wire/path/relay.hpp"
#include "wire/path/send_path.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/link_sender.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/peer/readiness.hpp"

namespace impishim::wire {

/// All functions run with the engine's lock held.
class PacketDispatcher {
 public:
  /// The parts of the engine that packets concern.
  struct Parts {
    const EngineSettings& settings;
    EngineState& state;
    PeerTable& peers;
    Readiness& readiness;
    Relay& relay;
    SendPath& send_path;
    ReceivePath& receive_path;
    Shutdown& shutdown;
  };
  explicit PacketDispatcher(const Parts& parts) : parts_(parts) {}

  /// Reads and handles the input of a link. Returns the number of reads and packets, or the error
  /// that ends the link.
  [[nodiscard]] Result<std::size_t> receive(Link& link);

 private:
  [[nodiscard]] Result<std::size_t> handle_input(Link& link);
  [[nodiscard]] Result<void> packet_begins(Link& link);
  void trace_arrival(const Link& link, const PacketRoute& route);
  [[nodiscard]] Result<void> link_packet_begins(Link& link);
  void relayed_packet_begins(Link& link);
  [[nodiscard]] Result<void> find_route(Link& link, const PacketHeader& header);
  [[nodiscard]] bool is_of_lost_client(const PacketRoute& route) const;
  [[nodiscard]] Result<void> packet_ends(Link& link);
  [[nodiscard]] Result<void> link_packet_ends(Link& link);
  [[nodiscard]] Result<void> control_ends(Link& link);

  Parts parts_;
};

}  // namespace impishim::wire
