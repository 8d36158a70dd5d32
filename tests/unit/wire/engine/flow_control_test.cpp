// SPDX-License-Identifier: Apache-2.0
// Flow control between pairs of processes (IMPI 3.7): a fast sender stops at hiwater, memory stays
// bounded while the receiver computes, and a wait that needs what is held back gets it.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <random>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/message/flow_control.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;

constexpr std::uint32_t kDatalen = 500;

struct Parameters {
  std::uint32_t seed;
  std::uint32_t ackmark;
  std::uint32_t hiwater;
  bool foreign;  ///< packets count alike
};

void PrintTo(const Parameters& parameters, std::ostream* out) {
  *out << "seed " << parameters.seed << ", marks " << parameters.ackmark << " and "
       << parameters.hiwater << (parameters.foreign ? ", foreign" : "");
}

class FlowControl : public testing::TestWithParam<Parameters> {
 protected:
  static JobShape shape() {
    JobShape shape;
    shape.procs_of_hosts = {{1, 1}, {1}};
    shape.seed = GetParam().seed;
    shape.values.datalen = kDatalen;
    shape.values.ackmark = GetParam().ackmark;
    shape.values.hiwater = GetParam().hiwater;
    if (GetParam().foreign) shape.foreign = {0, 1};
    return shape;
  }
  /// Packets of `size` bytes that may be on their way.
  [[nodiscard]] std::uint32_t most_packets(std::uint32_t size) const {
    return GetParam().foreign ? hiwater
                              : (hiwater * FlowMarks::kFullPacket + cost(size) - 1) / cost(size);
  }
  [[nodiscard]] static std::uint32_t cost(std::uint32_t size) {
    return FlowMarks::by_size(1, 1, kDatalen).cost(size);
  }

  std::uint32_t hiwater = GetParam().hiwater;
  SimulatedJob job{shape()};
};

INSTANTIATE_TEST_SUITE_P(Marks, FlowControl,
                         testing::Values(Parameters{0, 10, 20, true}, Parameters{1, 10, 20, true},
                                         Parameters{0, 1, 1, true}, Parameters{2, 1, 1, true},
                                         Parameters{3, 7, 7, true}, Parameters{0, 1, 100, true},
                                         Parameters{4, 3, 8, true}, Parameters{0, 10, 20, false},
                                         Parameters{5, 10, 20, false}, Parameters{6, 1, 1, false},
                                         Parameters{7, 3, 8, false}));

TEST(FlowMarks, ImpiCountsPackets) {
  const FlowMarks marks = FlowMarks::of_packets(10, 20);
  EXPECT_EQ(marks.ackmark(), 10U);
  EXPECT_EQ(marks.hiwater(), 20U);
  EXPECT_EQ(marks.cost(0), 1U);
  EXPECT_EQ(marks.cost(65536), 1U);
}

TEST(FlowMarks, BySizeShortPacketsWeighASixteenth) {
  const FlowMarks marks = FlowMarks::by_size(10, 20, 65536);
  EXPECT_EQ(marks.ackmark(), 160U);
  EXPECT_EQ(marks.hiwater(), 320U);
  EXPECT_EQ(marks.cost(0), 1U);
  EXPECT_EQ(marks.cost(1), 2U);
  EXPECT_EQ(marks.cost(4369), 2U);
  EXPECT_EQ(marks.cost(4370), 3U);
  EXPECT_EQ(marks.cost(65536), 16U);
  // No packet is due more than one acknowledgement.
  EXPECT_LE(FlowMarks::by_size(1, 1, 0xFFFFFFFF).cost(0xFFFFFFFF),
            FlowMarks::by_size(1, 1, 0xFFFFFFFF).ackmark());
}

TEST(FlowMarks, BothEndsAgreeWhateverTheSizes) {
  const FlowMarks marks = FlowMarks::by_size(3, 4, 1000);
  SendCredit sender;
  ReceiveCredit receiver;
  std::mt19937 random(7);
  for (int i = 0; i < 10000; ++i) {
    const auto size = static_cast<std::uint32_t>(random() % 1001);
    ASSERT_TRUE(sender.may_send(marks)) << "everything has arrived, and yet the sender stops";
    sender.packet_sent(marks, size);
    ASSERT_TRUE(receiver.packet_arrived(marks, size));
    const bool due = receiver.packet_received(marks, size);
    ASSERT_TRUE(!due || sender.acknowledged(marks));
    ASSERT_EQ(sender.outstanding(), receiver.received());
  }
}

TEST(FlowMarks, ASenderThatDoesNotStopIsFoundOut) {
  const FlowMarks marks = FlowMarks::by_size(1, 2, 1000);
  ReceiveCredit receiver;
  EXPECT_TRUE(receiver.packet_arrived(marks, 1000));
  EXPECT_TRUE(receiver.packet_arrived(marks, 900));
  EXPECT_TRUE(receiver.packet_arrived(marks, 1000));  // it was below its mark when it began
  EXPECT_FALSE(receiver.packet_arrived(marks, 0));
}

std::vector<std::unique_ptr<Send>> send_many(SimulatedJob& job, int from, int to, std::size_t count,
                                             std::size_t size) {
  std::vector<std::unique_ptr<Send>> sends;
  for (std::size_t i = 0; i < count; ++i) {
    sends.push_back(std::make_unique<Send>(job, from, to, static_cast<std::int32_t>(i),
                                           pattern(size, static_cast<unsigned>(i))));
  }
  return sends;
}

TEST_P(FlowControl, HoldsAFastSenderWhileTheReceiverComputes) {
  constexpr std::size_t kMessages = 1000;
  job.only_these_wait({0, 1});
  const auto sends = send_many(job, 0, 2, kMessages, 100);
  job.settle();
  // The receiver's progress thread takes what is allowed to be on the way, and no more.
  EXPECT_EQ(job.engine(2).counters().packets_received, most_packets(100));
  EXPECT_LE(job.engine(2).counters().unexpected_bytes_peak, std::uint64_t{hiwater} * 500);
  EXPECT_GT(job.engine(0).counters().flow_control_stalls, 0U);
  EXPECT_FALSE(sends.back()->operation.complete());
  // Another sender is not held by it.
  Send other(job, 1, 2, 5, pattern(10, 3));
  job.settle();
  EXPECT_TRUE(other.operation.complete());
  EXPECT_TRUE(job.engine(2).probe(0, 1, 5));
  for (std::size_t i = 0; i < kMessages; ++i) {
    Receive receive(job, 2, 0, static_cast<std::int32_t>(i), 100);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); })) << i;
    ASSERT_EQ(receive.bytes(), sends[i]->data);
  }
  ASSERT_TRUE(job.run_until([&] { return sends.back()->operation.complete(); }));
  // A run with a bounded receiver has kept bounded memory all along.
  EXPECT_LE(job.engine(2).counters().unexpected_bytes_peak, std::uint64_t{hiwater + 1} * 500);
}

TEST_P(FlowControl, GivesAWaitWhatIsHeldBackBehindOthers) {
  constexpr std::size_t kMessages = 300;
  const auto sends = send_many(job, 0, 2, kMessages, 20);
  Receive last(job, 2, 0, kMessages - 1, 20);
  ASSERT_TRUE(job.run_until([&] { return last.complete(); }))
      << "it waits behind messages that nobody receives";
  EXPECT_EQ(last.bytes(), sends.back()->data);
  for (std::size_t i = 0; i + 1 < kMessages; ++i) {
    Receive receive(job, 2, 0, static_cast<std::int32_t>(i), 20);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
    ASSERT_EQ(receive.bytes(), sends[i]->data);
  }
}

TEST_P(FlowControl, LetsLongAndShortMessagesThroughTogether) {
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Receive>> receives;
  for (int i = 0; i < 40; ++i) {
    const std::size_t size = i % 3 == 0 ? 40000 : 100;
    sends.push_back(std::make_unique<Send>(job, 0, 2, i, pattern(size, static_cast<unsigned>(i))));
    receives.push_back(std::make_unique<Receive>(job, 2, 0, i, size));
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ASSERT_TRUE(job.run_until([&] {
      return receives[i]->complete() && sends[i]->operation.complete();
    })) << i;
    EXPECT_TRUE(receives[i]->bytes() == sends[i]->data);
  }
}

/// Both directions full of long and synchronous messages: acknowledgements must get through.
TEST_P(FlowControl, DoesNotLockTwoSendersUp) {
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Receive>> receives;
  for (int i = 0; i < 60; ++i) {
    for (const int from : {0, 2}) {
      sends.push_back(std::make_unique<Send>(
          job, from, 2 - from, i, pattern(i % 2 == 0 ? 30000 : 300, static_cast<unsigned>(i)),
          i % 3 == 0 ? SendMode::kSynchronous : SendMode::kStandard));
    }
  }
  for (int i = 60; i-- > 0;) {
    for (const int from : {2, 0})
      receives.push_back(std::make_unique<Receive>(job, 2 - from, from, i, 30000));
  }
  ASSERT_TRUE(job.run_until([&] {
    return std::all_of(receives.begin(), receives.end(),
                       [](const auto& each) { return each->complete(); }) &&
           std::all_of(sends.begin(), sends.end(),
                       [](const auto& each) { return each->operation.complete(); });
  }));
}

/// What has a place to go to fills nothing that acknowledgements would have to bound: between
/// processes of this library a long message stops sixteen times as late. IMPI counts all packets
/// alike.
TEST_P(FlowControl, LetsTheRestOfALongMessageThrough) {
  const std::uint32_t most =
      (GetParam().hiwater - 1) * (GetParam().foreign ? 1 : FlowMarks::kFullPacket);
  const std::size_t size = std::size_t{kDatalen} * most;
  Receive receive(job, 2, 0, 0, size);
  const Send send(job, 0, 2, 0, pattern(size, 1));
  ASSERT_TRUE(job.run_until([&] { return receive.complete() && send.operation.complete(); }));
  EXPECT_EQ(receive.bytes(), send.data);
  EXPECT_EQ(job.engine(0).counters().flow_control_stalls, 0U);
  Receive longer(job, 2, 0, 1, 40 * size);
  const Send stopped(job, 0, 2, 1, pattern(40 * size, 1));
  ASSERT_TRUE(job.run_until([&] { return longer.complete() && stopped.operation.complete(); }));
  EXPECT_EQ(longer.bytes(), stopped.data);
}

TEST_P(FlowControl, CanWithdrawWhatItHolds) {
  job.only_these_wait({0, 1});
  const auto sends = send_many(job, 0, 2, 200, 20);
  job.settle();
  Send& last = *sends.back();
  ASSERT_FALSE(last.operation.complete());
  job.engine(0).cancel(last.operation);
  ASSERT_TRUE(last.operation.complete());
  EXPECT_TRUE(last.operation.result.cancelled);
  job.only_these_wait({0, 1, 2});
  for (int i = 0; i < 199; ++i) {
    Receive receive(job, 2, 0, i, 20);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
  }
  job.settle();
  EXPECT_FALSE(job.engine(2).probe(0, 0, 199));
}

/// A wait that nothing ends may need what stands behind messages that nobody has asked for. They
/// are let in at once up to 64 MiB, and beyond that each 10 ms as many as a sender may be ahead.
TEST(StarvingWaits, LetMemoryGrowSlowlyBeyondAComfort) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kMiB = 1U << 20U;
  constexpr std::size_t kPayload = 65536;
  constexpr std::size_t kComfort = 64 * kMiB;
  JobShape shape;
  shape.values.datalen = kPayload;
  shape.values.ackmark = 1;
  shape.values.hiwater = 2;
  SimulatedJob job(shape);
  const auto flood = send_many(job, 0, 1, (kComfort + 4 * kMiB) / kPayload, kPayload);
  const Send last(job, 0, 1, 5000, pattern(10, 1));
  const auto begun = Clock::now();
  Receive awaited(job, 1, 0, 5000, 10);
  while (!awaited.complete() && Clock::now() - begun < std::chrono::seconds(60)) {
    static_cast<void>(job.run_until([&] { return awaited.complete(); }));
    const auto pauses =
        static_cast<std::uint64_t>((Clock::now() - begun) / std::chrono::milliseconds(10));
    ASSERT_LE(job.engine(1).counters().unexpected_bytes_peak,
              kComfort + (pauses + 2) * shape.values.hiwater * kPayload);
  }
  EXPECT_TRUE(awaited.complete());
  EXPECT_GT(job.engine(1).counters().unexpected_bytes_peak, kComfort);
  EXPECT_EQ(awaited.bytes(), last.data);
  EXPECT_TRUE(flood.back()->operation.complete());
}

}  // namespace
}  // namespace impishim::wire
