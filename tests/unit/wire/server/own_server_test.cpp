// SPDX-License-Identifier: Apache-2.0
// A process that is the rendezvous server of its own job.
#include "wire/server/own_server.hpp"

#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/startup/startup_client.hpp"

namespace impishim::wire {
namespace {

constexpr int kTimeoutMs = 30000;

TEST(OwnServer, MakesAJobOfOneSystem) {
  auto server = OwnServer::open(kTimeoutMs);
  ASSERT_TRUE(server.ok()) << server.error().text;
  auto client =
      ServerConnection::connect((*server)->address(), 0, (*server)->methods(), kTimeoutMs);
  ASSERT_TRUE(client.ok()) << client.error().text;
  EXPECT_EQ(client->client_count(), 1);
  EXPECT_TRUE(client->server_is_ours());
  JoinOptions options;
  options.hosts.push_back(
      {.address = HostId{}, .port = 4711, .procs = {ProcId{}}, .gateway = -1, .node = ""});
  auto agreed = client->exchange(options);
  ASSERT_TRUE(agreed.ok()) << agreed.error().text;
  EXPECT_EQ(agreed->map.size(), 1);
  EXPECT_TRUE(client->finish().ok());
}

TEST(OwnServer, IsThisProcessesAlone) {
  auto server = OwnServer::open(kTimeoutMs);
  ASSERT_TRUE(server.ok()) << server.error().text;
  AuthenticationMethods guess = (*server)->methods();
  guess.key_value ^= 1;
  EXPECT_FALSE(ServerConnection::connect((*server)->address(), 0, guess, kTimeoutMs).ok());
  const AuthenticationMethods none{.none = true, .key = false, .key_value = 0};
  EXPECT_FALSE(ServerConnection::connect((*server)->address(), 0, none, kTimeoutMs).ok());
  auto client =
      ServerConnection::connect((*server)->address(), 0, (*server)->methods(), kTimeoutMs);
  EXPECT_TRUE(client.ok());
}

TEST(OwnServer, HasAnotherKeyEachTime) {
  auto one = OwnServer::open(1);
  auto two = OwnServer::open(1);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE((*one)->methods().key_value, (*two)->methods().key_value);
}

TEST(OwnServer, EndsWithAClientThatIsLost) {
  auto server = OwnServer::open(kTimeoutMs);
  ASSERT_TRUE(server.ok()) << server.error().text;
  {
    auto client =
        ServerConnection::connect((*server)->address(), 0, (*server)->methods(), kTimeoutMs);
    ASSERT_TRUE(client.ok()) << client.error().text;
  }
  server->reset();
}

}  // namespace
}  // namespace impishim::wire
