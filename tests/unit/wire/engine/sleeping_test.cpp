// SPDX-License-Identifier: Apache-2.0
// When an engine watches its descriptors, what it sleeps through, and what wakes it.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/unit/wire/engine/observed_channel.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"
#include "tests/unit/wire/engine/threaded_job.hpp"

namespace impishim::wire {
namespace {

/// Two hosts with one process each, and no progress threads; rank 1's channel is observed.
class Sleeping : public testing::Test {
 protected:
  void join(bool watchable = true) {
    observed.watchable = watchable;
    const JobMap job = test::make_job({});
    auto [left, right] = test::socket_channels();
    std::unique_ptr<Channel> ends[2] = {
        std::move(left), std::make_unique<test::ObservedChannel>(std::move(right), observed)};
    for (int rank = 0; rank < 2; ++rank) {
      EngineOptions options;
      options.job = job;
      options.here = rank;
      options.format_of_client.assign(2, Format::kNative);
      options.host_channels.push_back({1 - rank, std::move(ends[rank])});
      engines[rank] = std::make_unique<Engine>(std::move(options));
    }
  }
  /// Rank 1 posts a receive; rank 0 sends to it.
  void post() {
    receive = std::make_unique<test::Receive>(0, 7, data.size());
    engines[1]->start(receive->operation);
  }
  void send() {
    operation = std::make_unique<SendOperation>();
    operation->destination = 1;
    operation->source_rank = 0;
    operation->tag = 7;
    operation->buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
    engines[0]->start(*operation);
    engines[0]->poll(false);
  }
  bool received() {
    engines[1]->poll(true);
    return receive->complete() && receive->bytes() == data;
  }

  test::Observation observed;
  std::vector<std::byte> data = test::pattern(8, 1);
  std::unique_ptr<test::Receive> receive;
  std::unique_ptr<SendOperation> operation;
  std::unique_ptr<Engine> engines[2];
};

TEST_F(Sleeping, WatchesFromTheFirstSleepOn) {
  join();
  EXPECT_EQ(observed.asked, 0);
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  EXPECT_EQ(observed.asked, 1);
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  EXPECT_EQ(observed.asked, 1);
  engines[1]->stop_watching();
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  EXPECT_EQ(observed.asked, 2);
}

TEST_F(Sleeping, WhatArrivesUnwatchedEndsTheNextSleep) {
  join();
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  engines[1]->stop_watching();
  post();
  send();
  engines[1]->wait_for_event(Engine::kForever);
  EXPECT_TRUE(received());
}

TEST_F(Sleeping, WhatArrivesLaterEndsTheSleep) {
  join();
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  engines[1]->stop_watching();
  post();
  std::thread sleeper([this] {
    while (!received()) engines[1]->wait_for_event(Engine::kForever);
  });
  // Somebody sleeps, or is about to: that stays watched.
  for (int k = 0; k < 1000; ++k) engines[1]->stop_watching();
  send();
  sleeper.join();
}

TEST_F(Sleeping, WhatCannotBeWatchedIsAFailureThatNobodySleepsThrough) {
  join(false);
  engines[1]->wait_for_event(Engine::kForever);
  ASSERT_NE(engines[1]->failure(), nullptr);
  EXPECT_NE(engines[1]->failure()->text.find("epoll"), std::string::npos)
      << engines[1]->failure()->text;
}

}  // namespace
}  // namespace impishim::wire
