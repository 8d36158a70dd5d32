// SPDX-License-Identifier: Apache-2.0
// The message protocols of IMPI 3.7 between engines: every kind of message, posted before or after
// its arrival, over channels that tear it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "tests/unit/wire/engine/raw_peer.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;

constexpr std::uint32_t kDatalen = 1000;

JobShape shape_of(std::uint32_t seed, Format format = Format::kNative) {
  JobShape shape;
  shape.seed = seed;
  shape.format = format;
  shape.values.datalen = kDatalen;
  shape.values.lanes = seed % 2 == 0 ? 1 : 2;
  return shape;
}

class Messages : public testing::TestWithParam<std::uint32_t> {
 protected:
  [[nodiscard]] bool run_until_complete(const Send& send, const Receive& receive) {
    return job.run_until([&] { return send.operation.complete() && receive.complete(); });
  }
  SimulatedJob job{shape_of(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(Seeds, Messages, testing::Values(0, 1, 2, 3));

void expect_received(const Receive& receive, const Send& send) {
  EXPECT_FALSE(receive.operation.result.error) << receive.operation.result.error->text;
  EXPECT_EQ(receive.operation.result.source, send.operation.source_rank);
  EXPECT_EQ(receive.operation.result.tag, send.operation.tag);
  EXPECT_EQ(receive.operation.result.wire_bytes, send.data.size());
  EXPECT_FALSE(receive.operation.result.cancelled);
  EXPECT_TRUE(receive.bytes() == send.data);
  EXPECT_FALSE(send.operation.result.error);
}

TEST_P(Messages, OfAnySizeArriveWhereTheyAreAwaited) {
  for (const std::size_t size : {0, 1, 127, 128, 999, 1000, 1001, 1999, 2000, 2001, 100000}) {
    for (const SendMode mode : {SendMode::kStandard, SendMode::kSynchronous}) {
      Receive receive(job, 1, 0, 7, size + 10);
      Send send(job, 0, 1, 7, pattern(size, static_cast<unsigned>(size)), mode);
      ASSERT_TRUE(run_until_complete(send, receive)) << size;
      expect_received(receive, send);
    }
  }
}

TEST_P(Messages, OfTheLibraryAreNotCounted) {
  for (const ContextId context : {kLibraryContext, ContextId{0}}) {
    Send send(job, 0, 1, 7, pattern(100, 1), SendMode::kStandard, context);
    Receive receive(job, 1, 0, 7, 100, context);
    ASSERT_TRUE(run_until_complete(send, receive));
    expect_received(receive, send);
  }
  const EngineCounters sent = job.engine(0).counters();
  const EngineCounters received = job.engine(1).counters();
  EXPECT_EQ(sent.messages_sent, 1U);
  EXPECT_EQ(sent.payload_bytes_sent, 100U);
  EXPECT_EQ(received.messages_received, 1U);
  EXPECT_EQ(received.payload_bytes_received, 100U);
}

TEST_P(Messages, OfAnySizeWaitForTheirReceive) {
  for (const std::size_t size : {0, 1, 999, 1000, 1001, 2000, 100000}) {
    for (const SendMode mode : {SendMode::kStandard, SendMode::kSynchronous}) {
      Send send(job, 0, 1, 7, pattern(size, static_cast<unsigned>(size)), mode);
      job.settle();
      // A short standard message is with the receiver; any other needs the match.
      EXPECT_EQ(send.operation.complete(), size <= kDatalen && mode == SendMode::kStandard) << size;
      Receive receive(job, 1, 0, 7, size + 10);
      ASSERT_TRUE(run_until_complete(send, receive)) << size;
      expect_received(receive, send);
    }
  }
}

TEST_P(Messages, FillTheirBufferExactly) {
  for (const std::size_t size : {1000, 5000}) {
    Receive receive(job, 1, kAnySource, kAnyTag, size);
    Send send(job, 0, 1, 7, pattern(size, 1));
    ASSERT_TRUE(run_until_complete(send, receive));
    expect_received(receive, send);
  }
}

TEST_P(Messages, TooLongForTheirBufferAreTruncatedAndOthersAreNot) {
  for (const std::size_t size : {500, 1000, 1500, 5000}) {
    for (const bool posted_first : {true, false}) {
      std::optional<Receive> receive;
      if (posted_first) receive.emplace(job, 1, 0, 7, 300);
      Send send(job, 0, 1, 7, pattern(size, 1));
      if (!posted_first) {
        job.settle();
        receive.emplace(job, 1, 0, 7, 300);
      }
      Receive next(job, 1, 0, 7, 10);
      Send after(job, 0, 1, 7, pattern(10, 2));
      ASSERT_TRUE(run_until_complete(send, *receive)) << size;
      ASSERT_TRUE(run_until_complete(after, next));
      ASSERT_TRUE(receive->operation.result.error);
      EXPECT_EQ(receive->operation.result.error->kind, ErrorKind::kTruncation);
      EXPECT_FALSE(send.operation.result.error);
      EXPECT_TRUE(std::equal(receive->data.begin(), receive->data.end(), send.data.begin()));
      expect_received(next, after);
    }
  }
}

TEST_P(Messages, OfOneSenderDoNotOvertake) {
  std::mt19937 random(GetParam() + 1);
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Receive>> receives;
  for (unsigned i = 0; i < 200; ++i) {
    const std::size_t size = random() % 5 == 0 ? 1000 + random() % 3000 : random() % 300;
    sends.push_back(
        std::make_unique<Send>(job, 0, 1, 7, pattern(size, i),
                               random() % 4 == 0 ? SendMode::kSynchronous : SendMode::kStandard));
    if (random() % 2 == 0) {
      receives.push_back(std::make_unique<Receive>(job, 1, random() % 2 == 0 ? 0 : kAnySource,
                                                   random() % 2 == 0 ? 7 : kAnyTag, 4000));
    }
    if (random() % 8 == 0) job.settle();
  }
  while (receives.size() < sends.size())
    receives.push_back(std::make_unique<Receive>(job, 1, kAnySource, kAnyTag, 4000));
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ASSERT_TRUE(run_until_complete(*sends[i], *receives[i])) << i;
    expect_received(*receives[i], *sends[i]);
  }
}

TEST_P(Messages, KeepToTheirContextAndTag) {
  Receive other_context(job, 1, kAnySource, kAnyTag, 10, 2);
  Receive other_tag(job, 1, kAnySource, 8, 10);
  Receive right(job, 1, kAnySource, 7, 10);
  Send send(job, 0, 1, 7, pattern(10, 1));
  ASSERT_TRUE(run_until_complete(send, right));
  expect_received(right, send);
  EXPECT_FALSE(other_context.complete());
  EXPECT_FALSE(other_tag.complete());
  Send second(job, 0, 1, 7, pattern(10, 2), SendMode::kStandard, 2);
  ASSERT_TRUE(run_until_complete(second, other_context));
  expect_received(other_context, second);
}

TEST_P(Messages, CrossOnTheirWay) {
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Receive>> receives;
  for (int i = 0; i < 20; ++i) {
    for (const int from : {0, 1}) {
      sends.push_back(std::make_unique<Send>(job, from, 1 - from, i,
                                             pattern(10000, static_cast<unsigned>(i)),
                                             SendMode::kSynchronous));
      receives.push_back(std::make_unique<Receive>(job, 1 - from, from, i, 10000));
    }
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ASSERT_TRUE(run_until_complete(*sends[i], *receives[i]));
    expect_received(*receives[i], *sends[i]);
  }
}

TEST_P(Messages, CanBeProbedAndThenReceived) {
  for (const std::size_t size : {0, 10, 5000}) {
    EXPECT_FALSE(job.engine(1).probe(0, kAnySource, kAnyTag));
    Send send(job, 0, 1, 7, pattern(size, 1));
    ASSERT_TRUE(
        job.run_until([&] { return job.engine(1).probe(0, kAnySource, kAnyTag).has_value(); }));
    const auto found = job.engine(1).probe(0, 0, 7);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, 0);
    EXPECT_EQ(found->tag, 7);
    EXPECT_EQ(found->native_bytes, size);
    EXPECT_FALSE(job.engine(1).probe(0, 0, 8));
    EXPECT_FALSE(job.engine(1).probe(2, 0, 7));
    Receive receive(job, 1, 0, 7, size);
    ASSERT_TRUE(run_until_complete(send, receive));
    expect_received(receive, send);
  }
}

TEST_P(Messages, TakenByAProbeAreNobodyElses) {
  for (const std::size_t size : {10, 5000}) {
    Send first(job, 0, 1, 7, pattern(size, 1));
    Send second(job, 0, 1, 7, pattern(size, 2));
    job.settle();
    Envelope envelope;
    auto taken = job.engine(1).match_probe(0, kAnySource, 7, envelope);
    ASSERT_NE(taken, nullptr);
    EXPECT_EQ(envelope.native_bytes, size);
    Receive of_second(job, 1, kAnySource, kAnyTag, size);
    ASSERT_TRUE(run_until_complete(second, of_second));
    expect_received(of_second, second);
    Receive of_first(0, 0, size);
    job.engine(1).start_matched(of_first.operation, std::move(taken));
    ASSERT_TRUE(run_until_complete(first, of_first));
    expect_received(of_first, first);
    EXPECT_EQ(job.engine(1).match_probe(0, kAnySource, 7, envelope), nullptr);
  }
}

TEST_P(Messages, CanBeCancelledWhileNobodyHasThem) {
  for (const std::size_t size : {10, 5000}) {
    for (const SendMode mode : {SendMode::kStandard, SendMode::kSynchronous}) {
      Send send(job, 0, 1, 7, pattern(size, 1), mode);
      job.settle();
      job.engine(0).cancel(send.operation);
      ASSERT_TRUE(job.run_until([&] { return send.operation.complete(); }));
      EXPECT_TRUE(send.operation.result.cancelled);
      EXPECT_FALSE(job.engine(1).probe(0, kAnySource, kAnyTag));
      Receive receive(job, 1, 0, 7, 5000);
      Send next(job, 0, 1, 7, pattern(20, 2));
      ASSERT_TRUE(run_until_complete(next, receive));
      expect_received(receive, next);
    }
  }
}

TEST_P(Messages, CannotBeCancelledOnceMatched) {
  for (const std::size_t size : {10, 5000}) {
    for (const SendMode mode : {SendMode::kStandard, SendMode::kSynchronous}) {
      Receive receive(job, 1, 0, 7, size);
      Send send(job, 0, 1, 7, pattern(size, 1), mode);
      // At once: the question travels behind the message, which has matched when it arrives.
      job.engine(0).cancel(send.operation);
      ASSERT_TRUE(run_until_complete(send, receive));
      EXPECT_FALSE(send.operation.result.cancelled);
      expect_received(receive, send);
      job.engine(0).cancel(send.operation);
      ASSERT_TRUE(job.run_until([&] { return send.operation.complete(); }));
      EXPECT_FALSE(send.operation.result.cancelled);
    }
  }
}

/// Whatever the race between a cancel and the match ends in, both sides agree, and nothing else is
/// disturbed.
TEST_P(Messages, AreEitherCancelledOrReceived) {
  std::mt19937 random(GetParam() + 100);
  int cancelled = 0;
  int received = 0;
  const auto poll_a_while = [&] {
    for (auto n = random() % (GetParam() == 0 ? 6 : 80); n > 0; --n)
      job.engine(static_cast<int>(random() % 2)).poll(true);
  };
  for (unsigned round = 0; round < 200; ++round) {
    Send send(job, 0, 1, 7, pattern(random() % 2 == 0 ? 10 : 3000, round),
              random() % 2 == 0 ? SendMode::kSynchronous : SendMode::kStandard);
    poll_a_while();
    std::optional<Receive> receive;
    if (random() % 2 == 0) receive.emplace(job, 1, 0, 7, 3000);
    poll_a_while();
    job.engine(0).cancel(send.operation);
    poll_a_while();
    if (!receive) receive.emplace(job, 1, 0, 7, 3000);
    ASSERT_TRUE(job.run_until([&] { return send.operation.complete(); })) << round;
    job.settle();
    ASSERT_EQ(receive->complete(), !send.operation.result.cancelled) << round;
    if (receive->complete()) {
      ++received;
      expect_received(*receive, send);
    } else {
      ++cancelled;
      job.engine(1).cancel(receive->operation);
      ASSERT_TRUE(receive->complete());
    }
  }
  EXPECT_GT(cancelled, 10);
  EXPECT_GT(received, 10);
}

TEST_P(Messages, LeaveACancelledReceiveAlone) {
  Receive cancelled(job, 1, 0, 7, 10);
  Receive kept(job, 1, 0, 7, 10);
  job.engine(1).cancel(cancelled.operation);
  ASSERT_TRUE(cancelled.complete());
  EXPECT_TRUE(cancelled.operation.result.cancelled);
  Send send(job, 0, 1, 7, pattern(10, 1));
  ASSERT_TRUE(run_until_complete(send, kept));
  expect_received(kept, send);
  job.engine(1).cancel(kept.operation);
  EXPECT_FALSE(kept.operation.result.cancelled) << "it has matched";
}

TEST_P(Messages, OfAFreedContextAreForgotten) {
  Send lost(job, 0, 1, 7, pattern(10, 1), SendMode::kStandard, 4);
  Send other(job, 0, 1, 7, pattern(10, 2), SendMode::kStandard, 6);
  job.settle();
  job.engine(1).forget_context(4);
  EXPECT_FALSE(job.engine(1).probe(4, kAnySource, kAnyTag));
  EXPECT_TRUE(job.engine(1).probe(6, kAnySource, kAnyTag));
}

TEST_P(Messages, OfAFreedContextCanBeCancelledIfTheirSendersWait) {
  Send waits(job, 0, 1, 7, pattern(10, 1), SendMode::kSynchronous, 4);
  job.settle();
  job.engine(1).forget_context(4);
  job.engine(0).cancel(waits.operation);
  job.settle();
  ASSERT_TRUE(waits.operation.complete());
  EXPECT_TRUE(waits.operation.result.cancelled);
}

/// A layout of several types with gaps, sent in each format.
class ConvertedMessages : public testing::TestWithParam<std::tuple<Format, std::uint32_t>> {};

INSTANTIATE_TEST_SUITE_P(Formats, ConvertedMessages,
                         testing::Combine(testing::Values(Format::kNative, Format::kExternal32,
                                                          Format::kWide),
                                          testing::Values(0, 1, 2)));

TEST_P(ConvertedMessages, ArriveAsTheyWere) {
  const auto [format, seed] = GetParam();
  SimulatedJob job(shape_of(seed, format));
  struct Item {
    double number;
    std::byte bytes[3];
    long count;
  };
  const TypeLayout layout({{offsetof(Item, number), BasicType::kDouble, 1},
                           {offsetof(Item, bytes), BasicType::kByte, 3},
                           {offsetof(Item, count), BasicType::kSignedLong, 1}},
                          sizeof(Item));
  for (const std::size_t count : {0, 1, 7, 1000}) {
    std::vector<Item> out(count);
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = {static_cast<double>(i) + 0.25,
                {std::byte{1}, std::byte{2}, static_cast<std::byte>(i)},
                -static_cast<long>(i)};
    }
    std::vector<Item> in(count);
    SendOperation send;
    send.destination = 1;
    send.tag = 3;
    send.buffer = {reinterpret_cast<const std::byte*>(out.data()), count, &layout};
    ReceiveOperation receive;
    receive.tag = 3;
    receive.buffer = {reinterpret_cast<std::byte*>(in.data()), count, &layout};
    job.engine(0).start(send);
    job.settle();
    const auto found = job.engine(1).probe(0, kAnySource, 3);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->native_bytes, count * (sizeof(double) + 3 + sizeof(long)));
    job.engine(1).start(receive);
    ASSERT_TRUE(job.run_until([&] { return send.complete() && receive.complete(); }));
    EXPECT_FALSE(receive.result.error);
    EXPECT_EQ(receive.result.native_bytes, count * (sizeof(double) + 3 + sizeof(long)));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(in[i].number, out[i].number);
      ASSERT_EQ(in[i].bytes[2], out[i].bytes[2]);
      ASSERT_EQ(in[i].count, out[i].count);
    }
  }
}

TEST(UnconvertibleMessages, FailAtTheirSenderAndHarmNoOther) {
  SimulatedJob job(shape_of(0, Format::kExternal32));
  for (const std::size_t count : {std::size_t{3}, std::size_t{5000}}) {
    std::vector<long> values(count, 5);
    values.back() = 1L << 40U;  // does not fit external32's four bytes
    SendOperation send;
    send.destination = 1;
    send.buffer = {reinterpret_cast<const std::byte*>(values.data()), count,
                   &TypeLayout::basic(BasicType::kSignedLong)};
    job.engine(0).start(send);
    ASSERT_TRUE(send.complete());
    ASSERT_TRUE(send.result.error);
    EXPECT_EQ(send.result.error->kind, ErrorKind::kConversion);
    Receive receive(job, 1, 0, kAnyTag, 10);
    Send next(job, 0, 1, 9, pattern(10, 1));
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
    expect_received(receive, next);
  }
  EXPECT_EQ(job.engine(0).failure(), nullptr);
}

/// The sender of a long message need not wait until its first packet has arrived whole.
TEST(LongMessages, AreAnsweredWhileTheirFirstPacketArrives) {
  const test::RawPeer peer;
  Receive receive(0, 0, 1500);
  peer.engine->start(receive.operation);
  PacketHeader header = peer.header(PacketType::kDataSync, kDatalen);
  header.msglen = 1500;
  std::vector<std::byte> first(kPacketHeaderSize + kDatalen);
  encode_packet_header(header, std::span(first).first<kPacketHeaderSize>());
  const std::span<const std::byte> bytes = first;
  peer.say_bytes(bytes.first(kPacketHeaderSize + 10));
  const auto answer = peer.hear();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, PacketType::kSyncAck);
  EXPECT_EQ(answer->srqid, header.srqid);

  peer.say_bytes(bytes.subspan(kPacketHeaderSize + 10));
  EXPECT_FALSE(peer.hear());  // once
  header.type = PacketType::kData;
  header.len = 500;
  header.drqid = answer->drqid;
  peer.say(header);
  EXPECT_EQ(peer.failure(), "");
  ASSERT_TRUE(receive.complete());
  EXPECT_EQ(receive.operation.result.wire_bytes, 1500U);
}

}  // namespace
}  // namespace impishim::wire
