// SPDX-License-Identifier: Apache-2.0
// TLS sessions whose ends have certificates: who is accepted, and what is said of the others.
#include "wire/tls/tls_certificates.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/test_certificates.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"

namespace impishim::wire {
namespace {

using test::certificate_files;
using test::certificates;
using test::TlsPair;
using testing::HasSubstr;
using testing::Not;

TlsTerms client_with(const std::string& name, const std::string& peer_name = "server.example",
                     const std::string& authority = "authority") {
  TlsTerms terms;
  terms.role = TlsRole::kClient;
  terms.certificates = certificates(name, authority);
  terms.peer_name = peer_name;
  return terms;
}

TlsTerms server_with(const std::string& name, const std::string& authority = "authority") {
  TlsTerms terms;
  terms.role = TlsRole::kServer;
  terms.certificates = certificates(name, authority);
  return terms;
}

/// What both ends learn. A client may learn it only after its own part of the handshake.
struct Told {
  std::string client;
  std::string server;
};

/// Returns the text of an error, which must be one of authentication.
template <class T>
std::string refusal_in(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  if (result) return {};
  EXPECT_EQ(result.error().kind, ErrorKind::kAuthentication);
  return result.error().text;
}

Told told_by(const TlsTerms& of_client, const TlsTerms& of_server) {
  TlsPair pair(of_client, of_server);
  const auto [client, server] = pair.shake();
  EXPECT_FALSE(pair.server->done());
  return {client ? refusal_in(test::read_bytes(*pair.client, 1)) : refusal_in(client),
          refusal_in(server)};
}

void expect_conversation(TlsPair& pair) {
  pair.shake_well();
  for (auto [from, to] : {std::pair(pair.client.get(), pair.server.get()),
                          std::pair(pair.server.get(), pair.client.get())}) {
    const auto sent = test::random_bytes(1000, 1);
    ASSERT_EQ(*test::write_bytes(*from, sent), sent.size());
    test::deliver(*from, *to);
    const auto got = test::read_bytes(*to, 2000);
    ASSERT_TRUE(got.ok()) << got.error().text;
    EXPECT_EQ(*got, sent);
  }
}

TEST(TlsCertificates, JoinTwoEnds) {
  TlsPair pair(client_with("system"), server_with("server"));
  expect_conversation(pair);
  EXPECT_TRUE(pair.server->output().empty()) << "a session ticket?";
}

TEST(TlsCertificates, ChangeTheirKeys) {
  auto of_client = client_with("system");
  of_client.records_per_key = 2;
  TlsPair pair(of_client, server_with("server"));
  for (int i = 0; i < 10; ++i) expect_conversation(pair);
}

TEST(TlsCertificates, OfAnIntermediateAuthority) {
  auto files = certificate_files("below");
  files.certificate = test::certificate_folder() / "chain.pem";
  auto chain = TlsCertificates::load(files);
  ASSERT_TRUE(chain.ok()) << chain.error().text;
  auto of_client = client_with("system");
  of_client.certificates = *chain;
  auto of_server = server_with("server");
  of_server.certificates = *chain;
  TlsPair pair(of_client, of_server);
  expect_conversation(pair);
}

TEST(TlsCertificates, OfRsa) {
  TlsPair pair(client_with("rsa", "127.0.0.1", "rsa"), server_with("rsa", "rsa"));
  expect_conversation(pair);
}

TEST(TlsCertificates, NameTheServer) {
  for (const char* name : {"server.example", "localhost", "127.0.0.1", "::1", ""}) {
    TlsPair pair(client_with("system", name), server_with("server"));
    expect_conversation(pair);
  }
  // "server" is its common name, which does not count.
  for (const char* name : {"other.example", "server", "127.0.0.2", "fe80::1"}) {
    const auto told = told_by(client_with("system", name), server_with("server"));
    EXPECT_THAT(told.client, HasSubstr("mismatch"));
    EXPECT_THAT(told.client, HasSubstr("IMPISHIM_SERVER_NAME must be one of them"));
    EXPECT_THAT(told.server, HasSubstr("the peer refuses the certificate of this end"));
    EXPECT_THAT(told.server, HasSubstr("IMPISHIM_SERVER_NAME"));
  }
}

TEST(TlsCertificates, OfAForeignSystem) {
  const auto told = told_by(client_with("foreign"), server_with("server"));
  EXPECT_THAT(told.server, HasSubstr("the certificate of the peer is refused"));
  EXPECT_THAT(told.server, HasSubstr("must come from an authority in the IMPISHIM_AUTHORITY"));
  EXPECT_THAT(told.client, HasSubstr("the peer refuses the certificate of this end"));
  EXPECT_THAT(told.client, HasSubstr("IMPISHIM_CERTIFICATE here must come from"));
}

TEST(TlsCertificates, OfAForeignServer) {
  const auto told = told_by(client_with("system"), server_with("foreign", "authority"));
  EXPECT_THAT(told.client, HasSubstr("the certificate of the peer is refused"));
  EXPECT_THAT(told.server, HasSubstr("the peer refuses the certificate of this end"));
}

TEST(TlsCertificates, ThatHaveExpired) {
  const auto system = told_by(client_with("expired"), server_with("server"));
  EXPECT_THAT(system.server, HasSubstr("certificate has expired"));
  EXPECT_THAT(system.server, HasSubstr("renew it there"));
  EXPECT_THAT(system.client, HasSubstr("renew IMPISHIM_CERTIFICATE"));
  const auto server = told_by(client_with("system"), server_with("expired"));
  EXPECT_THAT(server.client, HasSubstr("certificate has expired"));
  EXPECT_THAT(server.server, HasSubstr("renew IMPISHIM_CERTIFICATE"));
}

TEST(TlsCertificates, OfASystemAreNoneOfAServer) {
  const auto told = told_by(client_with("server"), server_with("system"));
  EXPECT_THAT(told.client, HasSubstr("serverAuth"));
  EXPECT_THAT(told.server, HasSubstr("serverAuth"));
}

TEST(TlsCertificates, AndAKeyDoNotGoTogether) {
  const auto system = told_by(test::tls_terms(TlsRole::kClient), server_with("server"));
  EXPECT_THAT(system.server, HasSubstr("the peer has a secret, and this end certificates"));
  EXPECT_THAT(system.client, HasSubstr("the peer refuses the key of this channel"));
  const auto server = told_by(client_with("system"), test::tls_terms(TlsRole::kServer));
  EXPECT_THAT(server.server, HasSubstr("one that uses certificates has none"));
  EXPECT_THAT(server.client, HasSubstr("certificates in all, or one secret in all"));
}

/// Returns what a server with certificates says of the openssl command with these options.
std::string told_of_command(const std::string& options) {
  const auto [listener, port] = test::bound_socket(test::host_id("127.0.0.1"), true);
  const std::string command = fmt::format(
      "openssl s_client -connect 127.0.0.1:{} {} </dev/null >/dev/null 2>&1", port, options);
  std::FILE* const child = popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  std::vector<TlsLink> links;
  links.push_back({Descriptor(accept(listener.get(), nullptr, nullptr)), server_with("server"),
                   "the openssl command"});
  auto channels = make_tls_channels(std::move(links), 30000);
  pclose(child);
  return channels ? "" : channels.error().text;
}

TEST(TlsCertificates, AreNeededByEachClient) {
  EXPECT_THAT(told_of_command("-tls1_3"), HasSubstr("the peer has no certificate"));
  const auto& folder = test::certificate_folder().string();
  const std::string with = fmt::format(" -cert {0}/system.pem -key {0}/system.key", folder);
  EXPECT_EQ(told_of_command("-tls1_3" + with), "");
  EXPECT_THAT(told_of_command("-tls1_2" + with), HasSubstr("the peer does not support TLS 1.3"));
}

/// Returns what is said of these files.
std::string refusal_of(const CertificateFiles& files) {
  std::string text = refusal_in(TlsCertificates::load(files));
  EXPECT_THAT(text, Not(HasSubstr("PRIVATE KEY-")));
  return text;
}

TEST(CertificateFiles, MustBelongTogether) {
  auto files = certificate_files("server");
  files.key = certificate_files("system").key;
  EXPECT_THAT(refusal_of(files), HasSubstr("is not the key of the first certificate in "
                                           "IMPISHIM_CERTIFICATE="));
}

TEST(CertificateFiles, OfAWeakKeyAreRefused) {
  EXPECT_THAT(refusal_of(certificate_files("weak")), HasSubstr("key too small"));
}

TEST(CertificateFiles, MustHoldWhatTheyAreFor) {
  auto files = certificate_files("server");
  files.certificate = files.key;
  EXPECT_THAT(refusal_of(files), HasSubstr("holds no certificate"));
  files = certificate_files("server");
  files.key = files.authority;
  EXPECT_THAT(refusal_of(files), HasSubstr("holds no private key"));
  files = certificate_files("server");
  files.key = test::certificate_folder() / "locked.key";
  EXPECT_THAT(refusal_of(files), HasSubstr("passphrase"));
  files = certificate_files("server");
  files.authority = "/dev/null";
  EXPECT_THAT(refusal_of(files), HasSubstr("IMPISHIM_AUTHORITY=/dev/null is not a regular file"));
  files.authority = "/nowhere";
  EXPECT_THAT(refusal_of(files), HasSubstr("IMPISHIM_AUTHORITY=/nowhere cannot be opened"));
}

TEST(CertificateFiles, ThatAreDamagedAreRefused) {
  const auto path = test::certificate_folder() / "damaged.pem";
  auto files = certificate_files("server");
  std::ofstream(path) << std::ifstream(files.authority).rdbuf()
                      << "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
  files.authority = path;
  EXPECT_THAT(refusal_of(files), HasSubstr("holds a damaged certificate"));
}

TEST(CertificateFiles, ThatOthersCanChangeAreRefused) {
  namespace fs = std::filesystem;
  auto files = certificate_files("server");
  const auto path = test::certificate_folder() / "changeable.pem";
  fs::copy_file(files.authority, path, fs::copy_options::overwrite_existing);
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  files.authority = path;
  EXPECT_THAT(refusal_of(files), HasSubstr("can be changed by every user"));
}

TEST(CertificateFiles, OfAKeyMustBeClosedToOthers) {
  namespace fs = std::filesystem;
  auto files = certificate_files("server");
  const auto path = test::certificate_folder() / "open.key";
  fs::copy_file(files.key, path, fs::copy_options::overwrite_existing);
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  files.key = path;
  EXPECT_THAT(refusal_of(files), HasSubstr("is open to other users"));
}

TEST(CertificateFiles, ServersAreNamedByTheirAddresses) {
  CertificateFiles files;
  EXPECT_EQ(*expected_server_name(files, "host.example:4711"), "host.example");
  EXPECT_EQ(*expected_server_name(files, "192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(*expected_server_name(files, "[2001:db8::1]:4711"), "2001:db8::1");
  for (const char* here : {"127.0.0.1:4711", "127.1.2.3:4711", "[::1]:4711", "localhost:4711"})
    EXPECT_EQ(*expected_server_name(files, here), "") << here;
  files.server_name = "server.example";
  EXPECT_EQ(*expected_server_name(files, "127.0.0.1:4711"), "server.example");
  EXPECT_EQ(*expected_server_name(files, "192.0.2.1:4711"), "server.example");
}

}  // namespace
}  // namespace impishim::wire
