// SPDX-License-Identifier: Apache-2.0
/// The links of this process, the peers that it talks to, and the ways of packets between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "wire/channel/channel.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/link/link_output.hpp"
#include "wire/link/packet_queue.hpp"
#include "wire/message/flow_control.hpp"
#include "wire/message/operation.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/link.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The state that this process keeps for another process of the job that it talks to.
struct Peer {
  Peer(WorldRank rank_, const FlowMarks& marks_) : rank(rank_), marks(marks_) {}

  WorldRank rank;
  Link* link = nullptr;  ///< next hop
  bool relayed = false;  ///< the next process on the route passes packets on
  Format format = Format::kNative;
  FlowMarks marks;
  RawHeader header;  ///< header of packets to it, with the fields that never change
  SendCredit send_credit;
  ReceiveCredit receive_credit;
  /// Messages whose first packet, or whose CANCEL, waits for credit, in order.
  PacketQueue<SendOperation*> held;
  std::deque<SendOperation*> stalled;  ///< long messages whose next packet waits for credit
};

class PeerTable {
 public:
  using Links = std::vector<std::unique_ptr<Link>>;

  /// Makes a link of each channel. The links report to `owner`, and take memory from `buffers`.
  PeerTable(const EngineSettings& settings, std::vector<LocalChannel> local_channels,
            std::vector<HostChannel> host_channels, OutputOwner& owner, BufferPool& buffers);

  /// Adds links to hosts by which the job has grown.
  void add_hosts(std::vector<HostChannel> channels, OutputOwner& owner, BufferPool& buffers);

  /// Removes the link to a direct host, which has ended, and its channel.
  void remove_host(const Link& link);

  /// Returns the state kept for a process; makes it when it is first needed.
  [[nodiscard]] Peer& peer(WorldRank rank) {
    Peer* known = peers_[static_cast<std::size_t>(rank)].get();
    return known != nullptr ? *known : make_peer(rank);
  }
  /// Returns that state by world rank; null where there is none yet.
  [[nodiscard]] const std::vector<std::unique_ptr<Peer>>& peers() const { return peers_; }

  /// Returns the link with this token, or null.
  [[nodiscard]] static Link* find_by_token(const Links& links, std::uint64_t token);
  /// Returns all links in polling order: reading shared memory costs less than asking the kernel,
  /// and packets that one relay passes on to another should not wait for that.
  [[nodiscard]] const Links& links() const { return links_; }
  [[nodiscard]] const std::unordered_map<WorldRank, Link*>& local_links() const {
    return local_links_;
  }
  /// Returns the links to other hosts by the host's number.
  [[nodiscard]] const std::unordered_map<std::int32_t, Link*>& host_links() const {
    return host_links_;
  }

  /// Returns the link by which packets from one process for another leave, or null if there is
  /// none.
  [[nodiscard]] Link* link_towards(WorldRank source, WorldRank destination) const;
  /// Returns true if the peer of `link` passes on packets of `source` for `destination`. False for
  /// other implementations, which are not asked for anything.
  [[nodiscard]] bool relayed_beyond(const Link& link, WorldRank source,
                                    WorldRank destination) const;
  /// Returns the world rank of the process that a packet names as its source, or -1. A direct host
  /// has one process.
  [[nodiscard]] WorldRank source_over(const Link& link, const ProcId& id) const;
  /// Returns true if packets of `source` may come over `link`. A host sends for those of its own
  /// processes whose lane it is. A process of this host sends for itself, and for the processes of
  /// other hosts whose lane it owns.
  [[nodiscard]] bool speaks_for(const Link& link, WorldRank source) const;
  /// Returns true if this process relays packets on `route` that come over `link`. It relays
  /// packets from a host to processes of this host, and packets that a process of this host itself
  /// sends.
  [[nodiscard]] bool relays_from(const Link& link, const PacketRoute& route) const;
  /// Names the sender of the packet that is being handled, as the job knows it. Names the process
  /// that passed the packet on if the packet does not name its sender, or names a false one.
  [[nodiscard]] std::string name_of_sender(const Link& link) const;

 private:
  void add_host(HostChannel channel, OutputOwner& owner, BufferPool& buffers);
  Link& add_link(std::unique_ptr<Channel> channel, OutputOwner& owner, BufferPool& buffers);
  [[nodiscard]] Peer& make_peer(WorldRank rank);
  [[nodiscard]] FlowMarks marks_towards(WorldRank rank) const;

  const EngineSettings& settings_;
  Links links_;
  std::uint64_t next_token_ = 0;
  std::unordered_map<std::int32_t, Link*> host_links_;
  std::unordered_map<WorldRank, Link*> local_links_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace impishim::wire
