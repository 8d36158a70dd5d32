// SPDX-License-Identifier: Apache-2.0
/// The engine's record of the connection to one peer: its channel, its output and input, and what
/// the engine knows of the peer and of the packet that is arriving.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "wire/channel/channel.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/link/link_input.hpp"
#include "wire/link/link_output.hpp"
#include "wire/link/relay_credit.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// The states of a link, in order: a link never goes back.
enum class LinkState : std::uint8_t {
  kOpen,     ///< traffic both ways
  kClosing,  ///< our FINI is queued or sent: only acknowledgements may follow
  kClosed,   ///< FINI both ways, everything sent; the channel is shut down
};

/// What becomes of the packet that is arriving.
struct Arrival {
  RawHeader raw{};              ///< raw header of a packet for another process
  WorldRank source = -1;        ///< the sender, once it is checked
  Buffer owned;                 ///< holds the payload if it does not go to the user's memory
  std::uint32_t counts_as = 0;  ///< payload bytes that flow control counts
  ReceiveOperation* receive = nullptr;  ///< the receive of this message, if it is known
  bool unpack_at_end = false;           ///< `owned` is to be unpacked for `receive`
  /// The next link if the packet is for another process. The packet's own link if the packet is to
  /// be dropped, since a client is lost.
  Link* relay_to = nullptr;
  bool to_be_relayed = false;  ///< from there, too
  /// The packet has been handled completely, though its payload was not read.
  bool handled = false;

  /// Forgets the previous packet.
  void begin() {
    source = -1;
    receive = nullptr;
    unpack_at_end = false;
    relay_to = nullptr;
    handled = false;
  }
};

/// The processes that a packet names, and its next link. Kept because consecutive packets often
/// name the same two processes.
struct PacketRoute {
  ProcId source_id;
  ProcId destination_id;
  WorldRank source = -1;
  WorldRank destination = -1;
  Link* relay_to = nullptr;    ///< null: the destination is this process
  bool to_be_relayed = false;  ///< the peer of `relay_to` passes on packets for the destination
};

struct Link {
  Link(OutputOwner& owner, std::unique_ptr<Channel> channel_, BufferPool& buffers,
       std::uint32_t max_payload)
      : channel(std::move(channel_)),
        announces_input(channel->announces_input()),
        output(*this, owner, *channel, buffers),
        input(max_payload) {}

  std::unique_ptr<Channel> channel;
  bool announces_input;  ///< what the channel returned; read at each poll
  LinkOutput output;
  LinkInput input;
  Arrival arrival;

  std::int32_t remote_host = -1;  ///< host link: the peer host's number
  WorldRank local_proc = -1;      ///< local link: the peer's world rank
  /// Identifies its descriptor in the poller. Ascends in the order of its owner's links.
  std::uint64_t token = 0;
  bool announced = false;  ///< its descriptor has been reported ready
  LinkState state = LinkState::kOpen;
  bool peer_finished = false;  ///< the peer's FINI has come
  bool input_ended = false;    ///< nothing more can be read
  bool in_batching = false;    ///< the owner will flush it
  /// Both processes run this library, and return credit for what they have relayed.
  bool gives_credit = false;
  RelayDebt debt;                 ///< credit owed for what arrived here to be relayed
  std::uint64_t latest_rest = 0;  ///< request id of the receive for the latest packet of a rest
  /// Route of the latest packet that arrived for a process of the job.
  PacketRoute latest_route;
};

}  // namespace impishim::wire
