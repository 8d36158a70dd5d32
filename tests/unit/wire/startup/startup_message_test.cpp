// SPDX-License-Identifier: Apache-2.0
// Frames of startup, against bytes written by hand.
#include "wire/startup/startup_message.hpp"

#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::text_bytes;

TEST(StartupMessage, CommandsSpellTheirNames) {
  EXPECT_EQ(encode_startup(StartupCommand::kAuth, bytes_of(3U)),
            text_bytes(std::string("AUTH\0\0\0\4\0\0\0\3", 12)));
  EXPECT_EQ(encode_startup(StartupCommand::kImpi, bytes_of(1)),
            text_bytes(std::string("IMPI\0\0\0\4\0\0\0\1", 12)));
  EXPECT_EQ(encode_coll(0x1000, bytes_of(0U, 0U)),
            text_bytes(std::string("COLL\0\0\0\x0c\0\0\x10\0\0\0\0\0\0\0\0\0", 20)));
  EXPECT_EQ(encode_startup(StartupCommand::kDone, {}), text_bytes(std::string("DONE\0\0\0\0", 8)));
  EXPECT_EQ(encode_startup(StartupCommand::kFini, {}), text_bytes(std::string("FINI\0\0\0\0", 8)));
}

TEST(StartupMessage, DecodesWhateverThePiecesAre) {
  Bytes stream;
  for (const Bytes& each :
       {encode_coll(0x1100, bytes_of(7U)), encode_startup(StartupCommand::kDone, {}),
        encode_startup(StartupCommand::kSaid, text_bytes("why"))}) {
    stream.insert(stream.end(), each.begin(), each.end());
  }
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    StartupDecoder decoder;
    std::vector<StartupMessage> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.feed(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      for (auto next = decoder.next(); next.ok() && next->has_value(); next = decoder.next())
        got.push_back(**next);
    }
    ASSERT_EQ(got.size(), 3U) << piece;
    EXPECT_EQ(got[0].command, static_cast<std::uint32_t>(StartupCommand::kColl));
    EXPECT_EQ(got[0].payload, bytes_of(0x1100U, 7U));
    EXPECT_EQ(got[1].command, static_cast<std::uint32_t>(StartupCommand::kDone));
    EXPECT_TRUE(got[1].payload.empty());
    EXPECT_EQ(got[2].payload, text_bytes("why"));
    EXPECT_EQ(decoder.buffered(), 0U);
  }
}

TEST(StartupMessage, LengthThatCannotBeIsRefusedBeforeItsBytesCome) {
  for (const std::uint32_t length : {kMaxStartupPayload + 1, 0x80000000U, 0xFFFFFFFFU}) {
    StartupDecoder decoder;
    decoder.feed(bytes_of(static_cast<std::uint32_t>(StartupCommand::kColl), length));
    auto next = decoder.next();
    ASSERT_FALSE(next.ok()) << length;
    EXPECT_EQ(next.error().kind, ErrorKind::kProtocol);
  }
  StartupDecoder decoder;
  decoder.feed(bytes_of(static_cast<std::uint32_t>(StartupCommand::kColl), kMaxStartupPayload));
  auto next = decoder.next();
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next->has_value());
}

TEST(StartupMessage, TellsEarlyWhatItCannotBecome) {
  StartupDecoder decoder;
  EXPECT_TRUE(decoder.may_be(StartupCommand::kAuth, 4));
  decoder.feed(text_bytes("AU"));
  EXPECT_TRUE(decoder.may_be(StartupCommand::kAuth, 4));
  EXPECT_FALSE(decoder.may_be(StartupCommand::kImpi, 4));
  decoder.feed(text_bytes("TH"));
  decoder.feed(bytes_of(5U));
  EXPECT_FALSE(decoder.may_be(StartupCommand::kAuth, 4));
  EXPECT_TRUE(decoder.may_be(StartupCommand::kAuth, 5));
}

TEST(StartupMessage, HandsOutUnframedBytes) {
  StartupDecoder decoder;
  decoder.feed(bytes_of(std::uint64_t{0x0102030405060708}));
  EXPECT_FALSE(decoder.next_raw(9).has_value());
  EXPECT_EQ(decoder.next_raw(3), bytes_of(std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}));
  EXPECT_EQ(decoder.buffered(), 5U);
}

TEST(StartupMessage, CollAnswerTakenApart) {
  const Bytes payload = bytes_of(0x2100U, 0x5U, 1U, 2U);
  auto answer = parse_coll_answer(payload);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->label, 0x2100U);
  EXPECT_EQ(answer->client_mask, 5U);
  EXPECT_THAT(answer->data, testing::ElementsAreArray(bytes_of(1U, 2U)));
  EXPECT_FALSE(parse_coll_answer(std::span(payload).first(7)).ok());
  EXPECT_TRUE(parse_coll_answer(std::span(payload).first(8)).ok());
}

}  // namespace
}  // namespace impishim::wire
