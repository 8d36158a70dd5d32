// SPDX-License-Identifier: Apache-2.0
/// A peer made of bytes: the other end of an engine's only channel, for tests of what no engine of
/// ours would send.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire::test {

/// Rank 1 is an engine on a host of its own; this is host 0, with rank 0 and, to lie about, rank 2
/// on a third host.
class RawPeer {
 public:
  explicit RawPeer(const JobShape& shape = {.procs_of_hosts = {{1}, {1}, {1}},
                                            .values = {.datalen = 1000}})
      : job_(make_job(shape)) {
    auto [near, far] = MemoryChannel::make_pair({});
    EngineOptions options;
    options.job = job_;
    options.here = 1;
    options.format_of_client.assign(job_.clients().size(), shape.format);
    options.host_channels.push_back({0, std::move(far)});
    channel = std::move(near);
    engine = std::make_unique<Engine>(std::move(options));
  }

  /// A header from rank 0 to the engine, to be changed at will.
  [[nodiscard]] PacketHeader header(PacketType type, std::uint32_t len = 0) const {
    PacketHeader made;
    made.type = type;
    made.len = len;
    made.msglen = len;
    made.src = job_.procs()[0].id;
    made.dest = job_.procs()[1].id;
    made.srqid = 77;
    return made;
  }
  [[nodiscard]] const ProcId& id_of(int rank) const { return job_.proc(rank).id; }

  void say_bytes(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const std::array<iovec, 1> pieces = {{{const_cast<std::byte*>(bytes.data()), bytes.size()}}};
      auto sent = channel->try_send(pieces);
      ASSERT_TRUE(sent.ok());
      bytes = bytes.subspan(*sent);
      engine->poll(false);
    }
  }
  /// Sends a packet with a payload of zeros as long as the header says, and lets the engine see it.
  void say(const PacketHeader& header) const {
    std::vector<std::byte> bytes(kPacketHeaderSize + header.payload_size());
    encode_packet_header(header, std::span(bytes).first<kPacketHeaderSize>());
    say_bytes(bytes);
    for (int i = 0; i < 3; ++i) engine->poll(false);
  }
  /// The next packet that the engine sent; payload is dropped.
  [[nodiscard]] std::optional<PacketHeader> hear() const {
    for (int i = 0; i < 3; ++i) engine->poll(false);
    std::array<std::byte, kPacketHeaderSize> raw{};
    if (!hear_bytes(raw)) return std::nullopt;
    PacketHeader header;
    const bool decoded = decode_packet_header(raw, 1U << 20U, header).ok();
    EXPECT_TRUE(decoded);
    if (!decoded) return std::nullopt;
    std::vector<std::byte> payload(header.payload_size());
    EXPECT_TRUE(hear_bytes(payload));
    return header;
  }
  [[nodiscard]] bool hear_bytes(std::span<std::byte> room) const {
    while (!room.empty()) {
      const std::array<iovec, 1> pieces = {{{room.data(), room.size()}}};
      auto received = channel->try_receive(pieces);
      if (!received || *received == 0) return false;
      room = room.subspan(*received);
      engine->poll(false);
    }
    return true;
  }
  [[nodiscard]] std::string failure() const {
    return engine->failure() == nullptr ? "" : engine->failure()->text;
  }
  [[nodiscard]] const JobMap& job() const { return job_; }

  std::unique_ptr<Channel> channel;
  std::unique_ptr<Engine> engine;

 private:
  JobMap job_;
};

}  // namespace impishim::wire::test
