// SPDX-License-Identifier: Apache-2.0
// The shuffle with its threads, for all processes of a job inside this one: what ThreadSanitizer
// looks at.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/scale/simulation.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"
#include "wire/shuffle/shuffle.hpp"

namespace impishim::wire {
namespace {

using test::make_large_job;
using test::ScaleShape;
using test::ThreadedJob;

constexpr ContextId kContext = 40;

/// What one process has been given, by source.
struct Inbox {
  std::vector<std::uint32_t> next;
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> wrong{0};
};

class ThreadedShuffle : public testing::TestWithParam<ScaleShape> {
 protected:
  void start(const ShuffleOptions& options, std::chrono::microseconds pause) {
    for (WorldRank rank = 0; rank < job.job.size(); ++rank) {
      inboxes.push_back(std::make_unique<Inbox>());
      Inbox& inbox = *inboxes.back();
      inbox.next.resize(static_cast<std::size_t>(job.job.size()));
      shuffles.push_back(std::make_unique<Shuffle>(
          *job.engines[static_cast<std::size_t>(rank)], rank, kContext, options,
          [&inbox, rank, pause](const ShuffleMessage& message) {
            const bool right =
                message.destination == rank &&
                message.type == inbox.next[static_cast<std::size_t>(message.source)]++;
            if (!right) ++inbox.wrong;
            if (pause.count() > 0) std::this_thread::sleep_for(pause);
            ++inbox.messages;
          }));
    }
  }

  /// Every process's own thread sends to everybody, then flushes.
  void all_to_all(std::uint32_t messages, std::size_t size) {
    std::vector<std::thread> programs;
    for (WorldRank rank = 0; rank < job.job.size(); ++rank) {
      programs.emplace_back([this, rank, messages, size] {
        Shuffle& shuffle = *shuffles[static_cast<std::size_t>(rank)];
        for (std::uint32_t type = 0; type < messages; ++type) {
          for (WorldRank to = 0; to < job.job.size(); ++to) {
            EXPECT_TRUE(shuffle.enqueue({rank, to, type, std::vector<std::byte>(size)}).ok());
          }
        }
        EXPECT_TRUE(shuffle.flush(ShuffleQueueKind::kLocalOrigin).ok());
        EXPECT_TRUE(shuffle.flush(ShuffleQueueKind::kRemote).ok());
      });
    }
    for (std::thread& program : programs) program.join();
    for (auto& shuffle : shuffles) EXPECT_TRUE(shuffle->flush(ShuffleQueueKind::kRemote).ok());
    for (auto& shuffle : shuffles) EXPECT_TRUE(shuffle->flush(ShuffleQueueKind::kLocalRelay).ok());
    for (auto& shuffle : shuffles) EXPECT_TRUE(shuffle->flush_delivery().ok());
    const auto procs = static_cast<std::uint64_t>(job.job.size());
    for (const auto& inbox : inboxes) {
      EXPECT_EQ(inbox->messages.load(), messages * procs);
      EXPECT_EQ(inbox->wrong.load(), 0U);
    }
  }

  ThreadedJob job{make_large_job(GetParam())};
  std::vector<std::unique_ptr<Inbox>> inboxes;
  std::vector<std::unique_ptr<Shuffle>> shuffles;
};

INSTANTIATE_TEST_SUITE_P(Jobs, ThreadedShuffle,
                         testing::Values(ScaleShape{2, 2, 1}, ScaleShape{2, 2, 3},
                                         ScaleShape{2, 4, 2}));

TEST_P(ThreadedShuffle, BringsEveryMessageInOrder) {
  start(ShuffleOptions(), {});
  all_to_all(100, 24);
}

TEST_P(ThreadedShuffle, WithFullQueuesAndSlowCallbacks) {
  ShuffleOptions options;
  options.local_origin = options.local_relay = options.remote = {1, 100};
  options.local_sender_limit = options.remote_sender_limit = 1;
  options.deliverq_max = 3;
  options.deliverq_threshold = 2;
  start(options, std::chrono::microseconds(100));
  all_to_all(20, 24);
}

/// A failed job ends every wait of the shuffle.
TEST(FailedShuffle, SaysWhy) {
  JobMap map = make_large_job({2, 2, 1});
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  Descriptor peer(ends[1]);
  EngineOptions options;
  options.job = map;
  options.format_of_client.assign(2, Format::kNative);
  options.host_channels.push_back(
      {1, std::make_unique<TcpChannel>(Descriptor(ends[0]), "the other host")});
  Engine engine(std::move(options));
  ProgressThread progress(engine, [](const Error&) {});
  Shuffle shuffle(engine, 0, kContext, ShuffleOptions(), [](const ShuffleMessage&) {});
  ASSERT_TRUE(shuffle.enqueue({0, 1, 0, {}}).ok());
  peer.reset();
  const auto flushed = shuffle.flush(ShuffleQueueKind::kRemote);
  ASSERT_FALSE(flushed.ok());
  EXPECT_EQ(flushed.error().kind, ErrorKind::kConnection) << flushed.error().text;
}

}  // namespace
}  // namespace impishim::wire
