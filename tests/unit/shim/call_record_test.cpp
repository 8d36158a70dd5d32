// SPDX-License-Identifier: Apache-2.0
#include "shim/monitor/call_record.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace impishim::shim {
namespace {

RecordedContent content_of(std::uint32_t count, std::uint64_t number) {
  RecordedContent content;
  content.function = "MPI_Recv";
  content.inside = true;
  content.since_ns = static_cast<std::int64_t>(number);
  for (std::uint32_t i = 0; i < count; ++i)
    content.add({RecordedWait::Kind::kSend, -1, -7, number, number, "MPI_Isend"});
  return content;
}

TEST(CallRecord, HasNothingAtFirst) {
  const CallRecord record;
  EXPECT_FALSE(record.read());
}

TEST(CallRecord, TellsWhatWasWritten) {
  CallRecord record;
  record.write(content_of(2, 5));
  const auto read = record.read();
  ASSERT_TRUE(read);
  EXPECT_STREQ(read->function, "MPI_Recv");
  EXPECT_TRUE(read->inside);
  EXPECT_FALSE(read->any_ends);
  ASSERT_EQ(read->count, 2U);
  EXPECT_EQ(read->waits[1].peer, -1);
  EXPECT_EQ(read->waits[1].tag, -7);
  EXPECT_EQ(read->waits[1].group, 5U);
  EXPECT_STREQ(read->waits[1].function, "MPI_Isend");
  EXPECT_EQ(read->waits[1].kind, RecordedWait::Kind::kSend);
}

TEST(CallRecord, CountsMoreThanItHolds) {
  CallRecord record;
  record.write(content_of(20, 5));
  const auto read = record.read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->count, 20U);
  EXPECT_EQ(read->listed(), RecordedContent::kMost);
}

TEST(CallRecord, KeepsTheFunctionThatWasLeft) {
  CallRecord record;
  record.write(content_of(1, 5));
  record.leave(9);
  const auto read = record.read();
  ASSERT_TRUE(read);
  EXPECT_STREQ(read->function, "MPI_Recv");
  EXPECT_FALSE(read->inside);
  EXPECT_EQ(read->since_ns, 9);
  EXPECT_EQ(read->count, 0U);
}

TEST(CallRecord, HasOneOwner) {
  CallRecord record;
  EXPECT_TRUE(record.take());
  EXPECT_FALSE(record.take());
  record.write(content_of(1, 5));
  record.release();
  EXPECT_FALSE(record.read());
  EXPECT_TRUE(record.take());
}

TEST(CallRecord, IsReadAsAWholeWhileItChanges) {
  CallRecord record;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) {
      record.write(content_of(static_cast<std::uint32_t>(i % 9), i));
      if (i % 3 == 0) record.leave(static_cast<std::int64_t>(i));
    }
  });
  int whole = 0;
  for (int i = 0; i < 20000 || whole < 100; ++i) {
    const auto read = record.read();
    if (!read) continue;
    ++whole;
    for (std::size_t k = 0; k < read->listed(); ++k) {
      EXPECT_EQ(read->waits[k].number, static_cast<std::uint64_t>(read->since_ns));
      EXPECT_EQ(read->waits[k].group, read->waits[k].number);
    }
    if (read->inside) {
      EXPECT_EQ(read->count, static_cast<std::uint64_t>(read->since_ns) % 9);
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace impishim::shim
