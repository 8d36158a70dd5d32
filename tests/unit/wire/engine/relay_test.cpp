// SPDX-License-Identifier: Apache-2.0
// Messages between any two processes of jobs with several hosts and several processes per host: one
// to three hops.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::pattern;
using test::Receive;
using test::Send;
using test::SimulatedJob;

struct Hosts {
  std::vector<std::vector<int>> procs;
  std::vector<int> gateways{};
};

class Relays : public testing::TestWithParam<std::tuple<Hosts, std::uint32_t>> {
 protected:
  static JobShape shape() {
    JobShape shape;
    shape.procs_of_hosts = std::get<0>(GetParam()).procs;
    shape.gateways = std::get<0>(GetParam()).gateways;
    shape.seed = std::get<1>(GetParam());
    shape.values.datalen = 700;
    return shape;
  }
  [[nodiscard]] bool remote(int a, int b) const {
    const auto& procs = job.job().procs();
    return procs[static_cast<std::size_t>(a)].host != procs[static_cast<std::size_t>(b)].host;
  }
  SimulatedJob job{shape()};
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, Relays,
    testing::Combine(testing::Values(Hosts{{{1}, {1}}}, Hosts{{{2}, {2}}}, Hosts{{{3, 1}, {2}}},
                                     Hosts{{{2, 2}, {2, 2}}}, Hosts{{{1}, {2, 2}, {3}}},
                                     Hosts{{{2}, {2}}, {1}}, Hosts{{{3}, {3, 2}}, {2, 1, 0}},
                                     Hosts{{{2}, {3}, {2, 2}}, {1, -1, 1, 1}}),
                     testing::Values(0, 1, 2)));

TEST_P(Relays, CarryEveryMessageToItsReceiver) {
  std::mt19937 random(5);
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Receive>> receives;
  for (int round = 0; round < 4; ++round) {
    for (int from = 0; from < job.size(); ++from) {
      for (int to = 0; to < job.size(); ++to) {
        if (!remote(from, to)) continue;
        const std::size_t size = random() % 3 == 0 ? 5000 : random() % 700;
        sends.push_back(std::make_unique<Send>(
            job, from, to, round, pattern(size, random()),
            random() % 4 == 0 ? SendMode::kSynchronous : SendMode::kStandard));
        receives.push_back(std::make_unique<Receive>(job, to, from, round, 5000));
      }
    }
  }
  for (std::size_t i = 0; i < sends.size(); ++i) {
    ASSERT_TRUE(
        job.run_until([&] { return sends[i]->operation.complete() && receives[i]->complete(); }));
    ASSERT_EQ(receives[i]->operation.result.source, sends[i]->operation.source_rank);
    ASSERT_TRUE(receives[i]->bytes() == sends[i]->data);
  }
  EXPECT_TRUE(job.close_all());
  for (int rank = 0; rank < job.size(); ++rank)
    EXPECT_EQ(job.engine(rank).failure(), nullptr) << rank;
}

/// The representatives compute: their progress threads alone relay, and match nothing of their own.
TEST_P(Relays, WorkWhileTheRelayingProcessesCompute) {
  const int last = job.size() - 1;
  job.only_these_wait({last});
  Send send(job, 0, last, 1, pattern(20000, 1));
  Receive receive(job, last, 0, 1, 20000);
  ASSERT_TRUE(job.run_until([&] { return receive.complete() && send.operation.complete(); }));
  EXPECT_TRUE(receive.bytes() == send.data);
}

TEST_P(Relays, CountThePacketsOfOthersOnly) {
  Send send(job, 0, job.size() - 1, 1, pattern(10, 1));
  Receive receive(job, job.size() - 1, 0, 1, 10);
  ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
  std::uint64_t relayed = 0;
  for (int rank = 0; rank < job.size(); ++rank)
    relayed += job.engine(rank).counters().packets_relayed;
  // A process on the way relays it, and nobody else.
  const WorldRank last = job.size() - 1;
  std::uint64_t on_the_way = 0;
  for (WorldRank at = 0; at != last;) {
    const NextHop hop = next_hop(job.job(), at, 0, last);
    at = hop.kind == NextHop::Kind::kLocal ? hop.proc
                                           : receiving_representative(job.job(), 0, hop.host);
    if (at != last) ++on_the_way;
  }
  EXPECT_LE(on_the_way, 2U);
  EXPECT_EQ(relayed, on_the_way);
}

TEST(RelayedPackets, AreCopiedOnceIfTheyAreShort) {
  JobShape shape;
  shape.procs_of_hosts = {{2}, {2}};
  SimulatedJob job(shape);
  constexpr std::uint64_t kMessages = 10;
  for (unsigned i = 0; i < kMessages; ++i) {
    Send send(job, 1, 3, 0, pattern(100, i));
    Receive receive(job, 3, 1, 0, 100);
    ASSERT_TRUE(job.run_until([&] { return receive.complete(); }));
    ASSERT_EQ(receive.bytes(), send.data);
  }
  for (const int relay : {0, 2}) {
    const EngineCounters counters = job.engine(relay).counters();
    EXPECT_EQ(counters.packets_relayed, kMessages) << relay;
    EXPECT_EQ(counters.copied.packets, kMessages) << relay;
    EXPECT_EQ(counters.copied.bytes, kMessages * 100) << relay;
  }
}

}  // namespace
}  // namespace impishim::wire
