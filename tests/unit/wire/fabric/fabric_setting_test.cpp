// SPDX-License-Identifier: Apache-2.0
// IMPISHIM_FABRIC, and what passes over the socket before a channel goes over to libfabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/fabric/fabric.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(FabricSetting, TakesWordsAndLists) {
  EXPECT_TRUE(FabricChoice::parse("auto")->automatic);
  auto none = FabricChoice::parse("none");
  EXPECT_FALSE(none->automatic);
  EXPECT_THAT(none->wanted, IsEmpty());
  auto list = FabricChoice::parse("shm,verbs;ofi_rxm,tcp");
  EXPECT_FALSE(list->automatic);
  EXPECT_THAT(list->wanted, ElementsAre("shm", "verbs;ofi_rxm", "tcp"));
  EXPECT_TRUE(list->local());
  EXPECT_FALSE(FabricChoice::parse("tcp")->local());
  EXPECT_FALSE(FabricChoice::parse("auto")->local());
}

TEST(FabricSetting, RefusesTheRest) {
  for (const char* text :
       {"", ",", "tcp,", ",tcp", "tcp,,shm", "auto,tcp", "tcp,none", "a b", "tcp="}) {
    auto choice = FabricChoice::parse(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_EQ(choice.error().kind, ErrorKind::kConfiguration);
    EXPECT_THAT(choice.error().text,
                HasSubstr(std::string("IMPISHIM_FABRIC=") + text + ": use auto"));
  }
}

FabricOffer some_offer() {
  FabricOffer offer;
  offer.provider = "tcp;ofi_rxm";
  offer.protocol = 2;
  offer.protocol_version = 1;
  offer.channel = 7;
  offer.secret = 0xABCD1234;
  offer.message_size = 16384;
  offer.credits = 16;
  offer.address = {std::byte{1}, std::byte{2}};
  return offer;
}

Result<FabricOffer> through_bytes(const std::vector<std::byte>& bytes) {
  auto length = FabricOffer::length_after(std::span(bytes).first<FabricOffer::kHeadSize>());
  if (!length) return length.error();
  return FabricOffer::decode(std::span(bytes).subspan(FabricOffer::kHeadSize, *length));
}

TEST(FabricOffer, PassesThroughBytes) {
  const FabricOffer offer = some_offer();
  auto again = through_bytes(offer.encode());
  ASSERT_TRUE(again.ok()) << again.error().text;
  EXPECT_EQ(again->encode(), offer.encode());
  EXPECT_EQ(again->provider, offer.provider);
  EXPECT_EQ(again->secret, offer.secret);
  EXPECT_EQ(again->address, offer.address);
}

TEST(FabricOffer, ARefusalHasAReason) {
  FabricOffer refusal;
  refusal.reason = "no such provider";
  auto again = through_bytes(refusal.encode());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->provider, "");
  EXPECT_EQ(again->reason, refusal.reason);
  refusal.reason.assign(100000, 'x');
  EXPECT_LE(refusal.encode().size(), FabricOffer::kHeadSize + FabricOffer::kMaxSize);
}

TEST(FabricOffer, RefusesGarbage) {
  const auto whole = some_offer().encode();
  for (std::size_t size = FabricOffer::kHeadSize; size < whole.size(); ++size) {
    EXPECT_FALSE(FabricOffer::decode(std::span(whole).subspan(FabricOffer::kHeadSize,
                                                              size - FabricOffer::kHeadSize))
                     .ok())
        << size;
  }
  auto strange = whole;
  strange[0] = std::byte{0};
  EXPECT_THAT(through_bytes(strange).error().text, HasSubstr("begins with something else"));
  auto endless = whole;
  endless[4] = std::byte{0x7F};
  EXPECT_THAT(through_bytes(endless).error().text, HasSubstr("too long"));
  auto newer = whole;
  newer[11] = std::byte{99};
  EXPECT_EQ(through_bytes(newer).error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(through_bytes(newer).error().text, HasSubstr("version 99"));
  FabricOffer impossible = some_offer();
  impossible.message_size = FabricHeader::kSize;
  EXPECT_FALSE(through_bytes(impossible.encode()).ok());
  impossible = some_offer();
  impossible.credits = 0;
  EXPECT_FALSE(through_bytes(impossible.encode()).ok());
  impossible = some_offer();
  impossible.address.clear();
  EXPECT_FALSE(through_bytes(impossible.encode()).ok());
}

TEST(FabricOffer, WordsAndHeadersPassThroughBytes) {
  const GuardWord word{GuardWord::Kind::kAsleep, 12345};
  auto heard = GuardWord::decode(word.encode());
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard->kind, word.kind);
  EXPECT_EQ(heard->number, word.number);
  EXPECT_FALSE(GuardWord::decode(std::array<std::byte, GuardWord::kSize>{}).ok());
  std::array<std::byte, FabricHeader::kSize> bytes;
  FabricHeader{1, 2, 3, 4, FabricHeader::Kind::kEnd}.encode(bytes.data());
  const FabricHeader header = FabricHeader::decode(bytes.data());
  EXPECT_EQ(header.channel, 1U);
  EXPECT_EQ(header.secret, 2U);
  EXPECT_EQ(header.sequence, 3U);
  EXPECT_EQ(header.credits, 4U);
  EXPECT_EQ(header.kind, FabricHeader::Kind::kEnd);
}

}  // namespace
}  // namespace impishim::wire
