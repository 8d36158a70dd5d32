// SPDX-License-Identifier: Apache-2.0
// Messages without an operation: they arrive as those with one do, in order among them, or nothing
// at all has been done.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

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
  shape.procs_of_hosts = {{2}, {2}};
  shape.seed = seed;
  shape.format = format;
  shape.values.datalen = kDatalen;
  return shape;
}

/// Its bytes are gone when it returns.
bool send_short(SimulatedJob& job, int from, int to, std::int32_t tag, std::size_t size) {
  const std::vector<std::byte> bytes = pattern(size, static_cast<unsigned>(tag));
  return job.engine(from).send_short({to, 0, from, tag, bytes});
}

void expect_received(const Receive& receive, int from, std::int32_t tag, std::size_t size) {
  EXPECT_FALSE(receive.operation.result.error);
  EXPECT_EQ(receive.operation.result.source, from);
  EXPECT_EQ(receive.operation.result.tag, tag);
  EXPECT_EQ(receive.operation.result.wire_bytes, size);
  EXPECT_EQ(receive.operation.result.native_bytes, size);
  EXPECT_TRUE(receive.bytes() == pattern(size, static_cast<unsigned>(tag)));
}

/// From rank 0 to rank 2, their hosts' representatives, and from 1 to 3 through them; channels that
/// tear, and one that does not.
class ShortMessages : public testing::TestWithParam<std::tuple<std::uint32_t, int>> {
 protected:
  int from = std::get<1>(GetParam());
  int to = from + 2;
  SimulatedJob job{shape_of(std::get<0>(GetParam()))};
};

INSTANTIATE_TEST_SUITE_P(SeedsAndSenders, ShortMessages,
                         testing::Combine(testing::Values(0, 1, 2), testing::Values(0, 1)));

TEST_P(ShortMessages, ArriveWhereTheyAreAwaited) {
  for (const std::size_t size : {0, 1, 8, 872, 1000}) {
    Receive receive(job, to, from, 7, size + 10);
    ASSERT_TRUE(send_short(job, from, to, 7, size)) << size;
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); })) << size;
    expect_received(receive, from, 7, size);
  }
}

TEST_P(ShortMessages, WaitForTheirReceive) {
  for (const std::size_t size : {0, 1, 8, 872, 1000}) {
    ASSERT_TRUE(send_short(job, from, to, 7, size)) << size;
    job.settle();
    Receive receive(job, to, kAnySource, kAnyTag, size);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); })) << size;
    expect_received(receive, from, 7, size);
  }
}

TEST_P(ShortMessages, TooLongForTheirBufferAreTruncated) {
  Receive receive(job, to, from, 7, 10);
  Receive next(job, to, from, 8, 10);
  ASSERT_TRUE(send_short(job, from, to, 7, 11));
  ASSERT_TRUE(send_short(job, from, to, 8, 10));
  ASSERT_TRUE(job.run_until([&] { return receive.complete() && next.complete(); }));
  ASSERT_TRUE(receive.operation.result.error);
  EXPECT_EQ(receive.operation.result.error->kind, ErrorKind::kTruncation);
  expect_received(next, from, 8, 10);
}

TEST_P(ShortMessages, DoNotOvertakeThoseWithAnOperation) {
  std::mt19937 random(std::get<0>(GetParam()) + 1);
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::size_t> sizes;
  for (std::int32_t tag = 0; tag < 200; ++tag) {
    sizes.push_back(random() % 5 == 0 ? 1001 + random() % 2000 : random() % 300);
    if (random() % 2 == 0 && send_short(job, from, to, tag, sizes.back())) continue;
    sends.push_back(std::make_unique<Send>(job, from, to, tag,
                                           pattern(sizes.back(), static_cast<unsigned>(tag))));
    if (random() % 8 == 0) job.settle();
  }
  ASSERT_LT(sends.size(), 180U);
  for (std::int32_t tag = 0; tag < 200; ++tag) {
    const std::size_t size = sizes[static_cast<std::size_t>(tag)];
    Receive receive(job, to, kAnySource, kAnyTag, size);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); })) << tag;
    expect_received(receive, from, tag, size);
  }
}

TEST_P(ShortMessages, AreRefusedUntilThereIsCredit) {
  std::int32_t sent = 0;
  while (send_short(job, from, to, sent, 8)) {
    ++sent;
    ASSERT_LT(sent, 100000) << "flow control has to stop it";
  }
  EXPECT_GT(sent, 1);
  EXPECT_EQ(job.engine(from).counters().messages_sent, static_cast<std::uint64_t>(sent));
  for (std::int32_t tag = 0; tag < sent; ++tag) {
    Receive receive(job, to, from, kAnyTag, 8);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); })) << tag;
    expect_received(receive, from, tag, 8);
  }
  job.settle();
  EXPECT_TRUE(send_short(job, from, to, sent, 8));
}

TEST_P(ShortMessages, AreRefusedBehindOneThatWaitsForCredit) {
  std::int32_t sent = 0;
  while (send_short(job, from, to, sent, 8)) ++sent;
  Send held(job, from, to, sent, pattern(8, static_cast<unsigned>(sent)));
  EXPECT_FALSE(held.operation.complete());
  EXPECT_FALSE(send_short(job, from, to, sent + 1, 8));
  for (std::int32_t tag = 0; tag <= sent; ++tag) {
    Receive receive(job, to, from, kAnyTag, 8);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); })) << tag;
    expect_received(receive, from, tag, 8);
  }
}

TEST_P(ShortMessages, AreRefusedWhenTheyAreNotShort) {
  EXPECT_FALSE(send_short(job, from, to, 7, kDatalen + 1));
  EXPECT_FALSE(send_short(job, from, to, 7, Engine::kLongestShort + 1));
  EXPECT_EQ(job.engine(from).counters().messages_sent, 0U);
}

TEST_P(ShortMessages, AreRefusedWhenTheReceiverHasAnotherRepresentation) {
  SimulatedJob other(shape_of(0, Format::kExternal32));
  EXPECT_FALSE(send_short(other, from, to, 7, 8));
  EXPECT_EQ(other.engine(from).counters().messages_sent, 0U);
}

TEST_P(ShortMessages, AreRefusedAfterAFailure) {
  job.kill(from == 0 ? 2 : 0);
  ASSERT_TRUE(job.run_until([&] { return job.engine(from).failure() != nullptr; }));
  EXPECT_FALSE(send_short(job, from, to, 7, 8));
}

}  // namespace
}  // namespace impishim::wire
