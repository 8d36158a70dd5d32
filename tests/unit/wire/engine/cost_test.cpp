// SPDX-License-Identifier: Apache-2.0
// What a message costs in this process, short and long: copies of its payload, allocations, system
// calls. docs/performance.md has the figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"

namespace {
std::size_t allocations = 0;
}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): what everything else
// allocates by
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)

namespace impishim::wire {
namespace {

using test::JobShape;
using test::make_job;
using test::pattern;
using test::socket_channels;

struct Costs {
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;
  std::size_t allocations = 0;
};

/// One process in each of two systems, joined by sockets, driven by the test alone.
class Cost : public testing::Test {
 protected:
  Cost() {
    const JobMap job = make_job(JobShape{});
    auto [left, right] = socket_channels();
    for (const WorldRank rank : {0, 1}) {
      EngineOptions options;
      options.job = job;
      options.here = rank;
      options.format_of_client.assign(2, Format::kNative);
      options.host_channels.push_back({1 - rank, std::move(rank == 0 ? left : right)});
      engines.push_back(std::make_unique<Engine>(std::move(options)));
    }
  }

  void poll() {
    for (auto& engine : engines) static_cast<void>(engine->poll(true));
  }
  void post(ReceiveOperation& receive, std::vector<std::byte>& room) {
    receive.source = 0;
    receive.buffer = {room.data(), room.size(), &TypeLayout::basic(BasicType::kByte)};
    engines[1]->start(receive);
  }
  void begin(SendOperation& send, const std::vector<std::byte>& data) {
    send.destination = 1;
    send.buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
    engines[0]->start(send);
  }
  /// Messages one after the other, each received before the next is sent.
  void exchange(std::size_t size, int messages, bool posted_first) {
    const auto data = pattern(size, 1);
    std::vector<std::byte> room(size);
    SendOperation send;
    ReceiveOperation receive;
    for (int i = 0; i < messages; ++i) {
      if (posted_first) post(receive, room);
      begin(send, data);
      if (!posted_first) {
        while (!engines[1]->probe(0, 0, kAnyTag)) poll();
        post(receive, room);
      }
      while (!send.complete() || !receive.complete()) poll();
    }
    EXPECT_EQ(room, data);
  }
  /// Bursts of messages that leave in batches.
  void bursts(int number) {
    constexpr std::size_t kBurst = 64;
    const auto data = pattern(8, 1);
    std::vector<std::byte> room(8);
    std::vector<SendOperation> sends(kBurst);
    std::vector<ReceiveOperation> receives(kBurst);
    for (int i = 0; i < number; ++i) {
      for (auto& each : receives) post(each, room);
      for (auto& each : sends) begin(each, data);
      while (!receives.back().complete()) poll();
    }
  }

  [[nodiscard]] Costs now(int rank) const {
    const EngineCounters counters = engines[static_cast<std::size_t>(rank)]->counters();
    return {counters.copied.packets, counters.copied.bytes, counters.send_calls,
            counters.receive_calls, allocations};
  }
  /// Of `run`, after the same has been done once. Calls that found nothing to receive are the
  /// test's polling.
  template <class Run>
  void measure(const Run& run) {
    run();
    const Costs sender_before = now(0);
    const Costs receiver_before = now(1);
    const std::size_t allocations_before = allocations;
    run();
    const std::size_t allocated = allocations - allocations_before;
    sender = difference(now(0), sender_before);
    receiver = difference(now(1), receiver_before);
    sender.allocations = receiver.allocations = allocated;
  }
  static Costs difference(const Costs& after, const Costs& before) {
    return {after.copies - before.copies, after.copied_bytes - before.copied_bytes,
            after.send_calls - before.send_calls, after.receive_calls - before.receive_calls, 0};
  }

  std::vector<std::unique_ptr<Engine>> engines;
  Costs sender;
  Costs receiver;
};

constexpr int kMessages = 640;
constexpr std::uint64_t kAcks = kMessages / 80;  // by default one for 80 messages of 8 bytes

TEST_F(Cost, AShortMessageThatIsAwaited) {
  std::size_t inside = 0;
  measure([&] {
    const auto data = pattern(8, 1);
    std::vector<std::byte> room(8);
    SendOperation send;
    ReceiveOperation receive;
    const std::size_t before = allocations;
    for (int i = 0; i < kMessages; ++i) {
      post(receive, room);
      begin(send, data);
      while (!receive.complete()) poll();
    }
    inside = allocations - before;
  });
  EXPECT_EQ(inside, 0U);
  EXPECT_EQ(sender.copies, kMessages);    // behind its header
  EXPECT_EQ(receiver.copies, kMessages);  // from the staging area to its place
  EXPECT_EQ(sender.send_calls, kMessages);
  EXPECT_LE(receiver.send_calls, kAcks);
}

TEST_F(Cost, AShortMessageThatIsNotAwaitedYet) {
  measure([&] { exchange(8, kMessages, false); });
  EXPECT_EQ(sender.copies, kMessages);
  EXPECT_EQ(receiver.copies, 2 * kMessages);  // to a buffer first
  EXPECT_EQ(sender.send_calls, kMessages);
  EXPECT_LE(sender.allocations, 10U);  // the test's own
}

TEST_F(Cost, ShortMessagesInQuickSuccession) {
  constexpr int kBursts = 20;
  measure([&] { bursts(kBursts); });
  EXPECT_EQ(sender.copies, 64U * kBursts);
  EXPECT_EQ(receiver.copies, 64U * kBursts);
  // The first alone, then all others, since the burst before was long, too; what waits for an
  // acknowledgement by itself.
  constexpr std::uint64_t kAwaited = 64U * kBursts / 160;
  EXPECT_LE(sender.send_calls, 2U * kBursts + kAwaited);
  EXPECT_LE(sender.allocations, 10U);  // the test's own
}

TEST_F(Cost, ALongMessageIsNotCopied) {
  constexpr std::size_t kSize = 8U << 20U;
  constexpr int kLong = 4;
  measure([&] { exchange(kSize, kLong, true); });
  EXPECT_EQ(sender.copies, 0U);
  EXPECT_EQ(receiver.copies, 0U);
}

TEST_F(Cost, ALongMessageAfterShortOnesIsCopiedWhereItCameWithItsFirstHeader) {
  exchange(8, 10, true);
  const Costs before = now(1);
  exchange(1U << 20U, 1, true);
  EXPECT_EQ(now(0).copied_bytes, 10U * 8U);
  EXPECT_LE(now(1).copied_bytes - before.copied_bytes, 32768U);
}

TEST_F(Cost, ShortMessagesBehindAFullChannelCostNoCallsOfTheirOwn) {
  constexpr std::size_t kLong = 100000;
  constexpr int kFilling =
      16;  // first packets of more bytes than a socket takes, fewer than flow control lets out
  const auto filling = pattern(kLong, 1);
  const auto data = pattern(8, 2);
  std::vector<SendOperation> sends(kFilling);
  for (auto& each : sends) begin(each, filling);
  ASSERT_FALSE(engines[0]->idle());
  const std::uint64_t calls = now(0).send_calls;
  ASSERT_LT(calls, kFilling) << "the channel is not full";
  SendOperation late;
  for (int i = 0; i < 3; ++i) begin(late, data);
  EXPECT_EQ(now(0).send_calls, calls);

  std::vector<std::byte> room(kLong);
  std::vector<ReceiveOperation> receives(kFilling + 3);
  for (auto& each : receives) {
    post(each, room);
    while (!each.complete()) poll();
  }
  EXPECT_TRUE(std::equal(data.begin(), data.end(), room.begin()));
}

}  // namespace
}  // namespace impishim::wire
