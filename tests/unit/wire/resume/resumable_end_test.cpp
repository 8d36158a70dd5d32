// SPDX-License-Identifier: Apache-2.0
// What an owner hears of the end of a resumable channel, and what a peer hears of it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/resume/scripted_channel.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/resumable_channel.hpp"
#include "wire/resume/resume_frame.hpp"

namespace impishim::wire {
namespace {

using test::append_frame;
using test::piece;
using test::random_bytes;
using test::readable;
using test::ScriptedChannel;
using Bytes = std::vector<std::byte>;
using enum ResumeFrameType;

constexpr std::size_t kHeader = ResumeFrame::kHeaderSize;

class ResumableEndTest : public testing::Test {
 protected:
  ResumableEndTest() {
    auto first = std::make_unique<ScriptedChannel>();
    connection = first.get();
    channel = ResumableChannel::make(std::move(first), slot).value();
    append_frame(connection->input, kResume, 0);
  }
  Result<std::size_t> receive() {
    room.resize(100);
    const iovec one = piece(std::span(room));
    return channel->try_receive(std::span(&one, 1));
  }
  Result<std::size_t> send(const Bytes& bytes) {
    const iovec one = piece(std::span(bytes));
    return channel->try_send(std::span(&one, 1));
  }
  /// Delivers a connection, which stays alive as long as the channel or the slot keeps it.
  ScriptedChannel* deliver() {
    auto next = std::make_unique<ScriptedChannel>();
    ScriptedChannel* const delivered = next.get();
    slot->deliver(std::move(next));
    return delivered;
  }

  std::shared_ptr<ConnectionSlot> slot = ConnectionSlot::make(WakeEvent::make().value()).value();
  std::unique_ptr<Channel> channel;
  ScriptedChannel* connection = nullptr;
  Bytes room;
};

TEST_F(ResumableEndTest, WatchesForRoomOnlyWhileSomethingWaits) {
  ASSERT_EQ(*receive(), 0U);
  const auto bytes = random_bytes(50, 1);
  connection->most_sent = kHeader + 10;
  EXPECT_EQ(*send(bytes), 50U);
  EXPECT_TRUE(connection->wants_output) << "40 bytes wait";
  connection->most_sent = ScriptedChannel::kAll;
  EXPECT_EQ(*send(bytes), 50U);
  EXPECT_FALSE(connection->wants_output) << "a descriptor that is always ready lets nobody sleep";
}

/// The end came with the last bytes, so that nothing follows which would wake the owner.
TEST_F(ResumableEndTest, WakesTheOwnerForAnEndThatWasReadWithBytes) {
  append_frame(connection->input, kData, 0, random_bytes(10, 2));
  append_frame(connection->input, kEnd, 0);
  EXPECT_FALSE(readable(channel->descriptor(), 0));
  EXPECT_EQ(*receive(), 10U);
  EXPECT_TRUE(readable(channel->descriptor(), 0));
  EXPECT_EQ(receive().error().text, "end of stream");
  EXPECT_TRUE(readable(channel->descriptor(), 0)) << "as with any ended stream";
}

TEST_F(ResumableEndTest, WakesTheOwnerForAnEndThatAnotherCallMeets) {
  ASSERT_EQ(*receive(), 0U);
  connection->error = Error{ErrorKind::kConnection, "reset"};
  channel->shutdown_output();
  EXPECT_TRUE(readable(channel->descriptor(), 0));
  EXPECT_EQ(receive().error().text, "end of stream");
}

TEST_F(ResumableEndTest, TellsAPeerThatConnectsAgain) {
  append_frame(connection->input, kData, 0, random_bytes(10, 3));
  append_frame(connection->input, kEnd, 0);
  EXPECT_EQ(*receive(), 10U);
  EXPECT_FALSE(receive().ok());
  // Nobody calls the channel after this.
  channel->shutdown_output();
  Bytes words;
  append_frame(words, kResume, 10);
  append_frame(words, kEnd, 10);
  EXPECT_EQ(deliver()->output, words);
  EXPECT_EQ(deliver()->output, words);
}

TEST_F(ResumableEndTest, TellsAPeerThatHadConnectedBefore) {
  append_frame(connection->input, kEnd, 0);
  EXPECT_FALSE(receive().ok());
  const ScriptedChannel* const waiting = deliver();
  EXPECT_TRUE(waiting->output.empty());
  channel->shutdown_output();
  Bytes words;
  append_frame(words, kResume, 0);
  append_frame(words, kEnd, 0);
  EXPECT_EQ(waiting->output, words);
}

/// The stream ended with the loss of its connection.
TEST_F(ResumableEndTest, TellsAPeerThatHasLostLess) {
  ASSERT_EQ(*receive(), 0U);
  channel->shutdown_output();
  connection->error = Error{ErrorKind::kConnection, "reset"};
  EXPECT_FALSE(receive().ok());
  Bytes words;
  append_frame(words, kResume, 0);
  append_frame(words, kEnd, 0);
  EXPECT_EQ(deliver()->output, words);
}

/// What the peer has not acknowledged could be lost.
TEST_F(ResumableEndTest, TellsNobodyBeforeAllIsAcknowledged) {
  ASSERT_EQ(*receive(), 0U);
  EXPECT_EQ(*send(random_bytes(10, 4)), 10U);
  append_frame(connection->input, kEnd, 9);
  EXPECT_FALSE(receive().ok());
  channel->shutdown_output();
  EXPECT_TRUE(deliver()->output.empty());
}

}  // namespace
}  // namespace impishim::wire
