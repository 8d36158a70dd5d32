// The client's side, against servers that do what servers may, and what they may not.
#include "wire/protocol/startup_client.hpp"

#include <gmock/gmock.h>

#include <future>

#include "tests/startup/scripted_server.hpp"
#include "tests/startup/support.hpp"
#include "wire/launch/rendezvous.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::command;
using test::Peer;
using test::ScriptedServer;
using test::text_bytes;
using testing::HasSubstr;

constexpr AuthenticationMethods kNone{.none = true, .key = false, .key_value = 0};
constexpr AuthenticationMethods kBoth{.none = true, .key = true, .key_value = 0x1122334455667788};
constexpr int kTimeoutMs = 30000;

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes auth(std::uint32_t mask) { return encode_startup(StartupCommand::kAuth, bytes_of(mask)); }
Bytes impi(std::int32_t number) { return encode_startup(StartupCommand::kImpi, bytes_of(number)); }

TEST(StartupClient, AuthenticatesWithoutAKey) {
  ScriptedServer server([](Peer& peer) {
    EXPECT_EQ(peer.receive(12), auth(1));
    peer.send(bytes_of(kAuthNone, 0));
    EXPECT_EQ(peer.receive(12), impi(5));
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
    EXPECT_EQ(peer.receive(20), bytes_of(kBoth.key_value) + impi(0));
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
  EXPECT_THAT(refusal(text_bytes("SSH-2.0-OpenSSH_9.2p1\r\n")).text, HasSubstr("it does not speak IMPI"));
  EXPECT_THAT(refusal(bytes_of(kAuthNone, 0) + text_bytes("IMPI\xff\xff\xff\xff")).text, HasSubstr("not IMPI"));
}

TEST(StartupClient, ImpossibleNumberOfClients) {
  for (const std::int32_t count : {0, -1, 33, 3, INT32_MAX}) {
    EXPECT_THAT(refusal(bytes_of(kAuthNone, 0) + impi(count), 3).text, HasSubstr("an impossible number of clients")) << count;
  }
  EXPECT_THAT(refusal(bytes_of(kAuthNone, 0) + encode_startup(StartupCommand::kImpi, Bytes(2))).text,
              HasSubstr("an impossible number of clients"));
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
  auto map = connection->exchange(test::joining(1, {1}));
  EXPECT_TRUE(connection->finish().ok());
  return map;
}

Bytes sound_answers() {
  Bytes all;
  for (const auto& [label, value] : test::concatenate({test::joining(0, {2}), test::joining(1, {1})})) {
    all = all + encode_startup(StartupCommand::kColl, bytes_of(label, value.client_mask) + value.data);
  }
  return all;
}

TEST(StartupClient, LearnsTheJob) {
  auto map = exchanged(sound_answers() + command(StartupCommand::kDone));
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->size(), 3);
  EXPECT_EQ(map->clients().size(), 2U);
}

TEST(StartupClient, PassesOverUnknownLabelsAndCommands) {
  const Bytes strange = encode_startup(StartupCommand::kColl, bytes_of(0x1001U, 1U, std::uint64_t{7})) +
                        encode_startup(static_cast<StartupCommand>(0x4E455721), Bytes(3));
  auto map = exchanged(strange + sound_answers() + strange + command(StartupCommand::kDone));
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(map->size(), 3);
}

TEST(StartupClient, ServerThatEndsDuringTheExchange) {
  const Bytes said = encode_startup(StartupCommand::kSaid, text_bytes("client 0 was lost"));
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
  EXPECT_EQ(map.error().text, "rendezvous server: client 0 was lost");
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

TEST(StartupClient, MeetsOthersAtTheServer) {
  RendezvousOptions options;
  options.clients = 3;
  options.this_machine = true;
  options.methods = kBoth;
  auto server = Rendezvous::open(options);
  ASSERT_TRUE(server.ok());
  auto served = std::async(std::launch::async, [&] { return server->serve(); });
  const auto join = [&](std::int32_t client, const std::vector<int>& procs) {
    return std::async(std::launch::async, [&server, client, procs]() -> Result<JobMap> {
      auto connection = ServerConnection::connect(server->address(), client, kBoth, kTimeoutMs);
      if (!connection) return connection.error();
      auto map = connection->exchange(test::joining(client, procs));
      auto finished = connection->finish();
      if (!finished) return finished.error();
      return map;
    });
  };
  std::vector<std::future<Result<JobMap>>> clients;
  clients.push_back(join(2, {1, 1}));
  clients.push_back(join(0, {2, 3}));
  clients.push_back(join(1, {1}));
  for (auto& each : clients) {
    auto map = each.get();
    ASSERT_TRUE(map.ok()) << map.error().text;
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
