// SPDX-License-Identifier: Apache-2.0
// Flow control with an implementation that counts as IMPI says (3.6, 3.7): every packet but
// PROTOACK and FINI, in both directions; a PROTOACK after each ackmark of them; answers beyond
// hiwater, all else never. The peer is made of bytes and keeps its own account.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "tests/unit/wire/engine/raw_neighbours.hpp"
#include "wire/message/flow_control.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::RawLink;
using test::RawNeighbours;
using test::Receive;
using testing::HasSubstr;

constexpr std::uint32_t kDatalen = 100;

struct Marks {
  std::uint32_t ackmark;
  std::uint32_t hiwater;
};

void PrintTo(const Marks& marks, std::ostream* out) {
  *out << "marks " << marks.ackmark << " and " << marks.hiwater;
}

bool is_answer(PacketType type) {
  return type == PacketType::kSyncAck || type == PacketType::kCancelYes ||
         type == PacketType::kCancelNo;
}

/// Rank 0, of another implementation; the engine is rank 1.
class ForeignPeer {
 public:
  explicit ForeignPeer(const Marks& marks) : marks_(marks), near_(shape(marks)) {}

  /// Hears all that the engine has sent, and acknowledges it unless `busy`.
  void listen() {
    take_all();
    while (!busy && received_ >= marks_.ackmark) {
      received_ -= marks_.ackmark;
      ahead_of_me_ -= marks_.ackmark;
      near_.say(link(), near_.header(0, PacketType::kProtoAck, 0));
      take_all();
    }
  }
  /// Answers what it has heard as a process does that receives everything at once; drops the rest.
  void answer_all() {
    listen();
    while (!heard_.empty()) {
      const PacketHeader packet = std::exchange(heard_.front().header, {});
      heard_.pop_front();
      if (packet.type == PacketType::kDataSync)
        answer(PacketType::kSyncAck, packet.srqid, packet.srqid);
      if (packet.type == PacketType::kCancel) answer(PacketType::kCancelNo, packet.srqid, 0);
      listen();
    }
  }
  void answer(PacketType type, std::uint64_t srqid, std::uint64_t drqid) {
    auto header = near_.header(0, type, srqid);
    header.drqid = drqid;
    say(header);
  }
  /// A packet that counts. One that is no answer must wait until may_send().
  void say(const PacketHeader& header) {
    ++ahead_of_engine_;
    near_.say(link(), header);
  }
  [[nodiscard]] bool may_send() {
    listen();
    return ahead_of_engine_ < marks_.hiwater;
  }
  /// The next packet that the engine has sent, but PROTOACKs.
  [[nodiscard]] std::optional<RawLink::Packet> next() {
    listen();
    if (heard_.empty()) return std::nullopt;
    RawLink::Packet packet = std::move(heard_.front());
    heard_.pop_front();
    return packet;
  }
  [[nodiscard]] std::size_t waiting() {
    listen();
    return heard_.size();
  }
  [[nodiscard]] RawNeighbours& near() { return near_; }
  [[nodiscard]] std::uint32_t ahead_of_engine() const { return ahead_of_engine_; }
  [[nodiscard]] std::uint32_t ahead_of_me() const { return ahead_of_me_; }

  bool busy = false;  ///< it reads, and its process receives nothing

 private:
  static JobShape shape(const Marks& marks) {
    JobShape shape;
    shape.procs_of_hosts = {{1}, {1}};
    shape.values.datalen = kDatalen;
    shape.values.ackmark = marks.ackmark;
    shape.values.hiwater = marks.hiwater;
    shape.foreign = {0};
    return shape;
  }
  RawLink& link() { return near_.host(0); }

  void take_all() {
    while (auto packet = near_.hear(link())) {
      const PacketType type = packet->header.type;
      if (type == PacketType::kProtoAck) {
        EXPECT_GE(ahead_of_engine_, marks_.ackmark) << "acknowledged what was never sent";
        ahead_of_engine_ -= marks_.ackmark;
        continue;
      }
      EXPECT_TRUE(ahead_of_me_ < marks_.hiwater || is_answer(type)) << "it did not stop at hiwater";
      ++ahead_of_me_;
      ++received_;
      heard_.push_back(std::move(*packet));
    }
  }

  Marks marks_;
  RawNeighbours near_;
  std::deque<RawLink::Packet> heard_;
  std::uint32_t ahead_of_engine_ = 0;  ///< its packets that are not acknowledged
  std::uint32_t ahead_of_me_ = 0;      ///< the engine's
  std::uint32_t received_ = 0;
};

class ForeignFlowControl : public testing::TestWithParam<Marks> {
 protected:
  static constexpr int kMessages = 70;

  void send(std::size_t size, SendMode mode) {
    data.push_back(pattern(size, static_cast<unsigned>(data.size())));
    sends.push_back(std::make_unique<SendOperation>());
    SendOperation& operation = *sends.back();
    operation.destination = 0;
    operation.source_rank = 1;
    operation.mode = mode;
    operation.buffer = {data.back().data(), size, &TypeLayout::basic(BasicType::kByte)};
    peer.near().engine->start(operation);
  }
  [[nodiscard]] int complete() const {
    return static_cast<int>(std::count_if(sends.begin(), sends.end(),
                                          [](const auto& each) { return each->complete(); }));
  }
  void expect_quiet() {
    peer.listen();
    EXPECT_EQ(peer.near().failure(), "");
    // Everything has been received on both sides: what is left is less than a PROTOACK is due for.
    EXPECT_LT(peer.ahead_of_engine(), GetParam().ackmark);
    EXPECT_LT(peer.ahead_of_me(), GetParam().ackmark);
  }
  /// The peer sends a message of `size` bytes to a receive that is posted, as far as flow control
  /// lets it.
  void receive(std::size_t size, bool synchronous) {
    Receive receive(0, 0, size);
    peer.near().engine->start(receive.operation);
    ASSERT_TRUE(peer.may_send());
    const bool is_long = size > kDatalen;
    const auto type = is_long || synchronous ? PacketType::kDataSync : PacketType::kData;
    auto header = peer.near().header(
        0, type, next_request++, static_cast<std::uint32_t>(std::min<std::size_t>(size, kDatalen)));
    header.msglen = size;
    peer.say(header);
    if (type == PacketType::kDataSync) {
      const auto answer = peer.next();
      ASSERT_TRUE(answer);
      ASSERT_EQ(answer->header.type, PacketType::kSyncAck);
      header.drqid = answer->header.drqid;
    }
    header.type = PacketType::kData;
    for (std::size_t sent = header.len; sent < size; sent += header.len) {
      ASSERT_TRUE(peer.may_send()) << "the engine has received all, and does not say so";
      header.len = static_cast<std::uint32_t>(std::min<std::size_t>(size - sent, kDatalen));
      peer.say(header);
    }
    EXPECT_TRUE(receive.complete()) << peer.near().failure();
  }

  ForeignPeer peer{GetParam()};
  std::vector<std::vector<std::byte>> data;
  std::vector<std::unique_ptr<SendOperation>> sends;
  std::uint64_t next_request = 1000;
};

INSTANTIATE_TEST_SUITE_P(Marks, ForeignFlowControl,
                         testing::Values(Marks{10, 20}, Marks{1, 1}, Marks{1, 20}, Marks{5, 5},
                                         Marks{3, 8}));

TEST_P(ForeignFlowControl, SynchronousMessagesToItBeyondHiwater) {
  for (int i = 0; i < kMessages; ++i) send(10, SendMode::kSynchronous);
  peer.answer_all();
  EXPECT_EQ(complete(), kMessages);
  expect_quiet();
}

TEST_P(ForeignFlowControl, SynchronousMessagesFromItBeyondHiwater) {
  for (int i = 0; i < kMessages; ++i) receive(10, true);
  expect_quiet();
}

TEST_P(ForeignFlowControl, ShortMessagesInBothDirectionsBeyondHiwater) {
  for (int i = 0; i < kMessages; ++i) {
    send(10, SendMode::kStandard);
    peer.answer_all();
    receive(10, false);
  }
  EXPECT_EQ(complete(), kMessages);
  expect_quiet();
}

TEST_P(ForeignFlowControl, LongMessagesInBothDirectionsBeyondHiwater) {
  for (int i = 0; i < 3; ++i) {
    send(kDatalen * 50 + 7, SendMode::kStandard);
    peer.answer_all();
    receive(kDatalen * 50 + 7, false);
  }
  EXPECT_EQ(complete(), 3);
  expect_quiet();
}

TEST_P(ForeignFlowControl, MessagesThatItCancelsBeyondHiwater) {
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    // A receiver that waits for something else takes what is there into account.
    const auto may_send = [&] {
      peer.near().poll(true);
      return peer.may_send();
    };
    ASSERT_TRUE(may_send());
    peer.say(peer.near().header(0, i % 2 == 0 ? PacketType::kData : PacketType::kDataSync, i, 10));
    ASSERT_TRUE(may_send());
    peer.say(peer.near().header(0, PacketType::kCancel, i));
    const auto answer = peer.next();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header.type, PacketType::kCancelYes);
  }
  expect_quiet();
}

TEST_P(ForeignFlowControl, MessagesToItThatAreCancelledBeyondHiwater) {
  for (int i = 0; i < kMessages; ++i) {
    send(10, i % 2 == 0 ? SendMode::kStandard : SendMode::kSynchronous);
    peer.near().engine->cancel(*sends.back());
  }
  int cancelled = 0;
  for (int round = 0; round < 4 * kMessages && complete() < kMessages; ++round) {
    while (auto packet = peer.next()) {
      if (packet->header.type != PacketType::kCancel) continue;
      peer.answer(PacketType::kCancelYes, packet->header.srqid, 0);
      ++cancelled;
    }
  }
  EXPECT_EQ(complete(), kMessages);
  // Those that had not left needed no question.
  for (const auto& each : sends) EXPECT_TRUE(each->result.cancelled);
  EXPECT_GT(cancelled, 0);
  expect_quiet();
}

/// A legal program would stand still otherwise: each side waits for the other's answer.
TEST_P(ForeignFlowControl, AnswersLeaveBeyondHiwater) {
  peer.busy = true;
  for (int i = 0; i < kMessages; ++i) send(10, SendMode::kStandard);
  EXPECT_EQ(peer.waiting(), GetParam().hiwater);
  while (peer.waiting() > 0) static_cast<void>(peer.next());
  receive(10, true);
  // One of each kind: a message that has not matched yet is destroyed, one that is unknown is not.
  peer.near().poll(true);
  peer.listen();
  peer.say(peer.near().header(0, PacketType::kCancel, 4711));
  const auto answer = peer.next();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.type, PacketType::kCancelNo);
  EXPECT_GT(peer.ahead_of_me(), GetParam().hiwater);
  peer.busy = false;
  peer.answer_all();
  EXPECT_EQ(complete(), kMessages);
  expect_quiet();
}

TEST_P(ForeignFlowControl, ACancelWaitsAtHiwater) {
  peer.busy = true;
  for (std::uint32_t i = 0; i < GetParam().hiwater; ++i) send(10, SendMode::kSynchronous);
  EXPECT_EQ(peer.waiting(), GetParam().hiwater);
  while (peer.waiting() > 0) static_cast<void>(peer.next());
  SendOperation& last = *sends.back();
  peer.near().engine->cancel(last);
  EXPECT_EQ(peer.waiting(), 0U);
  EXPECT_FALSE(last.complete());
  peer.busy = false;
  const auto question = peer.next();
  ASSERT_TRUE(question);
  EXPECT_EQ(question->header.type, PacketType::kCancel);
  peer.answer(PacketType::kCancelYes, question->header.srqid, 0);
  EXPECT_TRUE(last.complete());
  EXPECT_TRUE(last.result.cancelled);
}

TEST_P(ForeignFlowControl, ACancelThatWaitsIsForgottenWhenItsMessageMatches) {
  peer.busy = true;
  for (std::uint32_t i = 0; i < GetParam().hiwater; ++i) send(10, SendMode::kSynchronous);
  std::uint64_t request = 0;
  while (const auto packet = peer.next()) request = packet->header.srqid;
  peer.near().engine->cancel(*sends.back());
  peer.answer(PacketType::kSyncAck, request, 0);
  ASSERT_TRUE(sends.back()->complete());
  EXPECT_FALSE(sends.back()->result.cancelled);
  sends.pop_back();
  peer.busy = false;
  EXPECT_EQ(peer.waiting(), 0U);
  EXPECT_EQ(peer.near().failure(), "");
}

TEST_P(ForeignFlowControl, ACancelBeyondHiwaterIsRefused) {
  for (std::uint32_t i = 0; i < GetParam().hiwater; ++i)
    peer.say(peer.near().header(0, PacketType::kData, i, 10));
  EXPECT_EQ(peer.near().failure(), "");
  peer.say(peer.near().header(0, PacketType::kCancel, 0));
  EXPECT_THAT(peer.near().failure(), HasSubstr("without waiting for acknowledgements"));
}

TEST_P(ForeignFlowControl, APacketThatWasNeverSentIsNotAcknowledged) {
  for (std::uint32_t i = 0; i + 1 < GetParam().ackmark; ++i) send(10, SendMode::kStandard);
  peer.near().say(peer.near().host(0), peer.near().header(0, PacketType::kProtoAck, 0));
  EXPECT_THAT(peer.near().failure(), HasSubstr("a PROTOACK of packets that were never sent"));
}

/// Between two systems of this library control packets cost no credit, and need none.
TEST(FlowControlBetweenOurOwn, CountsMessagesOnly) {
  const FlowMarks marks = FlowMarks::by_size(1, 1, 1000);
  SendCredit sender;
  ReceiveCredit receiver;
  sender.control_sent(marks);
  EXPECT_EQ(sender.outstanding(), 0U);
  EXPECT_FALSE(receiver.control_received(marks));
  EXPECT_TRUE(receiver.packet_arrived(marks, 1000));
  EXPECT_FALSE(receiver.packet_arrived(marks, 1000));
  EXPECT_TRUE(receiver.question_may_arrive(marks));
}

TEST(FlowControlBetweenOurOwn, ACancelIsAskedAndAnsweredAtHiwater) {
  test::JobShape shape;
  shape.values.datalen = kDatalen;
  shape.values.ackmark = shape.values.hiwater = 1;
  test::SimulatedJob job(shape);
  job.only_these_wait({0});
  test::Send send(job, 0, 1, 7, pattern(kDatalen, 1));
  const test::Send held(job, 0, 1, 7, pattern(kDatalen, 2));
  job.settle();
  ASSERT_FALSE(held.operation.complete());
  job.engine(0).cancel(send.operation);
  EXPECT_TRUE(job.run_until([&] { return send.operation.complete(); }));
  EXPECT_TRUE(send.operation.result.cancelled);
  EXPECT_EQ(job.engine(1).failure(), nullptr);
}

}  // namespace
}  // namespace impishim::wire
