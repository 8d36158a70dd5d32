// SPDX-License-Identifier: Apache-2.0
// The descriptions that two groups exchange.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "wire/port/group_info.hpp"

namespace impishim::wire {
namespace {

GroupMember member(int number) {
  GroupMember made;
  made.id.host[15] = std::byte{7};
  made.id.pid = 1000 + number;
  made.address[15] = static_cast<std::byte>(number);
  made.port = static_cast<std::uint16_t>(40000 + number);
  made.job = 0x1122334455667788U;
  made.system = number % 2;
  made.representation = 5;
  made.concurrent = number % 2 == 1;
  made.node = std::string("node") + std::to_string(number);
  return made;
}

GroupInfo group(int size) {
  GroupInfo info;
  info.terms.collectives = 99;
  info.terms.wire_format = "auto";
  for (int i = 0; i < size; ++i) info.members.push_back(member(i));
  return info;
}

TEST(GroupInfo, NothingIsLost) {
  const GroupInfo sent = group(3);
  const auto received = GroupInfo::decode(sent.encode());
  ASSERT_TRUE(received.ok());
  EXPECT_FALSE(sent.terms.difference(received->terms).has_value());
  ASSERT_EQ(received->members.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const GroupMember& a = sent.members[i];
    const GroupMember& b = received->members[i];
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.address, b.address);
    EXPECT_EQ(a.port, b.port);
    EXPECT_EQ(a.job, b.job);
    EXPECT_EQ(a.system, b.system);
    EXPECT_EQ(a.representation, b.representation);
    EXPECT_EQ(a.concurrent, b.concurrent);
    EXPECT_EQ(a.node, b.node);
  }
}

TEST(GroupInfo, ALongNameOfANodeIsShortened) {
  GroupMember long_name = member(1);
  long_name.node = std::string(300, 'n');
  std::array<std::byte, GroupMember::kBytes> bytes{};
  long_name.encode(bytes);
  const auto decoded = GroupMember::decode(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->node, std::string(GroupMember::kLongestNode, 'n'));
}

TEST(GroupInfo, APartOfADescriptionIsRefused) {
  const auto bytes = group(2).encode();
  const std::size_t head = bytes.size() - 2 * GroupMember::kBytes;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const bool whole_members = size >= head && (size - head) % GroupMember::kBytes == 0;
    EXPECT_EQ(GroupInfo::decode(std::span(bytes).first(size)).ok(), whole_members) << size;
  }
}

TEST(GroupInfo, ChangedBytesNeverGiveInvalidMembers) {
  const auto good = group(2).encode();
  std::mt19937 random(3);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto decoded = GroupInfo::decode(bytes);
    if (!decoded) {
      EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
      continue;
    }
    ++accepted;
    for (const GroupMember& each : decoded->members) {
      EXPECT_NE(each.port, 0);
      EXPECT_LE(each.node.size(), GroupMember::kLongestNode);
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(GroupTerms, ADifferenceNamesTheVariableAndBothValues) {
  GroupTerms ours;
  GroupTerms theirs;
  EXPECT_FALSE(ours.difference(theirs).has_value());
  theirs.values.datalen = 4096;
  EXPECT_EQ(ours.difference(theirs),
            "IMPISHIM_DATALEN is 65536 here and 4096 there: give both jobs the same value");
  theirs = ours;
  theirs.wire_format = "wide";
  ours.wire_format = "auto";
  EXPECT_NE(ours.difference(theirs)->find("IMPISHIM_WIRE_FORMAT is auto here and wide there"),
            std::string::npos);
  theirs = ours;
  theirs.collectives = 1;
  EXPECT_NE(ours.difference(theirs)->find("IMPISHIM_COLLECTIVES"), std::string::npos);
}

}  // namespace
}  // namespace impishim::wire
