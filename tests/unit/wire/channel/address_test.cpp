// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

HostId address(const std::string& text) {
  auto parsed = parse_address(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed ? *parsed : HostId{};
}

HostId mapped(HostId ipv4) {
  ipv4[10] = ipv4[11] = std::byte{0xff};
  return ipv4;
}

TEST(OwnAddresses, AreSeparatedByCommas) {
  const auto parsed = parse_own_addresses("X", "127.0.0.2,::1,lo,127.0.0.2");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text;
  EXPECT_THAT(*parsed, testing::ElementsAre(*parse_address("127.0.0.2"), *parse_address("::1"),
                                            *parse_address("127.0.0.1")));
  for (const char* bad : {"", ",127.0.0.2", "127.0.0.2,", "127.0.0.2,0.0.0.0"})
    EXPECT_FALSE(parse_own_addresses("X", bad).ok()) << bad;
  std::string many = "127.0.0.1";
  for (int i = 2; i <= 9; ++i) many += ",127.0.0." + std::to_string(i);
  const auto refused = parse_own_addresses("X", many);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text,
            "X=" + many + ": 9 addresses; at most 8 can be told to the other hosts");
}

TEST(Address, HasIpv4InItsLastFourBytes) {
  const HostId plain = address("192.0.2.7");
  HostId expected{};
  expected[12] = std::byte{192};
  expected[14] = std::byte{2};
  expected[15] = std::byte{7};
  EXPECT_EQ(plain, expected);
  EXPECT_TRUE(is_ipv4(plain));
  EXPECT_TRUE(is_ipv4(mapped(plain)));
  EXPECT_EQ(address_text(plain), "192.0.2.7");
  EXPECT_EQ(address_text(mapped(plain)), "192.0.2.7");
}

TEST(Address, KnowsIpv6FromIpv4) {
  EXPECT_FALSE(is_ipv4(address("::1")));
  EXPECT_FALSE(is_ipv4(address("2001:db8::1")));
  EXPECT_FALSE(is_ipv4(address("::")));
  EXPECT_EQ(address_text(address("::1")), "::1");
  EXPECT_EQ(address_text(address("2001:DB8:0:0::1")), "2001:db8::1");
  EXPECT_EQ(address("::ffff:192.0.2.7"), address("192.0.2.7"));
}

TEST(Address, IsTheSameInBothForms) {
  const HostId plain = address("192.0.2.7");
  EXPECT_TRUE(same_address(plain, mapped(plain)));
  EXPECT_TRUE(same_address(mapped(plain), plain));
  EXPECT_FALSE(same_address(plain, address("192.0.2.8")));
  EXPECT_FALSE(same_address(address("::1"), address("127.0.0.1")));
  EXPECT_TRUE(same_address(address("2001:db8::1"), address("2001:db8::1")));
}

TEST(Address, ComesBackFromASocketAddress) {
  for (const char* text : {"192.0.2.7", "::1", "2001:db8::17"}) {
    const SocketAddress made = SocketAddress::of(address(text), 4711);
    EXPECT_EQ(address_text(made.host()), text);
    EXPECT_EQ(made.port(), 4711);
  }
  EXPECT_EQ(SocketAddress::of(mapped(address("192.0.2.7")), 1).family(), AF_INET);
  EXPECT_EQ(SocketAddress::of(address("::1"), 1).family(), AF_INET6);
}

TEST(Address, IsSplitFromItsPort) {
  const auto split = [](const std::string& text) {
    auto parts = split_address_and_port(text);
    return parts ? parts->first + "|" + std::to_string(parts->second) : parts.error().text;
  };
  EXPECT_EQ(split("192.0.2.7:80"), "192.0.2.7|80");
  EXPECT_EQ(split("[::1]:65535"), "::1|65535");
  EXPECT_EQ(split("head.cluster:1"), "head.cluster|1");
  for (const char* bad : {"", ":", "host", "host:", ":80", "host:0", "host:65536", "host:80x",
                          "host:-1", "::1:80", "[]:80", "host: 80", "host:99999999999999999999"}) {
    auto parts = split_address_and_port(bad);
    ASSERT_FALSE(parts.ok()) << bad;
    EXPECT_EQ(parts.error().kind, ErrorKind::kConfiguration);
  }
}

TEST(OwnAddress, OfManyIsRefusedWithTheVariablesName) {
  for (const auto& [text, kind] : {std::pair{"0.0.0.0", "the wildcard address"},
                                   {"::", "the wildcard address"},
                                   {"::ffff:0.0.0.0", "the wildcard address"},
                                   {"255.255.255.255", "the broadcast address"},
                                   {"224.0.0.1", "a multicast address"},
                                   {"239.255.255.255", "a multicast address"},
                                   {"ff02::1", "a multicast address"}}) {
    auto parsed = parse_own_address("IMPISHIM_HOST_ADDRESS", text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kConfiguration);
    EXPECT_EQ(parsed.error().text, std::string("IMPISHIM_HOST_ADDRESS=") + text + ": that is " +
                                       kind +
                                       ", which names no single machine: set it to the address at "
                                       "which others reach this one");
  }
}

TEST(OwnAddress, OfOneMachineIsTaken) {
  for (const char* text :
       {"127.0.0.1", "127.0.0.255", "192.0.2.7", "240.0.0.1", "::1", "fe80::1", "2001:db8::1"}) {
    auto parsed = parse_own_address("IMPISHIM_HOST_ADDRESS", text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text;
    EXPECT_EQ(*parsed, address(text));
  }
  auto none = parse_own_address("IMPISHIM_GATEWAY_ADDRESS", "no such host");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().text.rfind("IMPISHIM_GATEWAY_ADDRESS: \"no such host\"", 0), 0U);
}

TEST(OwnAddress, IsThatOfAnInterface) {
  auto parsed = parse_own_address("IMPISHIM_HOST_ADDRESS", "lo");
  ASSERT_TRUE(parsed.ok()) << parsed.error().text;
  EXPECT_EQ(*parsed, address("127.0.0.1"));
}

TEST(Address, OfNobodyIsAConfigurationError) {
  auto parsed = parse_address("no such host");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().kind, ErrorKind::kConfiguration);
  EXPECT_NE(parsed.error().text.find("no such host"), std::string::npos);
}

TEST(Address, TowardsAServerIsOurs) {
  auto loopback = address_towards("127.0.0.1:9");
  ASSERT_TRUE(loopback.ok());
  EXPECT_EQ(address_text(*loopback), "127.0.0.1");
  EXPECT_FALSE(address_towards("127.0.0.1").ok());
}

}  // namespace
}  // namespace impishim::wire
