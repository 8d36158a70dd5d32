// SPDX-License-Identifier: Apache-2.0
// A striped channel whose peer is the test: what it says on each strand is written down before.
#include "wire/stripe/striped_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/resume/scripted_channel.hpp"
#include "wire/base/result.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/stripe/stripe_frame.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;
using test::ScriptedChannel;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using enum StripeFrameType;

constexpr std::size_t kBound = 300'000;

/// A frame that the channel has sent, and its bytes.
struct Said {
  StripeFrame frame;
  Bytes bytes;
};

class StripedChannelTest : public testing::Test {
 protected:
  StripedChannelTest() {
    StripedChannel::Slots slots;
    for (auto& each : slot) {
      each = ConnectionSlot::make(wake).value();
      slots.push_back(each);
    }
    auto first = std::make_unique<ScriptedChannel>();
    strand[0] = first.get();
    first->announce();
    alive[0] = first->alive;
    channel = StripedChannel::make(std::move(first), slots, {.kept = kBound}).value();
    connect(1);
    for (std::size_t i = 0; i < 2; ++i) say(i, {kResume});
    EXPECT_TRUE(receive(100).empty());
    for (ScriptedChannel* each : strand) each->output.clear();
  }
  ~StripedChannelTest() override {
    for (std::size_t i = 0; i < 2; ++i)
      if (*alive[i]) strand[i]->most_sent = ScriptedChannel::kAll;
  }
  void connect(std::size_t number) {
    auto next = std::make_unique<ScriptedChannel>();
    strand[number] = next.get();
    next->announce();
    alive[number] = next->alive;
    slot[number]->deliver(std::move(next));
    EXPECT_TRUE(channel->try_receive({}).ok());
  }
  void say(std::size_t number, const StripeFrame& frame, std::span<const std::byte> bytes = {}) {
    test::append_bytes(strand[number]->input, encode_stripe_frame(frame));
    test::append_bytes(strand[number]->input, bytes);
  }
  /// Says bytes of `stream` from `place` on.
  void say_data(std::size_t number, std::size_t place, std::size_t size) {
    say(number, {kData, static_cast<std::uint32_t>(size), 0, place},
        std::span(stream).subspan(place, size));
  }
  Bytes receive(std::size_t room) {
    Bytes memory(room);
    const iovec one = piece(std::span(memory));
    auto got = channel->try_receive(std::span(&one, 1));
    if (!got) {
      error = got.error();
      return {};
    }
    memory.resize(*got);
    return memory;
  }
  std::size_t send(std::span<const std::byte> bytes) {
    const iovec one = piece(bytes);
    return channel->try_send(std::span(&one, 1)).value();
  }
  std::vector<Said> said_on(std::size_t number) {
    std::vector<Said> all;
    std::span<const std::byte> rest = strand[number]->output;
    while (rest.size() >= StripeFrame::kHeaderSize) {
      const auto frame = decode_stripe_frame(rest.first<StripeFrame::kHeaderSize>()).value();
      rest = rest.subspan(StripeFrame::kHeaderSize);
      all.push_back({frame, {rest.begin(), rest.begin() + frame.size}});
      rest = rest.subspan(frame.size);
    }
    EXPECT_TRUE(rest.empty());
    return all;
  }
  Bytes part(std::size_t from, std::size_t size) const {
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(from);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }
  void expect_broken(const char* reason) {
    for (int i = 0; i < 8 && error.text.empty(); ++i) receive(1000);
    EXPECT_EQ(error.kind, ErrorKind::kProtocol);
    EXPECT_THAT(error.text, HasSubstr(reason));
  }

  Bytes stream = random_bytes(1'000'000, 11);
  std::shared_ptr<WakeEvent> wake = WakeEvent::make().value();
  std::array<std::shared_ptr<ConnectionSlot>, 2> slot;
  std::array<ScriptedChannel*, 2> strand{};
  std::array<std::shared_ptr<bool>, 2> alive{std::make_shared<bool>(true),
                                             std::make_shared<bool>(true)};
  std::unique_ptr<Channel> channel;
  Error error{ErrorKind::kSystem, ""};
};

TEST_F(StripedChannelTest, PutsFramesOfItsStrandsIntoOrder) {
  say_data(1, 100, 50);
  EXPECT_TRUE(receive(1000).empty());
  say_data(0, 0, 60);
  EXPECT_EQ(receive(1000), part(0, 60));
  say_data(0, 60, 40);
  EXPECT_EQ(receive(1000), part(60, 90));
}

TEST_F(StripedChannelTest, DoesNotSleepWhileBytesWait) {
  say_data(1, 10, 50);
  say_data(0, 0, 10);
  EXPECT_EQ(receive(20), part(0, 20));
  EXPECT_FALSE(channel->prepare_to_sleep());
  EXPECT_EQ(receive(1000), part(20, 40));
  EXPECT_TRUE(receive(1000).empty());
  EXPECT_TRUE(channel->prepare_to_sleep());
}

TEST_F(StripedChannelTest, TakesBytesOnceThatComeTwice) {
  say_data(1, 20, 50);
  say_data(0, 0, 40);
  say_data(0, 10, 80);
  say_data(1, 0, 70);
  say_data(1, 85, 15);
  Bytes got;
  for (int i = 0; i < 8; ++i)
    test::append_bytes(got, receive(7 + 20 * static_cast<std::size_t>(i)));
  EXPECT_EQ(got, part(0, 100));
}

TEST_F(StripedChannelTest, KeepsShortWritesOnTheFirstStrand) {
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(send(part(10 * i, 10)), 10U);
  EXPECT_EQ(said_on(0).size(), 10U);
  EXPECT_TRUE(said_on(1).empty());
}

TEST_F(StripedChannelTest, SendsOnTheStrandThatHasRoom) {
  strand[0]->most_sent = 1000;
  EXPECT_EQ(send(part(0, 200'000)), 200'000U);
  // The first strand has begun a frame, which it has to complete.
  const auto others = said_on(1);
  ASSERT_EQ(others.size(), 3U);
  EXPECT_EQ(others[0].frame.place, StripeFrame::kMostFrame);
  EXPECT_EQ(others[0].bytes, part(StripeFrame::kMostFrame, StripeFrame::kMostFrame));
  EXPECT_EQ(strand[0]->output.size(), 1000U);
}

TEST_F(StripedChannelTest, SendsWhatALostStrandHadOnTheOthersAtOnce) {
  EXPECT_EQ(send(part(0, 100)), 100U);
  strand[0]->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_EQ(send(part(100, 100)), 100U);
  const auto others = said_on(1);
  ASSERT_GE(others.size(), 2U);
  EXPECT_EQ(others[0].frame.place, 0U);
  EXPECT_EQ(others[0].bytes, part(0, 100));
  EXPECT_EQ(others.back().frame.place, 100U);
  EXPECT_EQ(others.back().bytes, part(100, 100));
  EXPECT_EQ(slot[0]->take_loss(), "cut");
}

TEST_F(StripedChannelTest, SendsAgainOnlyWhatIsNotAcknowledged) {
  EXPECT_EQ(send(part(0, 100)), 100U);
  say(1, {kAcknowledge, 0, 60});
  EXPECT_TRUE(receive(10).empty());
  strand[0]->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_EQ(send(part(100, 1)), 1U);
  EXPECT_EQ(said_on(1)[0].bytes, part(60, 40));
}

TEST_F(StripedChannelTest, CompletesAFrameWhoseBytesThePeerHasAlready) {
  EXPECT_EQ(send(part(0, 100)), 100U);
  strand[1]->most_sent = 20;  // in one call; the frame that comes again has 124
  strand[0]->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_EQ(channel->try_receive({}).value(), 0U);
  channel->set_want_output(true);
  EXPECT_EQ(send(part(100, 1)), 0U);
  say(1, {kAcknowledge, 0, 100});
  EXPECT_TRUE(receive(10).empty());
  strand[1]->most_sent = ScriptedChannel::kAll;
  EXPECT_EQ(send(part(100, 1)), 1U);
  const auto others = said_on(1);
  EXPECT_EQ(others[0].bytes, part(0, 100));
  EXPECT_EQ(others.back().bytes, part(100, 1));
}

TEST_F(StripedChannelTest, GoesOnWhenAllStrandsWereLost) {
  EXPECT_EQ(send(part(0, 100)), 100U);
  for (ScriptedChannel* const each : strand) each->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_EQ(send(part(100, 100)), 0U);
  EXPECT_TRUE(slot[0]->take_loss().has_value());
  EXPECT_TRUE(slot[1]->take_loss().has_value());
  connect(1);
  say(1, {kResume, 0, 30});
  EXPECT_TRUE(receive(100).empty());
  EXPECT_EQ(said_on(1)[1].bytes, part(30, 70));
}

TEST_F(StripedChannelTest, IsGivenUpOnlyWithoutAStrand) {
  strand[0]->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_EQ(send(part(0, 1)), 1U);
  EXPECT_TRUE(slot[0]->take_loss().has_value());
  slot[0]->give_up({ErrorKind::kConnection, "too late"});
  EXPECT_EQ(send(part(1, 1)), 1U);
  EXPECT_EQ(slot[0]->take_loss(), "too late");
  strand[1]->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_EQ(send(part(2, 1)), 0U);
  slot[0]->give_up({ErrorKind::kConnection, "too late"});
  receive(10);
  EXPECT_EQ(error.text, "too late");
  EXPECT_TRUE(slot[1]->stopped());
}

TEST_F(StripedChannelTest, EndsBehindAllBytes) {
  say(1, {kEnd, 0, 0, 80});
  EXPECT_TRUE(receive(100).empty());
  EXPECT_TRUE(error.text.empty());
  say_data(0, 0, 80);
  EXPECT_EQ(receive(100), part(0, 80));
  receive(100);
  EXPECT_EQ(error.kind, ErrorKind::kConnection);
  EXPECT_EQ(error.text, "end of stream");
}

TEST_F(StripedChannelTest, SaysTheEndAgainWhenItsStrandIsLost) {
  EXPECT_EQ(send(part(0, 5)), 5U);
  channel->shutdown_output();
  EXPECT_EQ(said_on(0).back().frame, (StripeFrame{kEnd, 0, 0, 5}));
  strand[0]->error = Error{ErrorKind::kConnection, "cut"};
  EXPECT_TRUE(channel->try_receive({}).ok());
  static_cast<void>(channel->prepare_to_sleep());
  say(1, {kAcknowledge, 0, 5});
  receive(10);
  EXPECT_EQ(said_on(1).back().frame.type, kEnd);
  EXPECT_EQ(said_on(1).back().frame.place, 5U);
}

TEST_F(StripedChannelTest, RefusesAPlaceBeyondWhatThePeerMayKeep) {
  say(0, {kData, 10, 0, kBound - 9}, part(0, 10));
  expect_broken("too far behind");
}

TEST_F(StripedChannelTest, RefusesAnEndBeyondWhatThePeerMayKeep) {
  say(0, {kEnd, 0, 0, kBound + 1});
  expect_broken("too far behind");
}

TEST_F(StripedChannelTest, RefusesBytesBehindTheEnd) {
  say(0, {kEnd, 0, 0, 50});
  say_data(1, 45, 6);
  expect_broken("follow the end");
}

TEST_F(StripedChannelTest, RefusesAnEndBeforeBytesThatCame) {
  say_data(1, 45, 6);
  EXPECT_TRUE(receive(100).empty());
  say(0, {kEnd, 0, 0, 50});
  expect_broken("ends before its last byte");
}

TEST_F(StripedChannelTest, RefusesTwoEnds) {
  say(0, {kEnd, 0, 0, 50});
  say(1, {kEnd, 0, 0, 60});
  expect_broken("ends before its last byte");
}

TEST_F(StripedChannelTest, RefusesAnAcknowledgementOfWhatWasNotSent) {
  EXPECT_EQ(send(part(0, 10)), 10U);
  say(1, {kAcknowledge, 0, 11});
  expect_broken("acknowledges 11 bytes");
}

TEST_F(StripedChannelTest, RefusesAnAcknowledgementThatShrinksOnOneStrand) {
  EXPECT_EQ(send(part(0, 10)), 10U);
  say(1, {kAcknowledge, 0, 10});
  say(0, {kAcknowledge, 0, 5});
  receive(10);
  EXPECT_TRUE(error.text.empty());
  say(1, {kAcknowledge, 0, 9});
  expect_broken("acknowledges 9 bytes");
}

TEST_F(StripedChannelTest, RefusesAConnectionThatBeginsWithAnotherFrame) {
  connect(1);
  say_data(1, 0, 10);
  expect_broken("begins with another frame");
}

TEST_F(StripedChannelTest, RefusesAConnectionThatResumesTwice) {
  say(1, {kResume});
  expect_broken("resumes a connection twice");
}

TEST_F(StripedChannelTest, RefusesMoreGapsThanAPeerCanLeave) {
  // Of one byte each, with a gap of one byte between two.
  for (std::size_t place = 2; place < 2 * ReorderBuffer::kMostRanges + 6; place += 2)
    say_data(0, place, 1);
  expect_broken("too many gaps");
}

}  // namespace
}  // namespace impishim::wire
