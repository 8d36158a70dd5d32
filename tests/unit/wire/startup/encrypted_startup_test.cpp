// SPDX-License-Identifier: Apache-2.0
// Clients and a rendezvous server that encrypt what they say to each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/startup/support.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

constexpr int kTimeoutMs = 30000;

AuthenticationMethods methods_with(const std::optional<JobSecret>& secret) {
  AuthenticationMethods methods;
  methods.none = true;
  methods.shared.secret = secret;
  return methods;
}

JoinOptions one_host(std::uint16_t port, const HostId& address = {}) {
  JoinOptions options;
  options.hosts.push_back({.address = address,
                           .port = port,
                           .procs = {ProcId{.host = address, .pid = port}},
                           .gateway = -1,
                           .node = std::string(64, 'n')});
  return options;
}

/// A server of two clients, in a thread of its own.
class EncryptedStartup : public testing::Test {
 protected:
  void serve(const std::optional<JobSecret>& of_server, int limit_ms = 500) {
    RendezvousOptions options;
    options.clients = 2;
    options.this_machine = true;
    options.timeout_ms = limit_ms;
    options.methods = methods_with(of_server);
    auto opened = Rendezvous::open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().text;
    address = opened->address();
    served = std::async(std::launch::async,
                        [rendezvous = std::move(*opened)]() mutable { return rendezvous.serve(); });
  }
  [[nodiscard]] Result<ServerConnection> connect(std::int32_t client,
                                                 const std::optional<JobSecret>& of_client) const {
    return ServerConnection::connect(address, client, methods_with(of_client), kTimeoutMs);
  }
  [[nodiscard]] Result<Agreement> agree(std::int32_t client) const {
    return agree(client, methods_with(secret), HostId{});
  }
  [[nodiscard]] Result<Agreement> agree(std::int32_t client, const AuthenticationMethods& methods,
                                        const HostId& host) const {
    auto connection = ServerConnection::connect(address, client, methods, kTimeoutMs);
    if (!connection) return connection.error();
    auto agreed = connection->exchange(one_host(static_cast<std::uint16_t>(client + 1), host));
    if (!agreed) return agreed.error();
    auto finished = connection->finish();
    if (!finished) return finished.error();
    return agreed;
  }

  JobSecret secret = *JobSecret::random();
  std::string address;
  std::future<Result<void>> served;
};

TEST_F(EncryptedStartup, ClientsWithTheSecretJoin) {
  serve(secret, kTimeoutMs);
  auto other = std::async(std::launch::async, [&] { return agree(1); });
  auto zero = agree(0);
  auto one = other.get();
  ASSERT_TRUE(zero.ok()) << zero.error().text;
  ASSERT_TRUE(one.ok()) << one.error().text;
  EXPECT_EQ(zero->map.size(), 2);
  ASSERT_TRUE(zero->secret && one->secret);
  EXPECT_TRUE(equal_in_constant_time(zero->secret->bytes(), one->secret->bytes()));
  EXPECT_TRUE(served.get().ok());
}

TEST_F(EncryptedStartup, AnotherSecretIsTold) {
  testing::internal::CaptureStderr();
  serve(secret);
  auto stranger = connect(0, *JobSecret::random());
  EXPECT_FALSE(served.get().ok());
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(stranger.ok());
  EXPECT_EQ(stranger.error().kind, ErrorKind::kAuthentication);
  EXPECT_THAT(stranger.error().text, HasSubstr("IMPISHIM_SECRET"));
  EXPECT_THAT(log, HasSubstr("turned away 127.0.0.1"));
}

TEST_F(EncryptedStartup, AClientWithoutASecretIsToldInPlainBytes) {
  testing::internal::CaptureStderr();
  serve(secret);
  auto plain = connect(0, std::nullopt);
  EXPECT_FALSE(served.get().ok());
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(plain.ok());
  EXPECT_THAT(plain.error().text, HasSubstr("this server encrypts: set the same IMPISHIM_SECRET"));
}

TEST_F(EncryptedStartup, NothingFallsBackToPlainBytes) {
  testing::internal::CaptureStderr();
  serve(std::nullopt);
  auto encrypted = connect(0, secret);
  EXPECT_FALSE(served.get().ok());
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(encrypted.ok());
  EXPECT_THAT(encrypted.error().text, HasSubstr("IMPISHIM_TLS"));
}

class ClearStartup : public EncryptedStartup {
 protected:
  /// Joins two systems at these addresses without a secret. Returns what the systems were told.
  std::array<Result<Agreement>, 2> joined(const std::array<const char*, 2>& hosts,
                                          const std::array<bool, 2>& off) {
    serve(std::nullopt, kTimeoutMs);
    const auto join = [&](std::int32_t client) {
      const auto number = static_cast<std::size_t>(client);
      AuthenticationMethods methods = methods_with(std::nullopt);
      methods.shared.is_off = off[number];
      return agree(client, methods, *parse_own_address("the test", hosts[number]));
    };
    auto other = std::async(std::launch::async, join, 1);
    auto zero = join(0);
    auto one = other.get();
    static_cast<void>(served.get());
    return {std::move(zero), std::move(one)};
  }
};

TEST_F(ClearStartup, SystemsOnSeveralMachinesNeedASecret) {
  testing::internal::CaptureStderr();
  const auto told = joined({"192.0.2.1", "192.0.2.2"}, {false, true});
  testing::internal::GetCapturedStderr();
  ASSERT_FALSE(told[0].ok());
  EXPECT_EQ(told[0].error().kind, ErrorKind::kConfiguration);
  EXPECT_EQ(told[0].error().text,
            "the systems are on several machines (such as 192.0.2.1 and 192.0.2.2), and what they "
            "send to each other would cross the network in clear: give all systems and the server "
            "one secret (IMPISHIM_SECRET_FILE, impirun -new-secret) or certificates "
            "(IMPISHIM_CERTIFICATE), or, on a trusted network, set IMPISHIM_TLS=off in all");
}

TEST_F(ClearStartup, UsersMayWantNoEncryption) {
  const auto told = joined({"192.0.2.1", "192.0.2.2"}, {true, true});
  EXPECT_TRUE(told[0].ok() && told[1].ok());
}

TEST_F(ClearStartup, OneMachineNeedsNoSecret) {
  const auto told = joined({"127.0.0.1", "127.0.0.2"}, {false, false});
  EXPECT_TRUE(told[0].ok() && told[1].ok());
}

}  // namespace
}  // namespace impishim::wire
