// When an engine watches its descriptors, what it sleeps through, and what wakes it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <thread>

#include "tests/engine/simulated_job.hpp"
#include "tests/engine/threaded_job.hpp"

namespace impishim::wire {
namespace {

/// A socket that counts how often somebody asks for what it is to be watched, and may have a descriptor that nobody can watch.
class ObservedChannel final : public Channel {
 public:
  ObservedChannel(std::unique_ptr<Channel> channel, int& asked, bool watchable)
      : channel_(std::move(channel)), asked_(asked), file_(watchable ? -1 : memfd_create("unwatchable", MFD_CLOEXEC)) {}
  Result<std::size_t> try_send(std::span<const iovec> pieces) override { return channel_->try_send(pieces); }
  Result<std::size_t> try_receive(std::span<const iovec> pieces) override { return channel_->try_receive(pieces); }
  int descriptor() const override { return file_.get() < 0 ? channel_->descriptor() : file_.get(); }
  std::uint32_t epoll_events() const override {
    ++asked_;
    return channel_->epoll_events();
  }
  bool set_want_output(bool want) override { return channel_->set_want_output(want); }
  bool prepare_to_sleep() override { return channel_->prepare_to_sleep(); }
  void end_sleep() override { channel_->end_sleep(); }
  void shutdown_output() override { channel_->shutdown_output(); }
  std::string peer_name() const override { return "observed"; }

 private:
  std::unique_ptr<Channel> channel_;
  int& asked_;
  Descriptor file_;
};

/// Two hosts with one process each, and no progress threads; rank 1's channel is observed.
class Sleeping : public testing::Test {
 protected:
  void join(bool watchable = true) {
    const JobMap job = test::make_job({});
    auto [left, right] = test::socket_channels();
    std::unique_ptr<Channel> ends[2] = {std::move(left), std::make_unique<ObservedChannel>(std::move(right), asked, watchable)};
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

  int asked = 0;
  std::vector<std::byte> data = test::pattern(8, 1);
  std::unique_ptr<test::Receive> receive;
  std::unique_ptr<SendOperation> operation;
  std::unique_ptr<Engine> engines[2];
};

TEST_F(Sleeping, WatchesFromTheFirstSleepOn) {
  join();
  EXPECT_EQ(asked, 0);
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  EXPECT_EQ(asked, 1);
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  EXPECT_EQ(asked, 1);
  engines[1]->stop_watching();
  engines[1]->wait_for_event(std::chrono::microseconds(0));
  EXPECT_EQ(asked, 2);
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
  EXPECT_NE(engines[1]->failure()->text.find("epoll"), std::string::npos) << engines[1]->failure()->text;
}

}  // namespace
}  // namespace impishim::wire
