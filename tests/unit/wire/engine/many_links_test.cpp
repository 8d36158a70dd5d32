// SPDX-License-Identifier: Apache-2.0
// A process with connections to many hosts: one question to the kernel tells which of them are to
// be read.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/wire/engine/observed_channel.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"

namespace impishim::wire {
namespace {

/// Rank 0 alone in its system, and a system of hosts with one process each; sockets between, and no
/// progress threads.
class ManyLinks : public testing::Test {
 protected:
  void join(int hosts) {
    test::JobShape shape;
    shape.procs_of_hosts = {{1}, std::vector<int>(static_cast<std::size_t>(hosts), 1)};
    const JobMap job = test::make_job(shape);
    std::vector<HostChannel> of_first;
    for (int host = 1; host <= hosts; ++host) {
      auto [near, far] = test::socket_channels();
      of_first.push_back(
          {host, std::make_unique<test::ObservedChannel>(std::move(near), observed)});
      std::vector<HostChannel> one;
      one.push_back({0, std::move(far)});
      others.push_back(make_engine(job, host, std::move(one)));
    }
    first = make_engine(job, 0, std::move(of_first));
    first->poll(true);
  }
  static std::unique_ptr<Engine> make_engine(const JobMap& job, int rank,
                                             std::vector<HostChannel> channels) {
    EngineOptions options;
    options.job = job;
    options.here = rank;
    options.format_of_client.assign(2, Format::kNative);
    options.host_channels = std::move(channels);
    return std::make_unique<Engine>(std::move(options));
  }
  /// From the process of host `host`.
  void send(int host) {
    SendOperation operation;
    operation.destination = 0;
    operation.source_rank = host;
    operation.tag = 7;
    operation.buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
    others[static_cast<std::size_t>(host) - 1]->start(operation);
    others[static_cast<std::size_t>(host) - 1]->poll(false);
    ASSERT_TRUE(operation.complete());
  }
  [[nodiscard]] std::uint64_t reads() { return first->counters().receive_calls; }

  std::vector<std::byte> data = test::pattern(8, 1);
  test::Observation observed;  ///< of all channels of rank 0
  std::vector<std::unique_ptr<Engine>> others;
  std::unique_ptr<Engine> first;
};

constexpr int kPolls = 10;

TEST_F(ManyLinks, FewAreReadToSee) {
  join(2);
  const std::uint64_t before = reads();
  for (int i = 0; i < kPolls; ++i) first->poll(true);
  EXPECT_EQ(reads() - before, 2 * kPolls);
}

TEST_F(ManyLinks, ThoseThatAreSilentAreNotRead) {
  join(9);
  const std::uint64_t before = reads();
  for (int i = 0; i < kPolls; ++i) first->poll(true);
  EXPECT_EQ(reads(), before);
}

TEST_F(ManyLinks, EachThatHasSomethingIsRead) {
  join(100);  // more than one question is told of
  std::vector<std::unique_ptr<test::Receive>> receives;
  for (int host = 1; host <= 100; ++host) {
    receives.push_back(std::make_unique<test::Receive>(host, 7, data.size()));
    first->start(receives.back()->operation);
    send(host);
  }
  const std::uint64_t before = reads();
  for (int i = 0; i < kPolls; ++i) first->poll(true);
  EXPECT_EQ(reads() - before, 100);
  for (const auto& receive : receives) {
    ASSERT_TRUE(receive->complete());
    EXPECT_EQ(receive->bytes(), data);
  }
}

TEST_F(ManyLinks, AreWatchedThoughTheApplicationDrives) {
  join(9);
  test::Receive receive(5, 7, data.size());
  first->start(receive.operation);
  const int asked = observed.asked;
  first->stop_watching();
  send(5);
  first->poll(true);
  EXPECT_TRUE(receive.complete());
  EXPECT_EQ(observed.asked, asked) << "they were watched anew";
}

TEST_F(ManyLinks, TheEndOfOneIsFound) {
  join(9);
  others[4].reset();
  first->poll(true);
  ASSERT_NE(first->failure(), nullptr);
}

TEST_F(ManyLinks, APollLeavesWakingToWhoSleeps) {
  join(9);
  first->wake();
  first->poll(true);
  first->wait_for_event(Engine::kForever);  // comes back
}

TEST_F(ManyLinks, WhatAPollHasNotReadEndsASleep) {
  join(9);
  test::Receive receive(5, 7, data.size());
  first->start(receive.operation);
  send(5);
  first->wait_for_event(Engine::kForever);
  first->poll(false);
  EXPECT_TRUE(receive.complete());
}

}  // namespace
}  // namespace impishim::wire
