// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/channel_key.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "wire/base/secret.hpp"

namespace impishim::wire {
namespace {

JobSecret secret_of(std::byte each) {
  std::array<std::byte, JobSecret::kSize> bytes{};
  bytes.fill(each);
  return JobSecret(bytes);
}

TEST(ChannelKey, DependsOnTheSecretAndOnTheWholeText) {
  using namespace std::string_view_literals;
  std::set<ChannelKey> keys;
  for (const std::byte each : {std::byte{1}, std::byte{2}}) {
    for (const std::string_view text : {""sv, "0-1"sv, "0-2"sv, "0-1\0"sv}) {
      const auto key = channel_key(secret_of(each), text);
      ASSERT_TRUE(key.ok()) << key.error().text;
      keys.insert(*key);
    }
  }
  EXPECT_EQ(keys.size(), 8U);
}

/// Both ends compute it by themselves, possibly with different releases.
TEST(ChannelKey, IsTheHmacOfLabelAndText) {
  const std::string message = std::string("impishim tls channel key 1") + '\0' + "0-1";
  const auto expected =
      hmac_sha256(secret_of(std::byte{1}).bytes(), std::as_bytes(std::span(message)));
  const auto key = channel_key(secret_of(std::byte{1}), "0-1");
  ASSERT_TRUE(key.ok() && expected.ok());
  EXPECT_EQ(*key, *expected);
}

}  // namespace
}  // namespace impishim::wire
