// SPDX-License-Identifier: Apache-2.0
/// One engine among neighbours made of bytes: every link of its ends in the test, which speaks for
/// all other processes, truly or not. For what several peers do to each other's operations, and for
/// channels that are full.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/channel/memory_channel.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire::test {

/// The other end of one link.
class RawLink {
 public:
  struct Packet {
    PacketHeader header;
    std::vector<std::byte> payload;
  };

  explicit RawLink(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  /// Writes what the channel takes of `bytes`; returns how many.
  std::size_t say(std::span<const std::byte> bytes) {
    if (channel_ == nullptr) return 0;
    // iovec serves reading and writing alike, so it has no const form.
    const std::array<iovec, 1> pieces = {{{const_cast<std::byte*>(bytes.data()), bytes.size()}}};
    auto sent = channel_->try_send(pieces);
    return sent ? *sent : 0;
  }
  /// Takes what has arrived; returns whether anything has.
  bool listen() {
    std::array<std::byte, 4096> room;
    if (channel_ == nullptr) return false;
    const std::array<iovec, 1> pieces = {{{room.data(), room.size()}}};
    auto received = channel_->try_receive(pieces);
    if (!received || *received == 0) return false;
    heard_.insert(heard_.end(), room.begin(),
                  room.begin() + static_cast<std::ptrdiff_t>(*received));
    return true;
  }
  /// The next packet that has been taken whole; what came of a later one is kept.
  [[nodiscard]] std::optional<Packet> hear() {
    if (heard_.size() < kPacketHeaderSize) return std::nullopt;
    Packet packet;
    if (!decode_packet_header(std::span<const std::byte>(heard_).first<kPacketHeaderSize>(),
                              1U << 20U, packet.header))
      return std::nullopt;
    const std::size_t size = kPacketHeaderSize + packet.header.payload_size();
    if (heard_.size() < size) return std::nullopt;
    const auto end = heard_.begin() + static_cast<std::ptrdiff_t>(size);
    packet.payload.assign(heard_.begin() + kPacketHeaderSize, end);
    heard_.erase(heard_.begin(), end);
    return packet;
  }
  [[nodiscard]] bool is_cut() const { return channel_ == nullptr; }
  /// Ends the connection in both directions.
  void cut() { channel_.reset(); }

 private:
  std::unique_ptr<Channel> channel_;
  std::vector<std::byte> heard_;
};

class RawNeighbours {
 public:
  /// Of rank `here`; `capacity`: bytes that each channel takes in a direction before it is full;
  /// `seed`: whether it tears reads and writes, and how.
  explicit RawNeighbours(const JobShape& shape, int here = 1, std::size_t capacity = 1U << 20U,
                         std::uint32_t seed = 0)
      : job_(make_job(shape)), here_(here), patience_(seed == 0 ? 3 : 20) {
    EngineOptions options;
    options.job = job_;
    options.here = here;
    options.relay = shape.relay;
    options.format_of_client.assign(job_.clients().size(), shape.format);
    MemoryChannelOptions channel;
    channel.capacity = capacity;
    channel.seed = seed;
    for (const std::int32_t host : hosts_represented_by(job_, here)) {
      auto [near, far] = MemoryChannel::make_pair(channel);
      options.host_channels.push_back({host, std::move(far)});
      hosts_.emplace(host, RawLink(std::move(near)));
    }
    for (const WorldRank proc : local_partners(job_, here)) {
      auto [near, far] = MemoryChannel::make_pair(channel);
      options.local_channels.push_back({proc, std::move(far)});
      locals_.emplace(proc, RawLink(std::move(near)));
    }
    engine = std::make_unique<Engine>(std::move(options));
  }

  [[nodiscard]] const JobMap& job() const { return job_; }
  [[nodiscard]] RawLink& host(std::int32_t number) { return hosts_.at(number); }
  [[nodiscard]] RawLink& local(WorldRank proc) { return locals_.at(proc); }
  /// The link over which the packets of rank `from` come.
  [[nodiscard]] RawLink& link_of(WorldRank from) {
    const std::int32_t my_host = job_.proc(here_).host;
    const std::int32_t its_host = job_.proc(from).host;
    if (its_host == my_host) return locals_.at(from);
    const WorldRank receiver = receiving_representative(job_, from, my_host);
    return receiver == here_ ? hosts_.at(its_host) : locals_.at(receiver);
  }

  /// From rank `from` to the engine's, to be changed at will.
  [[nodiscard]] PacketHeader header(int from, PacketType type, std::uint64_t srqid,
                                    std::uint32_t len = 0) const {
    PacketHeader made;
    made.type = type;
    made.srqid = srqid;
    made.len = len;
    made.msglen = len;
    made.lsrank = from;
    made.src = id_of(from);
    made.dest = id_of(here_);
    return made;
  }
  [[nodiscard]] const ProcId& id_of(int rank) const { return job_.proc(rank).id; }

  /// Sends bytes over `link`, and lets the engine see them; what it does not read any more is
  /// dropped.
  void say_bytes(RawLink& link, std::span<const std::byte> bytes) {
    for (int quiet = 0; !bytes.empty() && quiet < patience_; ++quiet) {
      const std::size_t taken = link.say(bytes);
      bytes = bytes.subspan(taken);
      if (taken > 0) quiet = 0;
      poll();
    }
  }
  /// Sends a packet over `link`, with a payload of zeros as long as the header says, and lets the
  /// engine see it.
  void say(RawLink& link, const PacketHeader& header) {
    std::vector<std::byte> bytes(kPacketHeaderSize + header.payload_size());
    encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
    say_bytes(link, bytes);
  }
  /// The next packet that the engine sent over `link`, which is polled until it has arrived whole,
  /// or no more comes.
  [[nodiscard]] std::optional<RawLink::Packet> hear(RawLink& link) {
    for (int quiet = 0; quiet < patience_; ++quiet) {
      if (auto packet = link.hear()) return packet;
      if (link.listen()) quiet = 0;
      poll();
    }
    return link.hear();
  }
  void poll(bool application_waits = false) {
    for (int round = 0; round < 3; ++round) engine->poll(application_waits);
  }
  [[nodiscard]] std::string failure() const {
    return engine->failure() == nullptr ? "" : engine->failure()->text;
  }

  std::unique_ptr<Engine> engine;

 private:
  JobMap job_;
  int here_;
  int patience_;  ///< rounds without a byte after which none will come
  std::map<int, RawLink> hosts_;
  std::map<int, RawLink> locals_;
};

}  // namespace impishim::wire::test
