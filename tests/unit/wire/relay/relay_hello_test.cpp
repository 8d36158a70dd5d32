// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_hello.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <span>

#include "wire/base/bytes.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

RelayToken counted() {
  RelayToken token;
  for (std::size_t i = 0; i < token.size(); ++i) token[i] = static_cast<std::byte>(i + 1);
  return token;
}

std::vector<std::byte> hello_by_hand(std::int32_t own, std::int32_t other) {
  ByteWriter writer;
  writer.put(std::uint32_t{0x52454c59});
  writer.put(std::uint32_t{40});
  writer.put_bytes(counted());
  writer.put(own);
  writer.put(other);
  return writer.take();
}

TEST(RelayHello, HasTheBytesOfTheProtocol) {
  const auto encoded = encode_relay_hello({counted(), {3, 0x01020304}});
  EXPECT_THAT(encoded, testing::ElementsAreArray(hello_by_hand(3, 0x01020304)));
}

TEST(RelayHello, ComesBack) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  const auto decoded = decode_relay_hello(encode_relay_hello({counted(), {0, kLargest}}));
  ASSERT_TRUE(decoded.ok()) << decoded.error().text;
  ASSERT_TRUE(decoded->has_value());
  EXPECT_EQ((*decoded)->token, counted());
  EXPECT_EQ((*decoded)->ends, (RelayEnds{0, kLargest}));
}

TEST(RelayHello, WaitsForMoreBytesAndIgnoresThoseBehind) {
  auto bytes = hello_by_hand(1, 2);
  for (std::size_t size = 0; size < kRelayHelloSize; ++size) {
    const auto decoded = decode_relay_hello(std::span(bytes).first(size));
    ASSERT_TRUE(decoded.ok()) << size;
    EXPECT_FALSE(decoded->has_value()) << size;
  }
  bytes.push_back(std::byte{7});
  const auto decoded = decode_relay_hello(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(decoded->has_value());
}

TEST(RelayHello, RefusesAWrongHeaderAtOnce) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{7}}) {
    auto bytes = hello_by_hand(1, 2);
    bytes[at] ^= std::byte{0x40};
    const auto decoded = decode_relay_hello(std::span(bytes).first(8));
    ASSERT_FALSE(decoded.ok()) << at;
    EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
  }
}

TEST(RelayHello, RefusesEndsThatCannotBeConnected) {
  for (const RelayEnds ends : {RelayEnds{1, 1}, RelayEnds{-1, 2}, RelayEnds{2, -1}}) {
    const auto decoded = decode_relay_hello(hello_by_hand(ends.own, ends.other));
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
    EXPECT_THAT(decoded.error().text, HasSubstr(std::to_string(ends.own)));
  }
}

TEST(RelayAnswer, HasTheBytesOfTheProtocol) {
  ByteWriter writer;
  writer.put(std::uint32_t{0x52454c59});
  writer.put(std::uint32_t{4});
  writer.put(std::uint32_t{0});
  EXPECT_THAT(encode_relay_answer(), testing::ElementsAreArray(writer.bytes()));
  EXPECT_TRUE(check_relay_answer(encode_relay_answer()).ok());
}

TEST(RelayAnswer, IsRefusedIfAnyByteDiffers) {
  for (std::size_t at = 0; at < kRelayAnswerSize; ++at) {
    auto bytes = encode_relay_answer();
    bytes[at] ^= std::byte{1};
    const auto checked = check_relay_answer(bytes);
    ASSERT_FALSE(checked.ok()) << at;
    EXPECT_EQ(checked.error().kind, ErrorKind::kProtocol);
  }
}

}  // namespace
}  // namespace impishim::wire
