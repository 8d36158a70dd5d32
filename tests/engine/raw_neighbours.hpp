/// One engine among neighbours made of bytes: every link of its ends in the test, which speaks for all other processes, truly
/// or not. For what several peers do to each other's operations, and for channels that are full.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/engine/simulated_job.hpp"
#include "wire/channel/memory_channel.hpp"
#include "wire/protocol/packet.hpp"
#include "wire/route.hpp"

namespace impishim::wire::test {

/// The other end of one link.
class RawLink {
 public:
  struct Packet {
    PacketHeader header;
    std::vector<std::byte> payload;
  };

  explicit RawLink(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  /// Writes `bytes`, as far as the channel takes them, or the engine has not closed it.
  void say(std::span<const std::byte> bytes) {
    if (channel_ == nullptr) return;
    // iovec serves reading and writing alike, so it has no const form.
    const std::array<iovec, 1> pieces = {{{const_cast<std::byte*>(bytes.data()), bytes.size()}}};
    static_cast<void>(channel_->try_send(pieces));
  }
  /// The next packet that has arrived whole; what came of a later one is kept.
  [[nodiscard]] std::optional<Packet> hear() {
    listen();
    if (heard_.size() < kPacketHeaderSize) return std::nullopt;
    Packet packet;
    if (!decode_packet_header(std::span<const std::byte>(heard_).first<kPacketHeaderSize>(), 1U << 20U, packet.header))
      return std::nullopt;
    const std::size_t size = kPacketHeaderSize + packet.header.payload_size();
    if (heard_.size() < size) return std::nullopt;
    const auto end = heard_.begin() + static_cast<std::ptrdiff_t>(size);
    packet.payload.assign(heard_.begin() + kPacketHeaderSize, end);
    heard_.erase(heard_.begin(), end);
    return packet;
  }
  void shut_down() { channel_->shutdown_output(); }
  /// Ends the connection in both directions.
  void cut() { channel_.reset(); }

 private:
  void listen() {
    std::array<std::byte, 4096> room;
    while (channel_ != nullptr) {
      const std::array<iovec, 1> pieces = {{{room.data(), room.size()}}};
      auto received = channel_->try_receive(pieces);
      if (!received || *received == 0) return;
      heard_.insert(heard_.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*received));
    }
  }

  std::unique_ptr<Channel> channel_;
  std::vector<std::byte> heard_;
};

class RawNeighbours {
 public:
  /// Of rank `here`; `capacity`: bytes that each channel takes in a direction before it is full.
  explicit RawNeighbours(const JobShape& shape, int here = 1, std::size_t capacity = 1U << 20U)
      : job_(make_job(shape)), here_(here) {
    EngineOptions options;
    options.job = job_;
    options.here = here;
    options.relay = shape.relay;
    options.format_of_client.assign(job_.clients().size(), shape.format);
    MemoryChannelOptions channel;
    channel.capacity = capacity;
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
  [[nodiscard]] std::vector<RawLink*> links() {
    std::vector<RawLink*> all;
    for (auto* some : {&hosts_, &locals_}) {
      for (auto& [number, link] : *some) all.push_back(&link);
    }
    return all;
  }

  /// From rank `from` to the engine's, to be changed at will.
  [[nodiscard]] PacketHeader header(int from, PacketType type, std::uint64_t srqid, std::uint32_t len = 0) const {
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
  [[nodiscard]] const ProcId& id_of(int rank) const { return job_.procs()[static_cast<std::size_t>(rank)].id; }

  /// Sends a packet over `link`, with a payload of zeros as long as the header says, and lets the engine see it.
  void say(RawLink& link, const PacketHeader& header) {
    std::vector<std::byte> bytes(kPacketHeaderSize + header.payload_size());
    encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
    link.say(bytes);
    poll();
  }
  /// What the engine sent over `link`, after it has been polled.
  [[nodiscard]] std::optional<RawLink::Packet> hear(RawLink& link) {
    for (int round = 0; round < 3; ++round) {
      if (auto packet = link.hear()) return packet;
      poll();
    }
    return std::nullopt;
  }
  void poll(bool application_waits = false) {
    for (int round = 0; round < 3; ++round) engine->poll(application_waits);
  }
  [[nodiscard]] std::string failure() const { return engine->failure() == nullptr ? "" : engine->failure()->text; }

  std::unique_ptr<Engine> engine;

 private:
  JobMap job_;
  int here_;
  std::map<int, RawLink> hosts_;
  std::map<int, RawLink> locals_;
};

}  // namespace impishim::wire::test
