// SPDX-License-Identifier: Apache-2.0
/// The parts below an engine, without the engine: links whose peers are made of bytes, and a record
/// of what the parts report as broken.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/engine/raw_neighbours.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"
#include "wire/channel/memory_channel.hpp"
#include "wire/channel/poller.hpp"
#include "wire/link/link_output.hpp"
#include "wire/path/receive_path.hpp"
#include "wire/path/relay.hpp"
#include "wire/path/send_path.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link_sender.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/peer/readiness.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire::test {

/// The channels of one process, and the ends of them that the test holds.
struct Ends {
  static constexpr std::size_t kSockets = 0;

  Ends(const JobMap& job, WorldRank here, std::size_t capacity) {
    const auto make_pair = [&] {
      return capacity == kSockets ? socket_channels()
                                  : MemoryChannel::make_pair({.capacity = capacity});
    };
    for (const std::int32_t host : hosts_represented_by(job, here)) {
      auto [near, far] = make_pair();
      host_channels.push_back({host, std::move(far)});
      hosts.emplace(host, RawLink(std::move(near)));
    }
    for (const WorldRank proc : local_partners(job, here)) {
      auto [near, far] = make_pair();
      local_channels.push_back({proc, std::move(far)});
      locals.emplace(proc, RawLink(std::move(near)));
    }
  }
  std::vector<HostChannel> host_channels;
  std::vector<LocalChannel> local_channels;
  std::map<std::int32_t, RawLink> hosts;
  std::map<WorldRank, RawLink> locals;
};

class PathParts final : public OutputOwner, public FailureHandler {
 public:
  /// Makes the parts of process `here`. A channel takes `capacity` bytes before it is full, or is a
  /// socket (Ends::kSockets), whose descriptor announces input.
  explicit PathParts(const JobShape& shape, WorldRank here = 0, std::size_t capacity = 1U << 20U)
      : settings(settings_of(shape, here)),
        flags(batches_wait),
        ends(settings.job, here, capacity),
        state(LinkOutput::kBatchCapacity),
        peers(settings, std::move(ends.local_channels), std::move(ends.host_channels), *this,
              state.buffers),
        readiness(peers.links(), poller, flags, *this),
        sender(readiness, flags, *this),
        relay(settings.relay.batch_target, state.counters, readiness, sender),
        send_path({settings, state, failure, peers, readiness, sender, *this}),
        receive_path({settings, state, flags, failure, peers, send_path, *this}) {}

  void packet_left(SendOperation& operation) override { send_path.packet_left(operation); }
  void passed_on(Link& from, std::size_t bytes) override { relay.passed_on(from, bytes); }
  [[nodiscard]] bool refill(Link& link) override { return send_path.refill(link); }
  void fail(const Error& error) override {
    failures.push_back(error.text);
    failure.set(error);
  }
  void link_ended(Link& link, const Error& error) override {
    failures.push_back(error.text);
    link.input_ended = true;
  }
  [[nodiscard]] bool survives_end_of(const Link& /*link*/) const override { return false; }

  [[nodiscard]] Link& link_to_host(std::int32_t host) { return *peers.host_links().at(host); }
  [[nodiscard]] Link& link_to_proc(WorldRank proc) { return *peers.local_links().at(proc); }
  [[nodiscard]] RawLink& host(std::int32_t number) { return ends.hosts.at(number); }
  [[nodiscard]] RawLink& local(WorldRank proc) { return ends.locals.at(proc); }

  /// Returns the next packet that has left towards a peer.
  [[nodiscard]] static std::optional<RawLink::Packet> hear(RawLink& end) {
    while (end.listen()) {
    }
    return end.hear();
  }
  /// Returns the number of packets that have left towards a peer.
  [[nodiscard]] static int count(RawLink& end) {
    int packets = 0;
    while (hear(end)) ++packets;
    return packets;
  }

  /// Returns a header from one process to another, to be changed at will.
  [[nodiscard]] PacketHeader header(WorldRank from, WorldRank to, PacketType type,
                                    std::uint32_t len = 0) const {
    PacketHeader made;
    made.type = type;
    made.srqid = 77;
    made.len = len;
    made.msglen = len;
    made.lsrank = from;
    made.src = settings.job.proc(from).id;
    made.dest = settings.job.proc(to).id;
    return made;
  }
  /// Makes a packet arrive on `link`, as far as the decoder says that it begins.
  void begin_arrival(Link& link, RawLink& end, const PacketHeader& header) {
    std::vector<std::byte> bytes(kPacketHeaderSize);
    encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
    const auto payload = pattern(header.payload_size(), 5);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    ASSERT_EQ(end.say(bytes), bytes.size());
    ASSERT_TRUE(link.input.read(*link.channel).ok());
    const auto event = link.input.next();
    ASSERT_TRUE(event.ok());
    ASSERT_EQ(*event, LinkInput::Event::kPacketBegins);
    link.arrival.begin();
    link.arrival.source = settings.job.rank_of(header.src);
  }
  /// Makes a packet of a message arrive, and hands it to the receive path. Returns its error.
  [[nodiscard]] std::string arrive(Link& link, RawLink& end, const PacketHeader& header) {
    begin_arrival(link, end, header);
    if (auto begun = receive_path.packet_begins(link); !begun) return begun.error().text;
    if (link.arrival.handled) return "";
    auto event = link.input.next();
    while (event.ok() && *event == LinkInput::Event::kNone && link.input.read(*link.channel).ok())
      event = link.input.next();
    EXPECT_TRUE(event.ok());
    auto ended = receive_path.packet_ends(link);
    link.arrival.receive = nullptr;
    return ended ? "" : ended.error().text;
  }

  const EngineSettings settings;
  std::atomic<bool> batches_wait{false};
  SharedFlags flags;
  EngineFailure failure;
  Poller poller;
  std::vector<std::string> failures;  ///< what the parts reported
  Ends ends;
  EngineState state;
  PeerTable peers;
  Readiness readiness;
  LinkSender sender;
  Relay relay;
  SendPath send_path;
  ReceivePath receive_path;

 private:
  static EngineSettings settings_of(const JobShape& shape, WorldRank here) {
    JobMap job = make_job(shape);
    const std::vector<Format> formats(job.clients().size(), shape.format);
    const ProcId id = job.proc(here).id;
    const std::uint32_t datalen = job.values().datalen;
    return {std::move(job), here, id, formats, datalen, shape.relay};
  }
};

/// A send of bytes that is not started.
struct PathSend {
  PathSend(WorldRank to, std::size_t size, SendMode mode = SendMode::kStandard)
      : data(pattern(size, 5)) {
    operation.destination = to;
    operation.tag = 7;
    operation.mode = mode;
    operation.buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
  }
  std::vector<std::byte> data;
  SendOperation operation;
};

}  // namespace impishim::wire::test
