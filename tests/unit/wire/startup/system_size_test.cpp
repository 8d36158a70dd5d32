// SPDX-License-Identifier: Apache-2.0
// The sizes that systems tell each other before they plan their hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/wire/startup/scripted_server.hpp"
#include "tests/unit/wire/startup/support.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::command;
using test::DrivenServer;
using test::impi;
using test::Peer;
using test::ScriptedServer;
using test::operator+;  // NOLINT(misc-unused-using-decls): clang-tidy 14 overlooks operators
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const AuthenticationMethods kNone{.none = true, .key = false, .key_value = 0};
constexpr int kTimeoutMs = 30000;
constexpr auto kLabel = static_cast<std::uint32_t>(StartupLabel::kSystemSize);

Bytes size_bytes(std::int32_t procs, std::int32_t host_procs, std::int32_t channels,
                 std::uint32_t gateways, std::int32_t lanes = 1, std::int32_t reconnect = -1,
                 std::uint32_t encrypted = 0, std::int32_t streams = 1,
                 std::uint32_t compressed = 0) {
  return bytes_of(procs, host_procs, channels, lanes, reconnect, streams, encrypted, compressed,
                  gateways);
}

/// Lets a client of 3 in, without a key. `ours`: as our own server does.
void admit(Peer& peer, bool ours) {
  static_cast<void>(peer.receive(12));
  peer.send(bytes_of(kAuthNone, 0));
  static_cast<void>(peer.receive(20));
  if (ours) peer.send(command(StartupCommand::kHello));
  peer.send(impi(3));
}

/// exchange_sizes() as client 1 of 3, against a server that answers like this. `sent` becomes what
/// the client has sent.
Result<std::vector<SystemSize>> sizes_from(const Bytes& answer, bool ours = true,
                                           Bytes* sent = nullptr) {
  ScriptedServer server([&](Peer& peer) {
    admit(peer, ours);
    const Bytes asked = peer.receive(ours ? 48 : 0);
    if (sent != nullptr) *sent = asked;
    peer.send(answer);
    peer.end_output();
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  if (!connection) return connection.error();
  return connection->exchange_sizes(
      {1, 4, kHostProcsAuto, 64, 1, kReconnectAuto, 1, false, false, false});
}

Bytes answered(std::uint32_t label, std::uint32_t mask, const Bytes& data) {
  return encode_startup(StartupCommand::kColl, bytes_of(label, mask) + data);
}

TEST(SystemSizes, AreThoseOfTheClientsInTheMask) {
  Bytes sent;
  const auto sizes = sizes_from(
      answered(kLabel, 6, size_bytes(4, -1, 64, 0) + size_bytes(8, 0, 32, 1, 3, 20, 1, 4, 1)), true,
      &sent);
  ASSERT_TRUE(sizes.ok()) << sizes.error().text;
  EXPECT_THAT(
      *sizes,
      ElementsAre(SystemSize{1, 4, kHostProcsAuto, 64, 1, kReconnectAuto, 1, false, false, false},
                  SystemSize{2, 8, kHostProcsNode, 32, 3, 20, 4, true, true, true}));
  EXPECT_EQ(sent, encode_coll(kLabel, size_bytes(4, -1, 64, 0)));
}

TEST(SystemSizes, ForeignServersAreNotAsked) {
  const auto sizes = sizes_from({}, false);
  ASSERT_TRUE(sizes.ok()) << sizes.error().text;
  EXPECT_THAT(*sizes, IsEmpty());
}

TEST(SystemSizes, ImpossibleAnswersAreRefused) {
  for (const Bytes& data :
       {size_bytes(0, -1, 64, 0), size_bytes(4, -2, 64, 0), size_bytes(4, 0, 0, 0),
        size_bytes(4, 0, 64, 0, 0), size_bytes(4, 0, 64, 0, 1, -2),
        size_bytes(4, 0, 64, 0, 1, -1, 2), size_bytes(4, 0, 64, 0, 1, -1, 0, -1),
        size_bytes(4, 0, 64, 0, 1, -1, 0, 17), size_bytes(4, 0, 64, 0, 1, -1, 0, 1, 2), Bytes(35),
        Bytes()}) {
    const auto sizes = sizes_from(answered(kLabel, 2, data));
    ASSERT_FALSE(sizes.ok());
    EXPECT_THAT(sizes.error().text, HasSubstr("system 1 has announced an impossible size"));
  }
  EXPECT_THAT(sizes_from(answered(kLabel, 2, Bytes(37))).error().text, HasSubstr("impossible"));
  EXPECT_THAT(
      sizes_from(answered(kLabel, 2, size_bytes(4, 0, 1, 0) + size_bytes(4, 0, 1, 0))).error().text,
      HasSubstr("more sizes than systems"));
  EXPECT_THAT(sizes_from(answered(0x1000, 2, {})).error().text, HasSubstr("label 0x1000 first"));
  EXPECT_THAT(sizes_from({}).error().text, HasSubstr("disconnected"));
}

/// A client that does not know the label begins with another one, and is not told of it.
TEST(SystemSizes, ForeignClientsDoNotDelayOthers) {
  DrivenServer driven{2};
  driven.join(0, 0);
  driven.announce(1, 1);
  for (const int client : {0, 1}) static_cast<void>(driven.take(client));
  driven.say(1, encode_coll(kLabel, size_bytes(4, -1, 64, 0)));
  EXPECT_TRUE(driven.nothing_for(1));
  driven.say(0, encode_coll(0x1000, bytes_of(0U, 0U)));
  EXPECT_TRUE(driven.nothing_for(0));
  const StartupMessage message = driven.next(1);
  EXPECT_EQ(message.payload, bytes_of(kLabel, 2U) + size_bytes(4, -1, 64, 0));
}

/// exchange_label() as client 1 of 3, against a server that answers like this.
Result<CollectedLabel> label_from(const Bytes& answer, bool ours = true) {
  ScriptedServer server([&](Peer& peer) {
    admit(peer, ours);
    static_cast<void>(peer.receive(ours ? 16 : 0));
    peer.send(answer);
    peer.end_output();
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  if (!connection) return connection.error();
  return connection->exchange_label(static_cast<std::uint32_t>(StartupLabel::kCheckReport),
                                    bytes_of(std::int32_t{7}));
}

TEST(SystemSizes, AJobIsToldOfACheck) {
  constexpr auto kReport = static_cast<std::uint32_t>(StartupLabel::kCheckReport);
  EXPECT_THAT(sizes_from(answered(kReport, 1, {})).error().text,
              HasSubstr("another system is checked (impirun -check)"));
}

TEST(ServerLabels, OneIsAnsweredWithTheDataOfAll) {
  constexpr auto kReport = static_cast<std::uint32_t>(StartupLabel::kCheckReport);
  const Bytes data = bytes_of(std::int32_t{7}, std::int32_t{8});
  const auto label = label_from(answered(kReport, 6, data));
  ASSERT_TRUE(label.ok()) << label.error().text;
  EXPECT_EQ(label->label, kReport);
  EXPECT_EQ(label->client_mask, 6U);
  EXPECT_EQ(label->data, data);
}

TEST(ServerLabels, WrongAnswers) {
  EXPECT_THAT(label_from(answered(kLabel, 6, {})).error().text, HasSubstr("label 0xf00 first"));
  EXPECT_THAT(label_from({}, false).error().text, HasSubstr("takes only labels of IMPI"));
  EXPECT_FALSE(label_from({}).ok());
}

}  // namespace
}  // namespace impishim::wire
