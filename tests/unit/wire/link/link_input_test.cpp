// SPDX-License-Identifier: Apache-2.0
#include "wire/link/link_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "tests/unit/wire/link/decoded_stream.hpp"

namespace impishim::wire {
namespace {

using Event = LinkInput::Event;
using test::append_packet;
using test::DecodedStream;
using test::ScriptedInput;
using testing::Each;
using testing::ElementsAreArray;

constexpr std::uint32_t kMaxPayload = 20000;
constexpr std::size_t kAll = 1U << 30U;

PacketHeader data(std::uint64_t receive = 0, std::uint64_t message = 0) {
  PacketHeader header;
  header.type = PacketType::kData;
  header.drqid = receive;
  header.msglen = message;
  return header;
}

ScriptedInput all_at_once(const std::vector<std::byte>& stream) {
  return {stream, [] { return kAll; }};
}

Event next(LinkInput& input) {
  const auto event = input.next();
  EXPECT_TRUE(event.ok());
  return event ? *event : Event::kNone;
}

std::vector<std::byte> payload_of(const std::vector<std::byte>& packet) {
  return {packet.begin() + kPacketHeaderSize, packet.end()};
}

TEST(LinkInput, ReturnsNothingBeforeAHeaderIsComplete) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), 0, 0);
  ScriptedInput channel(stream, [] { return kPacketHeaderSize - 1; });
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  EXPECT_EQ(next(input), Event::kNone);
  EXPECT_FALSE(input.may_have_more());
  ASSERT_TRUE(input.read(channel).ok());
  EXPECT_EQ(next(input), Event::kPacketBegins);
  EXPECT_EQ(next(input), Event::kPacketEnds);
  EXPECT_EQ(next(input), Event::kNone);
  EXPECT_EQ(input.received.packets, 1U);
  EXPECT_EQ(input.received.bytes, kPacketHeaderSize);
}

TEST(LinkInput, ReturnsAShortPacketWhole) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), 100, 3);
  auto channel = all_at_once(stream);
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  ASSERT_EQ(next(input), Event::kPacketBegins);
  EXPECT_THAT(input.whole_packet(), ElementsAreArray(stream));
  input.take_whole();
  EXPECT_EQ(next(input), Event::kNone);
  EXPECT_EQ(input.copied.packets, 0U);
}

TEST(LinkInput, ReturnsNoWholePacketWhosePayloadIsMissing) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), 100, 3);
  ScriptedInput channel(stream, [] { return kPacketHeaderSize + 99; });
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  ASSERT_EQ(next(input), Event::kPacketBegins);
  EXPECT_TRUE(input.whole_packet().empty());
}

TEST(LinkInput, ReadsALongPayloadDirectlyToItsPlace) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), kMaxPayload, 1);
  std::size_t read = kPacketHeaderSize;
  ScriptedInput channel(stream, [&] { return std::exchange(read, kAll); });
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  ASSERT_EQ(next(input), Event::kPacketBegins);
  std::vector<std::byte> place(kMaxPayload);
  input.place(place);
  EXPECT_EQ(next(input), Event::kNone);
  ASSERT_TRUE(input.read(channel).ok());
  EXPECT_EQ(next(input), Event::kPacketEnds);
  EXPECT_EQ(place, payload_of(stream));
  EXPECT_EQ(input.copied.packets, 0U);
}

TEST(LinkInput, DropsWhatExceedsThePlace) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), 500, 1);
  const std::vector<std::byte> first = payload_of(stream);
  append_packet(stream, data(), 10, 9);
  auto channel = all_at_once(stream);
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  ASSERT_EQ(next(input), Event::kPacketBegins);
  std::vector<std::byte> memory(500, std::byte{0xee});
  input.place(std::span(memory).first(200));
  EXPECT_EQ(next(input), Event::kPacketEnds);
  EXPECT_THAT(std::span(memory).first(200), ElementsAreArray(std::span(first).first(200)));
  EXPECT_THAT(std::span(memory).subspan(200), Each(std::byte{0xee}));
  EXPECT_EQ(next(input), Event::kPacketBegins);
  EXPECT_EQ(input.header().len, 10U);
}

TEST(LinkInput, WritesNothingToAPlaceThatWasGivenUp) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), kMaxPayload, 1);
  std::size_t read = kPacketHeaderSize + 1000;
  ScriptedInput channel(stream, [&] { return std::exchange(read, kAll); });
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  ASSERT_EQ(next(input), Event::kPacketBegins);
  std::vector<std::byte> place(kMaxPayload, std::byte{0xee});
  input.place(place);
  EXPECT_EQ(next(input), Event::kNone);
  input.drop_payload();
  while (!channel.at_end()) {
    ASSERT_TRUE(input.read(channel).ok());
    if (next(input) == Event::kPacketEnds) break;
  }
  EXPECT_THAT(std::span(place).subspan(1000), Each(std::byte{0xee}));
}

TEST(LinkInput, ReadsTheNextPayloadOfAMessageAhead) {
  constexpr std::uint64_t kMessage = 3 * kMaxPayload;
  std::vector<std::byte> stream;
  std::vector<std::byte> expected;
  for (unsigned i = 0; i < 3; ++i) {
    const std::size_t begin = stream.size() + kPacketHeaderSize;
    append_packet(stream, data(5, kMessage), kMaxPayload, i);
    expected.insert(expected.end(), stream.begin() + static_cast<std::ptrdiff_t>(begin),
                    stream.end());
  }
  std::size_t read = kPacketHeaderSize;
  ScriptedInput channel(stream, [&] { return std::exchange(read, kAll); });
  LinkInput input(kMaxPayload);
  std::vector<std::byte> place(kMessage);
  std::size_t at = 0;
  while (!channel.at_end() || at < kMessage) {
    ASSERT_TRUE(input.read(channel).ok());
    for (Event event = next(input); event != Event::kNone; event = next(input)) {
      if (event == Event::kPacketEnds) {
        at += kMaxPayload;
        continue;
      }
      input.place(std::span(place).subspan(at, kMaxPayload));
      if (at + kMaxPayload < kMessage)
        input.place_next(std::span(place).subspan(at + kMaxPayload, kMaxPayload));
    }
  }
  EXPECT_EQ(place, expected);
  EXPECT_EQ(input.copied.packets, 0U) << "all payloads were read to their places";
  EXPECT_LE(input.calls, 4U);
}

TEST(LinkInput, RefusesAPayloadThatIsTooLong) {
  std::vector<std::byte> stream;
  append_packet(stream, data(), kMaxPayload + 1, 0);
  auto channel = all_at_once(stream);
  LinkInput input(kMaxPayload);
  ASSERT_TRUE(input.read(channel).ok());
  const auto event = input.next();
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.error().kind, ErrorKind::kProtocol);
}

/// Rows of packets of a few messages, of all sizes, in reads of all sizes, to places of all kinds.
TEST(LinkInput, DecodesAnyStream) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::minstd_rand random(seed);
    const auto draw = [&](std::uint32_t below) {
      return static_cast<std::uint32_t>(random() % below);
    };
    std::vector<std::byte> stream;
    PacketHeader header = data(1, 4 * kMaxPayload);
    std::uint32_t size = 0;
    const std::uint32_t packets = draw(40) + 1;
    for (unsigned i = 0; i < packets; ++i) {
      if (draw(3) == 0) size = draw(4) == 0 ? draw(kMaxPayload + 1) : draw(2000);
      if (draw(4) == 0) header = data(draw(3), 4 * kMaxPayload);
      append_packet(stream, header, size, i);
    }
    DecodedStream decoded(stream, kMaxPayload, seed);
    const auto wrong = decoded.run();
    EXPECT_FALSE(wrong) << *wrong << ", seed " << seed;
    EXPECT_EQ(decoded.packets(), packets);
  }
}

}  // namespace
}  // namespace impishim::wire
