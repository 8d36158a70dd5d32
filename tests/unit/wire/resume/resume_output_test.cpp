// SPDX-License-Identifier: Apache-2.0
// The sending half of a resumable stream, over connections that split writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/resume/resume_stream.hpp"
#include "tests/unit/wire/resume/scripted_channel.hpp"
#include "wire/base/result.hpp"
#include "wire/resume/resume_frame.hpp"
#include "wire/resume/resume_output.hpp"

namespace impishim::wire {
namespace {

using test::append_frame;
using test::Bytes;
using test::cut;
using test::kBound;
using test::kHeader;
using test::part;
using test::piece;
using test::random_bytes;
using test::ScriptedChannel;
using enum ResumeFrameType;

using ResumeOutputTest = test::ResumeStream;

TEST_F(ResumeOutputTest, SaysFirstWhatItHasReceived) {
  peer_says(kResume, 0);
  peer_says(kData, 0, random_bytes(10, 14));
  ASSERT_TRUE(read_all().ok());
  begin();
  EXPECT_TRUE(output.has_output());
  flush();
  Bytes expected;
  append_frame(expected, kResume, 10);
  EXPECT_EQ(channel.output, expected);
  EXPECT_FALSE(output.has_output());
}

TEST_F(ResumeOutputTest, SendsNothingBeforeThePeerHasSpoken) {
  const auto bytes = random_bytes(10, 15);
  EXPECT_FALSE(output.can_send());
  EXPECT_EQ(send(bytes), 0U);
  output.want_acknowledgement();
  flush();
  peer_says(kResume, 0);
  ASSERT_TRUE(read_all().ok());
  EXPECT_TRUE(output.can_send());
  EXPECT_EQ(send(bytes), bytes.size());
  Bytes expected;
  append_frame(expected, kResume, 0);
  append_frame(expected, kAcknowledge, 0);
  append_frame(expected, kData, 0, bytes);
  EXPECT_EQ(channel.output, expected);
}

TEST_F(ResumeOutputTest, AsksBehindItsBytesAndAnswersAtOnce) {
  const auto bytes = random_bytes(10, 17);
  peer_says(kResume, 0);
  ASSERT_TRUE(read_all().ok());
  EXPECT_EQ(send(bytes), bytes.size());
  output.ask();
  EXPECT_TRUE(output.has_output());
  flush();
  EXPECT_FALSE(output.has_output());
  peer_says(kQuestion, 10);
  ASSERT_TRUE(read_all().ok());
  EXPECT_TRUE(output.has_output());
  flush();
  Bytes expected;
  append_frame(expected, kResume, 0);
  append_frame(expected, kData, 0, bytes);
  append_frame(expected, kQuestion, 0);
  append_frame(expected, kAcknowledge, 0);
  EXPECT_EQ(channel.output, expected);
}

TEST_F(ResumeOutputTest, AsksNothingBehindItsEnd) {
  peer_says(kResume, 0);
  ASSERT_TRUE(read_all().ok());
  output.ask();
  output.end();
  output.ask();
  flush();
  Bytes expected;
  append_frame(expected, kResume, 0);
  append_frame(expected, kEnd, 0);
  EXPECT_EQ(channel.output, expected);
}

/// Each call of the channel takes so few bytes; what leaves is the same.
TEST_F(ResumeOutputTest, ContinuesFramesThatWereTakenInPart) {
  const auto bytes = random_bytes(50, 16);
  Bytes expected;
  append_frame(expected, kResume, 0);
  append_frame(expected, kData, 0, std::span(bytes).first(20));
  append_frame(expected, kData, 0, std::span(bytes).subspan(20));
  append_frame(expected, kEnd, 0);
  for (std::size_t most = 1; most <= 70; ++most) {
    ResumeOutput own{kBound};
    own.begin();
    channel.reset();
    channel.most_sent = most;
    ASSERT_TRUE(own.resume_from(0).ok());
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const iovec next =
          piece(sent < 20 ? std::span(bytes).first(20) : std::span(bytes).subspan(20));
      sent += own.send(channel, std::span(&next, 1), 0).value();
    }
    own.end();
    while (own.has_output()) ASSERT_TRUE(own.flush(channel, 0).ok());
    ASSERT_EQ(channel.output, expected) << most;
  }
}

TEST_F(ResumeOutputTest, SendsPiecesOfOddSizesAsOneFrame) {
  greet(0);
  auto bytes = random_bytes(300, 17);
  const std::array<std::size_t, 4> sizes = {0, 1, 7, 30};
  const auto pieces = cut(bytes, sizes);
  EXPECT_EQ(*output.send(channel, pieces, 0), bytes.size());
  Bytes expected;
  append_frame(expected, kData, 0, bytes);
  EXPECT_EQ(channel.output, expected);
}

TEST_F(ResumeOutputTest, TakesNoMoreThanItsBound) {
  greet(0);
  const auto bytes = random_bytes(kBound + 1, 18);
  EXPECT_EQ(send(bytes), kBound);
  EXPECT_FALSE(output.can_send());
  EXPECT_EQ(send(bytes), 0U);
  peer_says(kAcknowledge, 10);
  ASSERT_TRUE(read_all().ok());
  EXPECT_EQ(send(bytes), 10U);
  EXPECT_FALSE(output.all_acknowledged());
  peer_says(kAcknowledge, kBound + 10);
  ASSERT_TRUE(read_all().ok());
  EXPECT_TRUE(output.all_acknowledged());
}

TEST_F(ResumeOutputTest, TakesNoByteIfTheChannelFails) {
  greet(0);
  channel.error = Error{ErrorKind::kConnection, "reset"};
  const auto bytes = random_bytes(10, 19);
  const iovec one = piece(std::span<const std::byte>(bytes));
  EXPECT_FALSE(output.send(channel, std::span(&one, 1), 0).ok());
  EXPECT_EQ(output.kept().end(), 0U);
}

/// The connection is lost behind each byte of a frame in turn, whatever the peer has got of it.
TEST_F(ResumeOutputTest, ContinuesWhereThePeerIs) {
  const auto bytes = random_bytes(40, 20);
  for (std::size_t taken = 1; taken <= kHeader + bytes.size(); ++taken) {
    const std::size_t most_arrived = taken - std::min(taken, kHeader);
    for (const std::size_t arrived : {std::size_t{0}, most_arrived / 2, most_arrived}) {
      ResumeOutput own{kBound};
      own.begin();
      channel.reset();
      ASSERT_TRUE(own.flush(channel, 0).ok());
      ASSERT_TRUE(own.resume_from(0).ok());
      channel.most_sent = taken;
      const iovec one = piece(std::span<const std::byte>(bytes));
      ASSERT_EQ(*own.send(channel, std::span(&one, 1), 0), bytes.size());
      own.begin();
      channel.reset();
      ASSERT_TRUE(own.resume_from(arrived).ok());
      ASSERT_TRUE(own.flush(channel, 3).ok());
      Bytes expected;
      append_frame(expected, kResume, 3);
      if (arrived < bytes.size())
        append_frame(expected, kData, 3, std::span(bytes).subspan(arrived));
      ASSERT_EQ(channel.output, expected) << taken << " " << arrived;
      ASSERT_EQ(own.repeated(), most_arrived - arrived);
    }
  }
}

TEST_F(ResumeOutputTest, EndsBehindAllBytesOnEachConnection) {
  greet(0);
  channel.most_sent = kHeader + 10;
  const auto bytes = random_bytes(30, 21);
  EXPECT_EQ(send(bytes), bytes.size());
  output.end();
  EXPECT_EQ(send(bytes), 0U) << "nothing follows the end";
  channel.most_sent = ScriptedChannel::kAll;
  flush();
  Bytes expected;
  append_frame(expected, kData, 0, bytes);
  append_frame(expected, kEnd, 0);
  EXPECT_EQ(channel.output, expected);
  begin();
  flush();
  peer_says(kResume, 10);
  ASSERT_TRUE(read_all().ok());
  flush();
  expected.clear();
  append_frame(expected, kResume, 0);
  append_frame(expected, kData, 0, part(bytes, 10, 20));
  append_frame(expected, kEnd, 0);
  EXPECT_EQ(channel.output, expected);
  EXPECT_FALSE(output.has_output());
}

/// An owner that has met the peer's end does not read what the peer says on later connections.
TEST_F(ResumeOutputTest, EndsWithoutThePeersWordIfAllIsAcknowledged) {
  greet(0);
  EXPECT_EQ(send(random_bytes(30, 22)), 30U);
  begin();
  output.end();
  flush();
  Bytes expected;
  append_frame(expected, kResume, 0);
  EXPECT_EQ(channel.output, expected) << "30 bytes may not have arrived";
  peer_says(kResume, 30);
  ASSERT_TRUE(read_all().ok());
  begin();
  flush();
  append_frame(expected, kEnd, 0);
  EXPECT_EQ(channel.output, expected);
}

TEST_F(ResumeOutputTest, AcknowledgesWithAnyFrame) {
  peer_says(kResume, 0);
  peer_says(kData, 0, random_bytes(10, 23));
  ASSERT_TRUE(read_all().ok());
  flush();
  EXPECT_EQ(output.acknowledged_input(), 10U);
  peer_says(kData, 0, random_bytes(5, 24));
  ASSERT_TRUE(read_all().ok());
  output.want_acknowledgement();
  EXPECT_TRUE(output.has_output());
  channel.output.clear();
  const auto bytes = random_bytes(3, 25);
  EXPECT_EQ(send(bytes), 3U);
  Bytes expected;
  append_frame(expected, kAcknowledge, 15);
  append_frame(expected, kData, 15, bytes);
  EXPECT_EQ(channel.output, expected);
  EXPECT_FALSE(output.has_output());
}

TEST_F(ResumeOutputTest, AcknowledgesThePeersEnd) {
  greet(0);
  peer_says(kEnd, 0);
  ASSERT_TRUE(read_all().ok());
  flush();
  Bytes expected;
  append_frame(expected, kAcknowledge, 0);
  EXPECT_EQ(channel.output, expected);
}

}  // namespace
}  // namespace impishim::wire
