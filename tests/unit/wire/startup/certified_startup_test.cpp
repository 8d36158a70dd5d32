// SPDX-License-Identifier: Apache-2.0
// Clients and a rendezvous server that prove themselves by certificates, and how users choose them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>

#include "tests/unit/wire/tls/test_certificates.hpp"
#include "wire/base/secret.hpp"
#include "wire/server/own_server.hpp"
#include "wire/server/rendezvous.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/tls/shared_secret.hpp"

namespace impishim::wire {
namespace {

using test::certificate_files;
using testing::HasSubstr;

constexpr int kTimeoutMs = 30000;

AuthenticationMethods methods_of(const CertificateFiles& files) {
  AuthenticationMethods methods;
  methods.none = true;
  methods.shared.certificates = files;
  return methods;
}

Result<Agreement> agree(const std::string& address, std::int32_t client,
                        const AuthenticationMethods& methods) {
  auto connection = ServerConnection::connect(address, client, methods, kTimeoutMs);
  if (!connection) return connection.error();
  EXPECT_TRUE(connection->encrypted());
  JoinOptions options;
  const auto port = static_cast<std::uint16_t>(client + 1);
  // Other machines, which would not join in clear.
  const HostId host = *parse_own_address("the test", "192.0.2." + std::to_string(port));
  options.hosts.push_back({.address = host,
                           .port = port,
                           .procs = {ProcId{.host = host, .pid = port}},
                           .gateway = -1,
                           .node = "node"});
  auto agreed = connection->exchange(options);
  if (!agreed) return agreed.error();
  auto finished = connection->finish();
  if (!finished) return finished.error();
  return agreed;
}

/// A server of two clients, in a thread of its own.
class CertifiedStartup : public testing::Test {
 protected:
  void serve(const CertificateFiles& files, int limit_ms) {
    RendezvousOptions options;
    options.clients = 2;
    options.this_machine = true;
    options.timeout_ms = limit_ms;
    options.methods = methods_of(files);
    auto opened = Rendezvous::open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().text;
    address = opened->address();
    served = std::async(std::launch::async,
                        [rendezvous = std::move(*opened)]() mutable { return rendezvous.serve(); });
  }

  std::string address;
  std::future<Result<void>> served;
};

TEST_F(CertifiedStartup, ClientsAgreeOnASecretOfTheJob) {
  serve(certificate_files("server"), kTimeoutMs);
  const auto methods = methods_of(certificate_files("system"));
  auto other = std::async(std::launch::async, [&] { return agree(address, 1, methods); });
  auto zero = agree(address, 0, methods);
  auto one = other.get();
  ASSERT_TRUE(zero.ok()) << zero.error().text;
  ASSERT_TRUE(one.ok()) << one.error().text;
  ASSERT_TRUE(zero->secret && one->secret);
  EXPECT_TRUE(equal_in_constant_time(zero->secret->bytes(), one->secret->bytes()));
  EXPECT_TRUE(served.get().ok());
}

/// It comes once: a server that refuses is not asked again.
TEST_F(CertifiedStartup, AForeignClientIsTold) {
  testing::internal::CaptureStderr();
  serve(certificate_files("server"), 500);
  auto foreign =
      ServerConnection::connect(address, 0, methods_of(certificate_files("foreign")), kTimeoutMs);
  EXPECT_FALSE(served.get().ok());
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().kind, ErrorKind::kAuthentication);
  EXPECT_THAT(foreign.error().text,
              HasSubstr("rendezvous server: the peer refuses the certificate"));
  const auto first = log.find("the certificate of the peer is refused");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("the certificate of the peer is refused", first + 1), std::string::npos)
      << log;
}

TEST_F(CertifiedStartup, AServerWithoutItsFilesDoesNotOpen) {
  auto files = certificate_files("server");
  files.key = "/nowhere";
  RendezvousOptions options;
  options.methods = methods_of(files);
  auto opened = Rendezvous::open(options);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().text, HasSubstr("IMPISHIM_PRIVATE_KEY=/nowhere cannot be opened"));
}

TEST(CertifiedOwnServer, NeedsNoCertificateOfItsOwn) {
  SharedSecret shared;
  shared.certificates = certificate_files("expired");
  auto own = OwnServer::open(kTimeoutMs, shared);
  ASSERT_TRUE(own.ok()) << own.error().text;
  auto agreed = agree((*own)->address(), 0, (*own)->methods());
  ASSERT_TRUE(agreed.ok()) << agreed.error().text;
}

class CertificateSettings : public testing::Test {
 protected:
  void SetUp() override { set(certificate_files("server")); }
  void TearDown() override {
    for (const char* name : kNames) unsetenv(name);
  }
  static void set(const CertificateFiles& files) {
    setenv("IMPISHIM_CERTIFICATE", files.certificate.c_str(), 1);
    setenv("IMPISHIM_PRIVATE_KEY", files.key.c_str(), 1);
    setenv("IMPISHIM_AUTHORITY", files.authority.c_str(), 1);
  }
  static std::string told() {
    auto read = AuthenticationMethods::from_environment();
    return read ? "" : read.error().text;
  }
  static constexpr std::array kNames = {"IMPISHIM_CERTIFICATE", "IMPISHIM_PRIVATE_KEY",
                                        "IMPISHIM_AUTHORITY",   "IMPISHIM_SERVER_NAME",
                                        "IMPISHIM_SECRET",      "IMPISHIM_TLS"};
};

TEST_F(CertificateSettings, AreEnoughToJoin) {
  setenv("IMPISHIM_TLS", "on", 1);
  auto methods = AuthenticationMethods::from_environment();
  ASSERT_TRUE(methods.ok()) << methods.error().text;
  EXPECT_TRUE(methods->none && methods->shared.encrypts());
}

TEST_F(CertificateSettings, AreNotUsedWithoutEncryption) {
  setenv("IMPISHIM_TLS", "off", 1);
  EXPECT_THAT(told(), HasSubstr("no authentication method available"));
}

TEST_F(CertificateSettings, AreNotCombinedWithASecret) {
  setenv("IMPISHIM_SECRET", "x", 1);
  EXPECT_THAT(told(), HasSubstr("unset one of them"));
}

TEST_F(CertificateSettings, AreComplete) {
  for (const char* name : {"IMPISHIM_CERTIFICATE", "IMPISHIM_PRIVATE_KEY", "IMPISHIM_AUTHORITY"}) {
    SetUp();
    unsetenv(name);
    EXPECT_THAT(told(), HasSubstr(std::string(name) + " is not set: certificates need"));
  }
  TearDown();
  setenv("IMPISHIM_SERVER_NAME", "server.example", 1);
  EXPECT_THAT(told(), HasSubstr("unset IMPISHIM_SERVER_NAME to use none"));
}

TEST_F(CertificateSettings, AreTriedOut) {
  auto files = certificate_files("server");
  files.key = certificate_files("system").key;
  set(files);
  EXPECT_THAT(told(), HasSubstr("is not the key of the first certificate"));
}

}  // namespace
}  // namespace impishim::wire
