// SPDX-License-Identifier: Apache-2.0
#include "wire/engine/shutdown.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/unit/wire/path/path_parts.hpp"
#include "wire/peer/link.hpp"

namespace impishim::wire::test {
namespace {

/// Process 0 of a host of two, which represents it towards the other host.
class ShutdownTest : public testing::Test {
 protected:
  ShutdownTest()
      : parts({.procs_of_hosts = {{2}, {2}}, .values = {.datalen = 1000}}, 0),
        shutdown({parts.settings, parts.state, parts.flags, parts.failure, parts.peers,
                  parts.readiness, parts.sender, parts.send_path, parts.receive_path}) {}

  [[nodiscard]] std::optional<PacketType> said_to_host() {
    const auto packet = PathParts::hear(parts.host(1));
    return packet ? std::optional(packet->header.type) : std::nullopt;
  }
  [[nodiscard]] std::optional<PacketType> said_to_proc() {
    const auto packet = PathParts::hear(parts.local(1));
    return packet ? std::optional(packet->header.type) : std::nullopt;
  }

  PathParts parts;
  Shutdown shutdown;
};

TEST_F(ShutdownTest, TheHostFinishesAfterAllItsProcesses) {
  shutdown.close();
  EXPECT_EQ(said_to_proc(), PacketType::kFini);
  EXPECT_EQ(said_to_host(), std::nullopt);
  parts.link_to_proc(1).peer_finished = true;
  shutdown.advance();
  EXPECT_EQ(said_to_host(), PacketType::kFini);
  EXPECT_EQ(parts.link_to_host(1).state, LinkState::kClosing);
  EXPECT_FALSE(shutdown.closed());
  parts.link_to_host(1).peer_finished = true;
  shutdown.advance();
  EXPECT_EQ(parts.link_to_host(1).state, LinkState::kClosed);
  EXPECT_FALSE(shutdown.closed()) << "the connection is read to its end";
  shutdown.link_ended(parts.link_to_host(1), {ErrorKind::kConnection, "end of stream"});
  EXPECT_TRUE(shutdown.closed());
  EXPECT_FALSE(parts.failure.happened());
}

TEST_F(ShutdownTest, APendingSendDelaysFini) {
  PathSend send(2, 10, SendMode::kSynchronous);
  parts.send_path.start(send.operation);
  shutdown.close();
  EXPECT_EQ(said_to_proc(), std::nullopt);
  EXPECT_FALSE(shutdown.closed());
}

TEST_F(ShutdownTest, ALinkThatEndsBeforeFiniFailsTheEngine) {
  PathSend send(2, 10, SendMode::kSynchronous);
  parts.send_path.start(send.operation);
  shutdown.link_ended(parts.link_to_host(1), {ErrorKind::kConnection, "reset"});
  ASSERT_TRUE(parts.failure.happened());
  EXPECT_NE(parts.failure.error()->text.find("ended without FINI (reset)"), std::string::npos);
  EXPECT_TRUE(send.operation.complete());
  EXPECT_EQ(said_to_proc(), PacketType::kAbort) << "the other processes are told";
}

TEST_F(ShutdownTest, ALinkThatEndsAfterFiniFailsTheEngineIfASendNeedsIt) {
  PathSend send(2, 10, SendMode::kSynchronous);
  parts.send_path.start(send.operation);
  parts.link_to_host(1).peer_finished = true;
  shutdown.link_ended(parts.link_to_host(1), {ErrorKind::kConnection, "reset"});
  ASSERT_TRUE(parts.failure.happened());
  EXPECT_NE(parts.failure.error()->text.find("after its FINI"), std::string::npos);
}

TEST_F(ShutdownTest, ABreachOfTheProtocolNamesItsSender) {
  parts.link_to_host(1).arrival.source = 3;
  shutdown.link_ended(parts.link_to_host(1), {ErrorKind::kProtocol, "a second FINI"});
  EXPECT_EQ(parts.failure.error()->text,
            "rank 3 (host 1 of system 1, 127.0.1.1, process 103) broke the IMPI protocol: a second "
            "FINI");
}

TEST_F(ShutdownTest, TheFirstFailureIsKept) {
  shutdown.fail({ErrorKind::kSystem, "first"});
  shutdown.fail({ErrorKind::kSystem, "second"});
  EXPECT_EQ(parts.failure.error()->text, "first");
  EXPECT_EQ(parts.failure.abort_code(), std::nullopt);
}

TEST_F(ShutdownTest, AnAbortIsPassedOnWithItsCodeAndText) {
  PacketHeader abort;
  abort.type = PacketType::kAbort;
  abort.tag = 17;
  Link& link = parts.link_to_host(1);
  parts.begin_arrival(link, parts.host(1), abort);
  link.arrival.owned = parts.state.buffers.take(1);
  shutdown.abort_arrived(link);
  EXPECT_EQ(parts.failure.abort_code(), 17);
  const auto passed_on = PathParts::hear(parts.local(1));
  ASSERT_TRUE(passed_on);
  EXPECT_EQ(passed_on->header.type, PacketType::kAbort);
  EXPECT_EQ(passed_on->header.tag, 17);
}

}  // namespace
}  // namespace impishim::wire::test
