// SPDX-License-Identifier: Apache-2.0
// The client's side, against servers that do what servers may, and what they may not.
#include "wire/startup/startup_client.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <future>

#include "tests/unit/wire/startup/scripted_server.hpp"
#include "tests/unit/wire/startup/support.hpp"
#include "wire/server/rendezvous.hpp"

namespace impishim::wire {
namespace {

using test::auth;
using test::Bytes;
using test::bytes_of;
using test::command;
using test::impi;
using test::number_of;
using test::Peer;
using test::ScriptedServer;
using test::sound_answers;
using test::text_bytes;
using test::operator+;  // NOLINT(misc-unused-using-decls): clang-tidy 14 overlooks operators
using testing::HasSubstr;

const AuthenticationMethods kNone{
    .none = true, .key = false, .key_value = 0, .shared = {.secret = {}, .is_off = true}};
const AuthenticationMethods kBoth{.none = true,
                                  .key = true,
                                  .key_value = 0x1122334455667788,
                                  .shared = {.secret = {}, .is_off = true}};
constexpr int kTimeoutMs = 30000;

TEST(StartupClient, AuthenticatesWithoutAKey) {
  ScriptedServer server([](Peer& peer) {
    EXPECT_EQ(peer.receive(12), auth(1));
    peer.send(bytes_of(kAuthNone, 0));
    EXPECT_EQ(peer.receive(20), command(StartupCommand::kHello) + impi(5));
    peer.send(impi(6));
  });
  auto connection = ServerConnection::connect(server.address, 5, kNone, kTimeoutMs);
  ASSERT_TRUE(connection.ok()) << connection.error().text;
  EXPECT_EQ(connection->client_count(), 6);
}

TEST(StartupClient, SendsItsKeyUnframed) {
  ScriptedServer server([](Peer& peer) {
    EXPECT_EQ(peer.receive(12), auth(3));
    // A later version may have more to say about the method.
    peer.send(bytes_of(kAuthKey, 5) + text_bytes("later"));
    EXPECT_EQ(peer.receive(28),
              bytes_of(kBoth.key_value) + command(StartupCommand::kHello) + impi(0));
    peer.send(encode_startup(static_cast<StartupCommand>(0x4E455721), Bytes(100)) + impi(1));
  });
  auto connection = ServerConnection::connect(server.address, 0, kBoth, kTimeoutMs);
  ASSERT_TRUE(connection.ok()) << connection.error().text;
  EXPECT_EQ(connection->client_count(), 1);
}

/// connect() against a server that answers AUTH like this and closes.
Error refusal(const Bytes& answer, std::int32_t client = 0) {
  ScriptedServer server([&](Peer& peer) {
    EXPECT_EQ(peer.receive(12).size(), 12U);
    peer.send(answer);
    peer.end_output();
    static_cast<void>(peer.receive(12));
  });
  auto connection = ServerConnection::connect(server.address, client, kNone, kTimeoutMs);
  if (connection) return {ErrorKind::kSystem, "it connected"};
  return connection.error();
}

TEST(StartupClient, PassesOnWhyItWasTurnedAway) {
  const Bytes said = encode_startup(StartupCommand::kSaid, text_bytes("no, because"));
  EXPECT_EQ(refusal(said).text, "rendezvous server: no, because");
  EXPECT_EQ(refusal(bytes_of(kAuthNone, 0) + said).text, "rendezvous server: no, because");
  EXPECT_EQ(refusal(said).kind, ErrorKind::kConnection);
}

TEST(StartupClient, ServerThatOnlyCloses) {
  EXPECT_EQ(refusal({}).text, "rendezvous server: it disconnected");
  EXPECT_EQ(refusal(bytes_of(kAuthNone)).text, "rendezvous server: it disconnected");
  EXPECT_EQ(refusal(bytes_of(kAuthNone, 0)).text, "rendezvous server: it disconnected");
}

TEST(StartupClient, MethodThatWasNotOffered) {
  for (const std::int32_t method : {kAuthKey, 2, -1}) {
    const Error error = refusal(bytes_of(method, 0));
    EXPECT_EQ(error.kind, ErrorKind::kAuthentication);
    EXPECT_THAT(error.text, HasSubstr("which was not offered"));
  }
}

TEST(StartupClient, ServerOfSomethingElse) {
  EXPECT_THAT(refusal(text_bytes("SSH-2.0-OpenSSH_9.2p1\r\n")).text,
              HasSubstr("it does not speak IMPI"));
  EXPECT_THAT(refusal(bytes_of(kAuthNone, 0) + text_bytes("IMPI\xff\xff\xff\xff")).text,
              HasSubstr("not IMPI"));
}

TEST(StartupClient, ImpossibleNumberOfClients) {
  for (const std::int32_t count : {0, -1, 33, 3, INT32_MAX}) {
    EXPECT_THAT(refusal(bytes_of(kAuthNone, 0) + impi(count), 3).text,
                HasSubstr("an impossible number of systems"))
        << count;
  }
  EXPECT_THAT(
      refusal(bytes_of(kAuthNone, 0) + encode_startup(StartupCommand::kImpi, Bytes(2))).text,
      HasSubstr("an impossible number of systems"));
}

/// exchange() as client 1 of 2 against a server that sends this after the client's DONE.
Result<JobMap> exchanged(const Bytes& answers) {
  ScriptedServer server([&](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0) + impi(2));
    static_cast<void>(peer.receive_until(command(StartupCommand::kDone)));
    peer.send(answers);
    static_cast<void>(peer.receive_until(command(StartupCommand::kFini)));
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  if (!connection) return connection.error();
  auto agreed = connection->exchange(test::joining(1, {1}));
  EXPECT_TRUE(connection->finish().ok());
  if (!agreed) return agreed.error();
  return std::move(agreed->map);
}

TEST(StartupClient, LearnsTheJob) {
  auto map = exchanged(sound_answers() + command(StartupCommand::kDone));
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->size(), 3);
  EXPECT_EQ(map->clients().size(), 2U);
}

TEST(StartupClient, PassesOverUnknownLabelsAndCommands) {
  const Bytes strange =
      encode_startup(StartupCommand::kColl, bytes_of(0x1001U, 1U, std::uint64_t{7})) +
      encode_startup(static_cast<StartupCommand>(0x4E455721), Bytes(3));
  auto map = exchanged(strange + sound_answers() + strange + command(StartupCommand::kDone));
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->size(), 3);
}

TEST(StartupClient, ServerThatEndsDuringTheExchange) {
  const Bytes said = encode_startup(StartupCommand::kSaid, text_bytes("system 0 was lost"));
  ScriptedServer server([&](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0) + impi(2));
    static_cast<void>(peer.receive_until(command(StartupCommand::kDone)));
    peer.send(sound_answers() + said);
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  ASSERT_TRUE(connection.ok());
  auto map = connection->exchange(test::joining(1, {1}));
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().text, "rendezvous server: system 0 was lost");
}

TEST(StartupClient, CutAnswerIsAProtocolError) {
  auto map = exchanged(encode_startup(StartupCommand::kColl, Bytes(7)));
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().kind, ErrorKind::kProtocol);
}

TEST(StartupClient, UnreachableServer) {
  std::string address;
  {
    const ScriptedServer gone([](Peer&) {});
    address = gone.address;
    EXPECT_TRUE(connect_to_server(address, kTimeoutMs).ok());
  }
  auto refused = connect_to_server(address, kTimeoutMs);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(refused.error().text, HasSubstr("cannot reach the rendezvous server at " + address));
  for (const char* bad : {"", "host", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x"}) {
    auto connection = connect_to_server(bad, kTimeoutMs);
    ASSERT_FALSE(connection.ok()) << bad;
    EXPECT_EQ(connection.error().kind, ErrorKind::kConfiguration);
  }
}

/// What a client sends from IMPI's answer to DONE, to a server that has or has not answered kHello.
Bytes offered(bool ours) {
  Bytes stream;
  ScriptedServer server([&](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0));
    static_cast<void>(peer.receive(20));
    if (ours) peer.send(command(StartupCommand::kHello));
    peer.send(impi(2));
    stream = peer.receive_until(command(StartupCommand::kDone));
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  EXPECT_TRUE(connection.ok());
  EXPECT_FALSE(connection->exchange(test::joining(1, {1})).ok());  // the server closes
  EXPECT_EQ(connection->server_is_ours(), ours);
  return stream;
}

std::vector<std::uint32_t> labels_in(const Bytes& stream) {
  StartupDecoder decoder;
  decoder.feed(stream);
  std::vector<std::uint32_t> labels;
  for (auto next = decoder.next(); next.ok() && next->has_value(); next = decoder.next()) {
    if ((*next)->payload.size() >= 4)
      labels.push_back(load_big_endian<std::uint32_t>((*next)->payload.data()));
  }
  return labels;
}

TEST(StartupClient, OffersPrivateLabelsOnlyToServersOfOurs) {
  std::vector<std::uint32_t> expected = {0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600,
                                         0x2000, 0x2100, 0x2200, 0x2300, 0x2400, 0x3000, 0x3100};
  EXPECT_EQ(labels_in(offered(false)), expected);
  expected.push_back(number_of(StartupLabel::kImpishim));
  expected.push_back(number_of(StartupLabel::kSecret));
  EXPECT_EQ(labels_in(offered(true)), expected);
}

TEST(StartupClient, ContributesAnotherSecretEachTime) {
  const Bytes one = offered(true);
  const Bytes other = offered(true);
  ASSERT_EQ(one.size(), other.size());
  EXPECT_NE(one, other);
}

TEST(StartupClient, ForeignServerMakesAllSystemsForeign) {
  ScriptedServer server([](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0) + impi(2));
    static_cast<void>(peer.receive_until(command(StartupCommand::kDone)));
    for (const auto& [label, value] :
         test::concatenate({test::joining(0, {2}), test::joining(1, {1})})) {
      if (!is_standard(label)) continue;
      peer.send(
          encode_startup(StartupCommand::kColl, bytes_of(label, value.client_mask) + value.data));
    }
    peer.send(command(StartupCommand::kDone));
  });
  auto connection = ServerConnection::connect(server.address, 1, kNone, kTimeoutMs);
  ASSERT_TRUE(connection.ok());
  auto agreed = connection->exchange(test::joining(1, {1}));
  ASSERT_TRUE(agreed.ok()) << agreed.error().text;
  EXPECT_FALSE(agreed->secret.has_value());
  for (const Client& client : agreed->map.clients()) EXPECT_FALSE(client.impishim);
}

TEST(StartupClient, ConnectsAgainWhenItHasMadeRoomForOthers) {
  const auto evicts = [](Peer& peer) { static_cast<void>(peer.receive(12)); };
  const auto takes = [](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthNone, 0) + impi(1));
    static_cast<void>(peer.receive(20));
  };
  ScriptedServer server({evicts, evicts, takes});
  auto connection = ServerConnection::connect(server.address, 0, kNone, kTimeoutMs);
  ASSERT_TRUE(connection.ok()) << connection.error().text;
}

TEST(StartupClient, ServerThatClosesWhenItHasTheKey) {
  ScriptedServer server([](Peer& peer) {
    static_cast<void>(peer.receive(12));
    peer.send(bytes_of(kAuthKey, 0));
    static_cast<void>(peer.receive(28));
  });
  auto connection = ServerConnection::connect(server.address, 0, kBoth, kTimeoutMs);
  ASSERT_FALSE(connection.ok());
  EXPECT_THAT(connection.error().text, HasSubstr("has it the same IMPI_AUTH_KEY?"));
}

TEST(StartupClient, WordsOfTheServerCannotSteerTheTerminal) {
  const Bytes said = encode_startup(StartupCommand::kSaid, text_bytes("\x1b[2Jno\nimpishim: yes"));
  EXPECT_EQ(refusal(said).text, "rendezvous server: \\x1b[2Jno\\nimpishim: yes");
  EXPECT_EQ(refusal(bytes_of(kAuthNone, 0) + said).text,
            "rendezvous server: \\x1b[2Jno\\nimpishim: yes");
}

TEST(StartupClient, MeetsOthersAtTheServer) {
  RendezvousOptions options;
  options.clients = 3;
  options.this_machine = true;
  options.methods = kBoth;
  auto server = Rendezvous::open(options);
  ASSERT_TRUE(server.ok());
  auto served = std::async(std::launch::async, [&] { return server->serve(); });
  const auto join = [&](std::int32_t client, const std::vector<int>& procs) {
    return std::async(std::launch::async, [&server, client, procs]() -> Result<Agreement> {
      auto connection = ServerConnection::connect(server->address(), client, kBoth, kTimeoutMs);
      if (!connection) return connection.error();
      auto agreed = connection->exchange(test::joining(client, procs));
      auto finished = connection->finish();
      if (!finished) return finished.error();
      return agreed;
    });
  };
  std::vector<std::future<Result<Agreement>>> clients;
  clients.push_back(join(2, {1, 1}));
  clients.push_back(join(0, {2, 3}));
  clients.push_back(join(1, {1}));
  std::optional<JobSecret> secret;
  for (auto& each : clients) {
    auto agreed = each.get();
    ASSERT_TRUE(agreed.ok()) << agreed.error().text;
    ASSERT_TRUE(agreed->secret.has_value());
    if (!secret) secret = agreed->secret;
    EXPECT_TRUE(std::ranges::equal(agreed->secret->bytes(), secret->bytes()));
    const JobMap* map = &agreed->map;
    EXPECT_EQ(map->size(), 8);
    ASSERT_EQ(map->hosts().size(), 5U);
    EXPECT_EQ(map->hosts()[1].first_proc, 2);
    EXPECT_EQ(map->hosts()[2].client, 1);
    EXPECT_EQ(map->rank_of({test::address(31), 300}), 7);
  }
  EXPECT_TRUE(served.get().ok());
}

}  // namespace
}  // namespace impishim::wire
