// SPDX-License-Identifier: Apache-2.0
// The receiving half of a resumable stream, over connections that split reads.
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
#include "wire/resume/resume_input.hpp"
#include "wire/resume/resume_output.hpp"

namespace impishim::wire {
namespace {

using test::append_bytes;
using test::append_frame;
using test::Bytes;
using test::cut;
using test::kBound;
using test::kHeader;
using test::piece;
using test::random_bytes;
using test::ScriptedChannel;
using enum ResumeFrameType;

using ResumeInputTest = test::ResumeStream;

TEST_F(ResumeInputTest, TakesManyFramesOutOfOneRead) {
  const auto bytes = random_bytes(600, 1);
  peer_says(kResume, 0);
  for (std::size_t i = 0; i < 200; ++i) {
    peer_says(kData, 0, std::span(bytes).subspan(3 * i, 3));
    if (i % 7 == 0) peer_says(kAcknowledge, 0);
  }
  const auto got = read_all(10000);
  ASSERT_TRUE(got.ok()) << got.error().text;
  EXPECT_EQ(*got, bytes);
  EXPECT_EQ(input.received(), bytes.size());
  EXPECT_FALSE(input.may_have_more());
}

/// The first read ends behind each byte in turn, or every read does.
TEST_F(ResumeInputTest, JoinsHeadersThatAreSplitAnywhere) {
  const auto bytes = random_bytes(40, 2);
  Bytes stream;
  append_frame(stream, kResume, 0);
  append_frame(stream, kData, 0, std::span(bytes).first(5));
  append_frame(stream, kAcknowledge, 0);
  append_frame(stream, kData, 0, std::span(bytes).subspan(5, 1));
  append_frame(stream, kData, 0, std::span(bytes).subspan(6));
  append_frame(stream, kEnd, 0);
  for (std::size_t at = 1; at <= stream.size(); ++at) {
    for (const bool every : {false, true}) {
      ResumeOutput own_output{kBound};
      ResumeInput own_input{own_output};
      own_output.begin();
      own_input.begin();
      channel.reset();
      channel.input = stream;
      channel.most_read = at;
      Bytes got;
      while (!own_input.ended()) {
        Bytes memory(50);
        const iovec one = piece(std::span(memory));
        const auto size = own_input.read(channel, std::span(&one, 1), 0);
        ASSERT_TRUE(size.ok()) << at << ": " << size.error().text;
        append_bytes(got, std::span(memory).first(*size));
        if (!every) channel.most_read = ScriptedChannel::kAll;
      }
      ASSERT_EQ(got, bytes) << at;
    }
  }
}

TEST_F(ResumeInputTest, FillsPiecesOfOddSizes) {
  const auto bytes = random_bytes(5000, 3);
  const std::array<std::size_t, 6> sizes = {1, 0, 3, 17, 2, 64};
  for (const std::size_t frame : {1U, 16U, 17U, 333U, 5000U}) {
    for (const std::size_t most_read : {7U, 100U, 4096U}) {
      ResumeOutput own_output{kBound};
      ResumeInput own_input{own_output};
      own_output.begin();
      own_input.begin();
      channel.reset();
      channel.most_read = most_read;
      peer_says(kResume, 0);
      for (std::size_t from = 0; from < bytes.size(); from += frame)
        peer_says(kData, 0, std::span(bytes).subspan(from, std::min(frame, bytes.size() - from)));
      Bytes got(bytes.size());
      const auto pieces = cut(got, sizes);
      std::size_t total = 0;
      for (int calls = 0; total < got.size() && calls < 20000; ++calls) {
        const auto size = own_input.read(channel, pieces, total);
        ASSERT_TRUE(size.ok()) << size.error().text;
        total += *size;
      }
      ASSERT_EQ(got, bytes) << frame << " " << most_read;
    }
  }
}

TEST_F(ResumeInputTest, ReadsAFrameThatIsLongerThanTheRead) {
  const auto bytes = random_bytes(ResumeFrame::kMostFrame, 4);
  peer_says(kResume, 0);
  peer_says(kData, 0, bytes);
  peer_says(kData, 0, std::span(bytes).first(10));
  const auto got = read_all(999);
  ASSERT_TRUE(got.ok()) << got.error().text;
  ASSERT_EQ(got->size(), bytes.size() + 10);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), got->begin()));
}

TEST_F(ResumeInputTest, ReadsHeadersAloneUpToTheNextBytes) {
  const auto bytes = random_bytes(10, 5);
  peer_says(kResume, 0);
  peer_says(kAcknowledge, 0);
  peer_says(kData, 0, bytes);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*input.read(channel, {}, 0), 0U);
  EXPECT_EQ(channel.read, 3 * kHeader);
  EXPECT_EQ(input.received(), 0U);
  EXPECT_EQ(*read_all(), bytes);
}

TEST_F(ResumeInputTest, SaysWhetherThereMayBeMore) {
  peer_says(kResume, 0);
  peer_says(kData, 0, random_bytes(10, 6));
  Bytes memory(5);
  const iovec one = piece(std::span(memory));
  EXPECT_EQ(*input.read(channel, std::span(&one, 1), 0), 0U) << "a header takes the place";
  EXPECT_TRUE(input.may_have_more());
  while (input.received() < 10) ASSERT_TRUE(input.read(channel, std::span(&one, 1), 0).ok());
  EXPECT_EQ(*input.read(channel, std::span(&one, 1), 0), 0U);
  EXPECT_FALSE(input.may_have_more());
}

/// A header and a frame that were half read on a connection say nothing about the next one.
TEST_F(ResumeInputTest, BeginsAnewOnTheNextConnection) {
  const auto bytes = random_bytes(10, 7);
  for (const std::size_t before : {kHeader - 1, kHeader + 5, 2 * kHeader + 4, 2 * kHeader + 10}) {
    begin();
    const std::uint64_t had = input.received();
    peer_says(kResume, 0);
    peer_says(kData, 0, bytes);
    channel.input.resize(before);
    ASSERT_TRUE(read_all().ok());
    const std::uint64_t got = input.received() - had;
    EXPECT_EQ(got, before - std::min(before, 2 * kHeader));
  }
  begin();
  peer_says(kResume, 0);
  peer_says(kData, 0, bytes);
  const auto got = read_all();
  ASSERT_TRUE(got.ok()) << got.error().text;
  EXPECT_EQ(*got, bytes);
}

TEST_F(ResumeInputTest, PassesOnWhatTheChannelFailsWith) {
  channel.error = Error{ErrorKind::kConnection, "reset"};
  const auto got = input.read(channel, {}, 0);
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().text, "reset");
}

TEST_F(ResumeInputTest, RefusesAnotherFirstFrame) {
  for (const ResumeFrameType type : {kData, kAcknowledge, kEnd}) {
    begin();
    const Bytes one(type == kData ? 1 : 0);
    peer_says(type, 0, one);
    expect_broken("begins with another frame");
  }
}

TEST_F(ResumeInputTest, RefusesASecondResume) {
  peer_says(kResume, 0);
  peer_says(kResume, 0);
  expect_broken("resumes a connection twice");
}

TEST_F(ResumeInputTest, RefusesBytesBehindTheEnd) {
  peer_says(kResume, 0);
  peer_says(kEnd, 0);
  peer_says(kAcknowledge, 0);
  peer_says(kEnd, 0);
  EXPECT_TRUE(read_all().ok());
  EXPECT_TRUE(input.ended());
  peer_says(kData, 0, random_bytes(1, 8));
  expect_broken("follow the end");
}

TEST_F(ResumeInputTest, RefusesAnAcknowledgementOfWhatWasNotSent) {
  greet(0);
  EXPECT_EQ(send(random_bytes(100, 9)), 100U);
  peer_says(kAcknowledge, 100);
  EXPECT_TRUE(read_all().ok());
  for (const std::uint64_t position : {std::uint64_t{101}, ~std::uint64_t{0}}) {
    channel.input.clear();
    channel.read = 0;
    peer_says(kAcknowledge, position);
    expect_broken("acknowledges");
  }
}

/// On the connection there are 20 bytes; the other 80 are taken and wait.
TEST_F(ResumeInputTest, RefusesAnAcknowledgementOfWhatWaits) {
  greet(0);
  channel.most_sent = kHeader + 20;
  EXPECT_EQ(send(random_bytes(100, 10)), 100U);
  peer_says(kAcknowledge, 20);
  EXPECT_TRUE(read_all().ok());
  peer_says(kAcknowledge, 21);
  expect_broken("acknowledges");
}

TEST_F(ResumeInputTest, RefusesAnAcknowledgementThatGoesBack) {
  greet(0);
  EXPECT_EQ(send(random_bytes(100, 11)), 100U);
  peer_says(kAcknowledge, 50);
  EXPECT_TRUE(read_all().ok());
  peer_says(kAcknowledge, 49);
  expect_broken("acknowledges");
}

TEST_F(ResumeInputTest, RefusesToContinueBehindWhatWasSent) {
  greet(0);
  channel.most_sent = kHeader + 20;
  EXPECT_EQ(send(random_bytes(100, 12)), 100U);
  begin();
  peer_says(kResume, 21);
  expect_broken("wants to continue behind");
  begin();
  peer_says(kResume, 20);
  EXPECT_TRUE(read_all().ok());
}

/// The peer began this connection before it acknowledged more on a later one.
TEST_F(ResumeInputTest, TakesAnOldPositionForALostConnection) {
  greet(0);
  EXPECT_EQ(send(random_bytes(100, 13)), 100U);
  peer_says(kAcknowledge, 50);
  EXPECT_TRUE(read_all().ok());
  begin();
  peer_says(kResume, 49);
  const auto got = read_all();
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kConnection);
}

}  // namespace
}  // namespace impishim::wire
