// SPDX-License-Identifier: Apache-2.0
// Settings of the program and of the machine for OpenSSL.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <initializer_list>
#include <string>

#include "tests/unit/wire/tls/test_certificates.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"
#include "wire/base/secret.hpp"

namespace impishim::wire {
namespace {

/// Everything that would make the handshake fail, if it counted.
constexpr const char* kHostile = R"(
openssl_conf = start
[start]
ssl_conf = ssl_section
[ssl_section]
system_default = system
[system]
MaxProtocol = TLSv1.2
CipherString = ECDHE-RSA-AES256-SHA384:@SECLEVEL=5
Ciphersuites = TLS_AES_256_GCM_SHA384
Groups = P-521
Options = AllowNoDHEKEX
RecordPadding = 4096
NumTickets = 4
SignatureAlgorithms = RSA+SHA512
ClientSignatureAlgorithms = RSA+SHA512
VerifyMode = Once
)";

/// Returns true if the client's hello contains these bytes.
bool hello_contains(const test::Bytes& bytes) {
  auto client = test::tls_session(test::tls_terms(TlsRole::kClient));
  EXPECT_TRUE(client->advance_handshake().ok());
  const test::Bytes hello = test::take_output(*client);
  return std::search(hello.begin(), hello.end(), bytes.begin(), bytes.end()) != hello.end();
}

test::Bytes bytes_of(std::initializer_list<unsigned char> values) {
  test::Bytes bytes;
  for (const unsigned char each : values) bytes.push_back(std::byte{each});
  return bytes;
}

TEST(TlsConfiguration, OpensslCnfDoesNotCount) {
  std::string path = testing::TempDir() + "openssl.cnf.XXXXXX";
  const Descriptor file(mkstemp(path.data()));
  ASSERT_FALSE(test::certificate_folder().empty());  // by the openssl command, which is not to fail
  ASSERT_TRUE(file.valid());
  std::ofstream(path) << kHostile;
  // Before OpenSSL is loaded: it reads the variable once.
  ASSERT_EQ(setenv("OPENSSL_CONF", path.c_str(), 1), 0);
  // RFC 8446 4.2.7 and 4.2.9: the group X25519 alone, and no key exchange without a group, which
  // would have no forward secrecy.
  EXPECT_TRUE(hello_contains(bytes_of({0, 10, 0, 4, 0, 2, 0, 29})));
  EXPECT_TRUE(hello_contains(bytes_of({0, 45, 0, 2, 1, 1})));
  test::TlsPair pair;
  pair.shake_well();
  EXPECT_TRUE(pair.server->output().empty()) << "a session ticket?";
  ASSERT_EQ(*test::write_bytes(*pair.client, test::Bytes(10)), 10U);
  EXPECT_LT(pair.client->output().size(), 100U) << "padded";
  TlsTerms of_client;
  of_client.certificates = test::certificates("system");
  TlsTerms of_server;
  of_server.role = TlsRole::kServer;
  of_server.certificates = test::certificates("server");
  test::TlsPair certified(of_client, of_server);
  certified.shake_well();
  EXPECT_TRUE(certified.server->output().empty()) << "a session ticket?";
  of_client.certificates = test::certificates("foreign");
  EXPECT_FALSE(test::TlsPair(of_client, of_server).shake().second.ok());
  unlink(path.c_str());
}

int count_libcrypto(dl_phdr_info* info, std::size_t /*size*/, void* count) {
  if (std::string(info->dlpi_name).find("libcrypto") != std::string::npos)
    ++*static_cast<int*>(count);
  return 0;
}

/// The hashes of wire/base and the sessions use the same one.
TEST(TlsConfiguration, TheProcessHasOneLibcrypto) {
  ASSERT_TRUE(sha256({}).ok());
  test::TlsPair pair;
  pair.shake_well();
  int count = 0;
  dl_iterate_phdr(count_libcrypto, &count);
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace impishim::wire
