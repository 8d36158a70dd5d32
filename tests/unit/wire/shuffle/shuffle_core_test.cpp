// SPDX-License-Identifier: Apache-2.0
// The three-hop shuffle of whole jobs in one thread: every message arrives once, in order, whatever
// is slow; memory stays within the bound; lone messages do not wait, and loaded queues fill their
// batches.
#include "wire/shuffle/shuffle_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "tests/scale/simulation.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

using test::make_large_job;
using test::ScaleShape;
using testing::HasSubstr;

constexpr std::size_t kOrigin = 0;
constexpr std::size_t kRelay = 1;
constexpr std::size_t kRemote = 2;

/// All processes of a job, and what is on its way between them. Transfers of one queue keep their
/// order, all others come as the seed has it.
class Network {
 public:
  Network(const ScaleShape& shape, const ShuffleOptions& options, std::uint32_t seed)
      : job(make_large_job(shape)), random_(seed) {
    for (WorldRank rank = 0; rank < job.size(); ++rank)
      cores.push_back(std::make_unique<ShuffleCore>(job, rank, options));
    delivered.resize(cores.size());
  }

  [[nodiscard]] ShuffleCore& core(WorldRank rank) { return *cores[static_cast<std::size_t>(rank)]; }

  bool enqueue(WorldRank from, WorldRank to, std::uint32_t type, std::size_t size) {
    const ShuffleMessage message{from, to, type,
                                 std::vector<std::byte>(size, static_cast<std::byte>(type))};
    const bool taken = core(from).enqueue(message);
    collect(from);
    return taken;
  }

  /// One transfer, or one delivery at a process that is not slow. False: nothing is left to do.
  bool step() {
    std::vector<std::deque<Travelling>*> roads;
    for (auto& [key, road] : travelling_) {
      if (!road.empty()) roads.push_back(&road);
    }
    std::vector<WorldRank> due;
    for (WorldRank rank = 0; rank < job.size(); ++rank) {
      if (slow.count(rank) == 0 && core(rank).delivery_due()) due.push_back(rank);
    }
    const std::size_t choices = roads.size() + due.size();
    if (choices == 0) return false;
    const std::size_t choice = random_() % choices;
    if (choice < roads.size()) {
      travel(*roads[choice]);
    } else {
      deliver(due[choice - roads.size()]);
    }
    return true;
  }
  void run() {
    while (step()) {
    }
  }
  void flush_all() {
    for (WorldRank rank = 0; rank < job.size(); ++rank)
      static_cast<void>(core(rank).flush_delivery());
    run();
  }

  JobMap job;
  std::vector<std::unique_ptr<ShuffleCore>> cores;
  std::vector<std::vector<ShuffleMessage>> delivered;  ///< by process
  std::set<WorldRank> slow;                            ///< whose callbacks do not return
  std::vector<std::size_t> batch_sizes;

 private:
  struct Travelling {
    WorldRank from;
    WorldRank to;
    ShuffleTransfer transfer;
  };

  void collect(WorldRank from) {
    for (ShuffleTransfer& transfer : core(from).take_transfers()) {
      if (!transfer.answer) batch_sizes.push_back(transfer.batch.size());
      const auto key = std::make_tuple(from, transfer.neighbour, transfer.kind, transfer.answer);
      travelling_[key].push_back({from, transfer.neighbour, std::move(transfer)});
    }
  }
  void travel(std::deque<Travelling>& road) {
    const Travelling one = std::move(road.front());
    road.pop_front();
    const ShuffleTransfer& transfer = one.transfer;
    const auto result =
        transfer.answer
            ? core(one.to).answer_arrived(one.from, transfer.kind, transfer.number)
            : core(one.to).batch_arrived(one.from, transfer.kind, transfer.number, transfer.batch);
    ASSERT_TRUE(result.ok()) << result.error().text;
    collect(one.to);
  }
  void deliver(WorldRank rank) {
    auto message = core(rank).deliver();
    ASSERT_TRUE(message.has_value());
    delivered[static_cast<std::size_t>(rank)].push_back(std::move(*message));
    collect(rank);
  }

  std::mt19937 random_;
  std::map<std::tuple<WorldRank, WorldRank, ShuffleQueueKind, bool>, std::deque<Travelling>>
      travelling_;
};

ShuffleOptions tight() {
  ShuffleOptions options;
  options.local_origin = {2, 300};
  options.local_relay = {1, 200};
  options.remote = {2, 500};
  options.local_sender_limit = 3;
  options.remote_sender_limit = 2;
  options.deliverq_max = 5;
  options.deliverq_threshold = 2;
  return options;
}

/// Everybody's `messages` to everybody, as far as queues take them, in steps.
void all_to_all(Network& network, std::uint32_t messages, std::size_t size) {
  for (std::uint32_t k = 0; k < messages; ++k) {
    for (WorldRank from = 0; from < network.job.size(); ++from) {
      for (WorldRank to = 0; to < network.job.size(); ++to) {
        while (!network.enqueue(from, to, k, size)) {
          // Its own messages may be what is in the way of its delivery queue.
          static_cast<void>(network.core(from).flush_delivery());
          ASSERT_TRUE(network.step()) << from << " to " << to << ": nothing moves\n"
                                      << network.core(from).report();
        }
      }
    }
  }
}

void expect_all(const Network& network, std::uint32_t messages) {
  for (std::size_t to = 0; to < network.delivered.size(); ++to) {
    std::map<WorldRank, std::uint32_t> next;
    for (const ShuffleMessage& message : network.delivered[to]) {
      ASSERT_EQ(message.destination, static_cast<WorldRank>(to));
      ASSERT_EQ(message.type, next[message.source]++)
          << "in order, from " << message.source << " to " << to;
      ASSERT_TRUE(std::all_of(message.data.begin(), message.data.end(), [&](std::byte each) {
        return each == static_cast<std::byte>(message.type);
      }));
    }
    ASSERT_EQ(next.size(), network.delivered.size());
    for (const auto& [source, number] : next) EXPECT_EQ(number, messages) << source << " to " << to;
  }
}

class Shuffles : public testing::TestWithParam<std::tuple<ScaleShape, std::uint32_t>> {
 protected:
  Network make(const ShuffleOptions& options) {
    return {std::get<0>(GetParam()), options, std::get<1>(GetParam())};
  }
};

INSTANTIATE_TEST_SUITE_P(Jobs, Shuffles,
                         testing::Combine(testing::Values(ScaleShape{1, 1, 1}, ScaleShape{2, 2, 1},
                                                          ScaleShape{2, 2, 3}, ScaleShape{2, 5, 2},
                                                          ScaleShape{3, 3, 3}),
                                          testing::Values(1U, 2U)));

TEST_P(Shuffles, BringEveryMessageInOrder) {
  for (const ShuffleOptions& options : {ShuffleOptions(), tight()}) {
    auto network = make(options);
    all_to_all(network, 12, 40);
    network.run();
    network.flush_all();
    expect_all(network, 12);
    for (const auto& core : network.cores) EXPECT_TRUE(core->idle()) << core->report();
  }
}

/// A callback that blocks holds up its own messages; their senders stop in the end, and nobody
/// else's messages are lost.
TEST_P(Shuffles, StopSendersOfASlowProcess) {
  auto network = make(tight());
  const WorldRank slow = network.job.size() - 1;
  network.slow = {slow};
  std::uint32_t taken = 0;
  constexpr std::uint32_t kMany = 5000;
  for (int refusals = 0; taken < kMany && refusals < 3;) {
    if (network.enqueue(0, slow, taken, 40)) {
      ++taken;
    } else {
      ++refusals;
      network.run();
    }
  }
  EXPECT_LT(taken, 500U) << "it is pushed back";
  EXPECT_GE(taken, 5U);
  network.slow = {};
  network.run();
  network.flush_all();
  const auto& arrived = network.delivered[static_cast<std::size_t>(slow)];
  ASSERT_EQ(arrived.size(), taken);
  for (std::uint32_t k = 0; k < taken; ++k) ASSERT_EQ(arrived[k].type, k);
}

TEST_P(Shuffles, ALoneMessageLeavesAtOnce) {
  ShuffleOptions options;
  options.local_origin.buftarget = options.local_relay.buftarget = options.remote.buftarget =
      1U << 20U;
  auto network = make(options);
  const WorldRank last = network.job.size() - 1;
  ASSERT_TRUE(network.enqueue(0, last, 7, 8));
  network.run();
  ASSERT_EQ(network.delivered[static_cast<std::size_t>(last)].size(), 1U);
}

TEST(ShuffleBatches, ReachTheirTargetUnderLoad) {
  ShuffleOptions options;
  options.remote = {1, 4096};
  Network network({2, 2, 1}, options, 1);
  constexpr std::uint32_t kMessages = 2000;
  std::uint32_t sent = 0;
  while (sent < kMessages) {
    if (network.enqueue(0, 1, sent, 48)) {
      ++sent;
    } else {
      ASSERT_TRUE(network.step());
    }
  }
  network.run();
  EXPECT_EQ(network.delivered[1].size(), kMessages);
  // The first leaves alone; each further batch has the target, or is the last.
  const auto& sizes = network.batch_sizes;
  ASSERT_GT(sizes.size(), 10U);
  EXPECT_EQ(sizes.front(), 64U);
  for (std::size_t i = 1; i + 1 < sizes.size(); ++i) EXPECT_EQ(sizes[i], 4096U);
  const auto& counters = network.core(0).counters();
  EXPECT_EQ(counters.sent[kRemote], kMessages);
  EXPECT_EQ(counters.batches[kRemote], sizes.size());
}

TEST(ShuffleCounters, TellOriginRelayAndRemote) {
  Network network({2, 2, 2}, ShuffleOptions(), 1);
  ASSERT_TRUE(network.enqueue(1, 3, 0, 8));  // three hops: 1, 0, 2, 3
  network.run();
  EXPECT_EQ(network.core(1).counters().sent[kOrigin], 1U);
  EXPECT_EQ(network.core(0).counters().sent[kRemote], 1U);
  EXPECT_EQ(network.core(0).counters().received_local, 1U);
  EXPECT_EQ(network.core(2).counters().sent[kRelay], 1U);
  EXPECT_EQ(network.core(2).counters().received_remote, 1U);
  EXPECT_EQ(network.core(3).counters().received_local, 1U);
  EXPECT_EQ(network.core(3).counters().delivered, 1U);
}

TEST(ShuffleFlushes, WaitForAnswers) {
  ShuffleOptions options;
  options.remote = {4, 1U << 20U};
  Network network({2, 2, 1}, options, 1);
  ASSERT_TRUE(network.enqueue(0, 1, 0, 8));
  ASSERT_TRUE(network.enqueue(0, 1, 1, 8));  // waits for more
  EXPECT_EQ(network.batch_sizes.size(), 1U);
  const auto flush = network.core(0).flush(ShuffleQueueKind::kRemote);
  EXPECT_FALSE(ShuffleCore::done(flush));
  EXPECT_TRUE(ShuffleCore::done(network.core(0).flush(ShuffleQueueKind::kLocalRelay)))
      << "nothing there";
  ASSERT_TRUE(network.enqueue(0, 1, 2, 8));
  network.run();
  EXPECT_TRUE(ShuffleCore::done(flush));
  EXPECT_EQ(network.delivered[1].size(), 3U);
}

TEST(ShuffleFlushes, DeliverBelowTheThreshold) {
  ShuffleOptions options;
  options.deliverq_threshold = 10;
  Network network({2, 2, 1}, options, 1);
  ASSERT_TRUE(network.enqueue(0, 1, 0, 8));
  network.run();
  EXPECT_TRUE(network.delivered[1].empty());
  EXPECT_EQ(network.core(1).flush_delivery(), 1U);
  network.run();
  EXPECT_EQ(network.delivered[1].size(), 1U);
}

/// With everything slow, each process holds what the formula in shuffle_core.hpp allows, and no
/// more.
TEST(ShuffleMemory, StaysWithinItsBound) {
  const ShuffleOptions options = tight();
  constexpr std::size_t kSize = 40;
  Network network({2, 2, 3}, options, 1);
  for (WorldRank rank = 0; rank < network.job.size(); ++rank) network.slow.insert(rank);
  std::size_t accepted = 0;
  for (int round = 0; round < 50; ++round) {
    for (WorldRank from = 0; from < network.job.size(); ++from) {
      for (WorldRank to = 0; to < network.job.size(); ++to) {
        while (network.enqueue(from, to, 0, kSize)) ++accepted;
      }
    }
    network.run();
  }
  const std::size_t message = kSize + kShuffleMessageHeader;
  const auto procs = static_cast<std::size_t>(network.job.size());
  // In each process: origin and relay queues to two others, a remote one at the representative;
  // those that lead to it likewise.
  const auto bytes = [&](const ShuffleQueueOptions& queue) {
    return (queue.maxrpc + 1) * (queue.buftarget + message);
  };
  const std::size_t bound = 2 * bytes(options.local_origin) + 2 * bytes(options.local_relay) +
                            2 * bytes(options.remote) + options.deliverq_max * message;
  EXPECT_LE(accepted * message, procs * bound);
  for (WorldRank rank = 0; rank < network.job.size(); ++rank) {
    EXPECT_LE(network.core(rank).counters().held_bytes_peak, bound) << rank;
    EXPECT_GT(network.core(rank).counters().held_bytes, options.deliverq_max * message) << rank;
  }
  EXPECT_GT(accepted, procs * options.deliverq_max);
  network.slow = {};
  network.run();
  network.flush_all();
  std::size_t delivered = 0;
  for (const auto& each : network.delivered) delivered += each.size();
  EXPECT_EQ(delivered, accepted);
  for (WorldRank rank = 0; rank < network.job.size(); ++rank)
    EXPECT_EQ(network.core(rank).counters().held_bytes, 0U) << rank;
}

TEST(ShuffleLies, AreErrors) {
  Network network({2, 2, 2}, ShuffleOptions(), 1);
  ShuffleCore& core = network.core(0);
  const auto batch_of = [](const ShuffleMessage& message) {
    std::vector<std::byte> batch;
    append_message(batch, message);
    return batch;
  };
  const auto refused = [&](WorldRank neighbour, ShuffleQueueKind kind,
                           const std::vector<std::byte>& batch) {
    const auto result = core.batch_arrived(neighbour, kind, 1, batch);
    return result.ok() ? std::string() : result.error().text;
  };
  EXPECT_THAT(refused(1, ShuffleQueueKind::kLocalOrigin, batch_of({3, 0, 0, {}})),
              HasSubstr("should not have sent"));
  EXPECT_THAT(refused(1, ShuffleQueueKind::kLocalRelay, batch_of({2, 3, 0, {}})),
              HasSubstr("should not have sent"));
  EXPECT_THAT(refused(2, ShuffleQueueKind::kRemote, batch_of({2, 3, 0, {}})),
              HasSubstr("should not have sent"));
  EXPECT_THAT(refused(2, ShuffleQueueKind::kRemote, batch_of({1, 0, 0, {}})),
              HasSubstr("should not have sent"));
  EXPECT_THAT(refused(1, ShuffleQueueKind::kLocalOrigin, batch_of({1, 99, 0, {}})),
              HasSubstr("in a job of 4"));
  auto cut = batch_of({1, 0, 0, std::vector<std::byte>(5)});
  cut.pop_back();
  EXPECT_THAT(refused(1, ShuffleQueueKind::kLocalOrigin, cut), HasSubstr("ends inside"));
  EXPECT_FALSE(core.answer_arrived(1, ShuffleQueueKind::kLocalOrigin, 1).ok());
  EXPECT_EQ(refused(1, ShuffleQueueKind::kLocalOrigin, {}), "") << "an empty batch is answered";
  const auto transfers = core.take_transfers();
  ASSERT_EQ(transfers.size(), 1U);
  EXPECT_TRUE(transfers[0].answer);
}

}  // namespace
}  // namespace impishim::wire
