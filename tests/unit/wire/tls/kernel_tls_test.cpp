// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/kernel_tls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/tls.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/kernel_tls.hpp"
#include "tests/unit/wire/channel/loopback.hpp"
#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/tls/tls_support.hpp"
#include "wire/channel/channel.hpp"
#include "wire/tls/tls_handshake.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {
namespace {

using impishim::test::emulated_kernel_tls;
using test::Bytes;
using test::connected_pair;
using test::kLongMs;
using test::piece;
using test::random_bytes;
using test::readable;
using test::receive_all;
using test::send_all;
using test::tls_terms;
using testing::HasSubstr;

/// The two ends of a connection; the client asks the kernel to seal.
class KernelTlsTest : public testing::Test {
 protected:
  ~KernelTlsTest() override {
    emulated_kernel_tls().has_tls = true;
    emulated_kernel_tls().takes_keys = true;
  }

  void connect(std::uint64_t records_per_key = TlsTerms::kRecordsPerKey, bool wanted = true) {
    auto sockets = connected_pair("127.0.0.1");
    std::vector<TlsLink> links;
    links.push_back({std::move(sockets.first), tls_terms(TlsRole::kClient), "host 0"});
    links.push_back({std::move(sockets.second), tls_terms(TlsRole::kServer), "host 3"});
    links[0].terms.records_per_key = records_per_key;
    links[0].tcp.kernel_tls = wanted;
    auto made = make_tls_channels(std::move(links), kLongMs);
    ASSERT_TRUE(made.ok()) << made.error().text;
    near = std::move((*made)[0]);
    far = std::move((*made)[1]);
  }

  /// Sends bytes in each direction, and compares them.
  void exchange(std::size_t size) {
    const auto bytes = random_bytes(size, 4);
    for (auto [from, to] : {std::pair(near.get(), far.get()), std::pair(far.get(), near.get())}) {
      Bytes got(size);
      std::thread receiver([&, to = to] { EXPECT_TRUE(receive_all(*to, got).ok()); });
      EXPECT_TRUE(send_all(*from, bytes).ok());
      receiver.join();
      EXPECT_EQ(got, bytes);
    }
  }

  /// Returns the error that ends what `far` receives.
  std::string end_of_far() {
    Bytes room(100);
    const iovec one = piece(room);
    while (true) {
      EXPECT_TRUE(readable(far->descriptor(), kLongMs));
      auto got = far->try_receive(std::span(&one, 1));
      if (!got) return got.error().text;
    }
  }

  std::uint64_t records_before = emulated_kernel_tls().records;
  [[nodiscard]] std::uint64_t records() const {
    return emulated_kernel_tls().records - records_before;
  }
  std::unique_ptr<Channel> near;
  std::unique_ptr<Channel> far;
};

TEST_F(KernelTlsTest, CarriesShortAndLongMessages) {
  connect();
  exchange(1);
  EXPECT_EQ(records(), 1U);
  exchange(1000000);
  EXPECT_GE(records(), 1 + 1000000 / TlsSession::kRecordSize);
}

TEST_F(KernelTlsTest, EndsTheStreamInOrder) {
  connect();
  exchange(100);
  near->shutdown_output();
  EXPECT_EQ(end_of_far(), "end of stream");
}

TEST_F(KernelTlsTest, TellsACutFromTheEnd) {
  connect();
  exchange(100);
  near.reset();
  EXPECT_THAT(end_of_far(), HasSubstr("cut"));
}

TEST_F(KernelTlsTest, IsNotUsedUnlessItIsWanted) {
  connect(TlsTerms::kRecordsPerKey, false);
  exchange(100000);
  EXPECT_EQ(records(), 0U);
}

TEST_F(KernelTlsTest, LeavesItToOpensslWhereTheKernelHasNoTls) {
  emulated_kernel_tls().has_tls = false;
  connect();
  exchange(100000);
  near->shutdown_output();
  EXPECT_EQ(end_of_far(), "end of stream");
  EXPECT_EQ(records(), 0U);
}

TEST_F(KernelTlsTest, LeavesItToOpensslWhereTheKernelLacksTheCipher) {
  emulated_kernel_tls().takes_keys = false;
  connect();
  exchange(100000);
  near->shutdown_output();
  EXPECT_EQ(end_of_far(), "end of stream");
  EXPECT_EQ(records(), 0U);
}

TEST_F(KernelTlsTest, EndsTheConnectionWhenItsKeyIsUsedUp) {
  connect(2);
  exchange(TlsSession::kRecordSize);
  const auto bytes = random_bytes(100, 5);
  const iovec one = piece(bytes);
  constexpr int kBlocks = 9;  // seven of data, and two for the frame
  constexpr int kMost = 1026 / kBlocks;
  int count = 0;
  auto sent = near->try_send(std::span(&one, 1));
  for (; sent && count <= kMost; ++count) sent = near->try_send(std::span(&one, 1));
  EXPECT_EQ(count, kMost);
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().kind, ErrorKind::kConnection);
  EXPECT_THAT(sent.error().text, HasSubstr("its key has encrypted as much as it may"));
  near->shutdown_output();
  EXPECT_EQ(end_of_far(), "end of stream");
}

TEST(KernelTlsKeyTest, RefusesOtherVersionsAndCiphers) {
  tls12_crypto_info_aes_gcm_256 info{};
  info.info = {TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_256};
  EXPECT_FALSE(KernelTlsKey::copy(&info).has_value());
  info.info = {TLS_1_2_VERSION, TLS_CIPHER_AES_GCM_128};
  EXPECT_FALSE(KernelTlsKey::copy(&info).has_value());
  info.info = {TLS_1_3_VERSION, TLS_CIPHER_AES_GCM_128};
  const auto key = KernelTlsKey::copy(&info);
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->bytes().size(), sizeof(tls12_crypto_info_aes_gcm_128));
}

TEST(TlsSessionTest, TellsNoKeyThatWasUsed) {
  auto of_client = tls_terms(TlsRole::kClient);
  of_client.tells_sending_key = true;
  test::TlsPair pair(of_client);
  pair.shake_well();
  ASSERT_TRUE(test::write_bytes(*pair.client, random_bytes(10, 6)).ok());
  EXPECT_FALSE(pair.client->take_sending_key().has_value());
}

}  // namespace
}  // namespace impishim::wire
