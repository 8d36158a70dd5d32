// SPDX-License-Identifier: Apache-2.0
// Long messages on their way out: how many packets one call hands over, and whose.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/wire/engine/observed_channel.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kPacket = 2000;  // too long for a batch

/// One process in each of two systems; rank 0 sends by an observed channel.
class Streams : public testing::Test {
 protected:
  void join(Format format = Format::kNative) {
    test::JobShape shape;
    shape.values.datalen = kPacket;
    const JobMap job = test::make_job(shape);
    auto [left, right] = MemoryChannel::make_pair({});
    std::unique_ptr<Channel> ends[2] = {
        std::make_unique<test::ObservedChannel>(std::move(left), observed), std::move(right)};
    for (int rank = 0; rank < 2; ++rank) {
      EngineOptions options;
      options.job = job;
      options.here = rank;
      options.format_of_client.assign(2, format);
      options.host_channels.push_back({1 - rank, std::move(ends[rank])});
      engines[rank] = std::make_unique<Engine>(std::move(options));
    }
  }
  struct Message {
    std::vector<std::byte> data;
    SendOperation send;
    std::unique_ptr<test::Receive> receive;
    [[nodiscard]] bool complete() const { return send.complete() && receive->complete(); }
  };
  std::unique_ptr<Message> begin(std::int32_t tag, std::size_t packets,
                                 BasicType type = BasicType::kByte) {
    auto message = std::make_unique<Message>();
    message->data = test::pattern(packets * kPacket, static_cast<unsigned>(tag));
    message->receive = std::make_unique<test::Receive>(0, tag, message->data.size());
    const TypeLayout& layout = TypeLayout::basic(type);
    const std::uint64_t count = message->data.size() / layout.packed_size(Format::kNative);
    message->receive->operation.buffer = {message->receive->data.data(), count, &layout};
    engines[1]->start(message->receive->operation);
    message->send.destination = 1;
    message->send.tag = tag;
    message->send.buffer = {message->data.data(), count, &layout};
    engines[0]->start(message->send);
    return message;
  }
  void run(const Message& message) {
    for (int i = 0; i < 1'000'000 && !message.complete(); ++i) {
      for (auto& engine : engines) engine->poll(true);
    }
    ASSERT_TRUE(message.complete());
    EXPECT_EQ(message.receive->data, message.data);
  }

  test::Observation observed;
  std::unique_ptr<Engine> engines[2];
};

TEST_F(Streams, LeaveInLongerCallsWhileTheChannelTakesAll) {
  join();
  const auto message = begin(1, 300);
  run(*message);
  EXPECT_EQ(observed.most_pieces, 2U * 64U);
}

TEST_F(Streams, ThatHaveToBePackedFillFewBuffers) {
  join(Format::kExternal32);
  const auto message = begin(1, 300, BasicType::kInt32);
  run(*message);
  EXPECT_EQ(observed.most_pieces, 2U * 16U);
}

TEST_F(Streams, DoNotPileUpBeforeAChannelThatTakesLittle) {
  join();
  observed.room = 1500;
  const auto message = begin(1, 300);
  run(*message);
  EXPECT_EQ(observed.most_pieces, 2U * 16U);
}

TEST_F(Streams, TakeTurns) {
  join();
  observed.room = 1500;
  const auto longest = begin(1, 300);
  const auto second = begin(2, 40);
  const auto third = begin(3, 20);
  run(*third);
  EXPECT_FALSE(second->complete());
  run(*second);
  EXPECT_FALSE(longest->complete());
  run(*longest);
}

}  // namespace
}  // namespace impishim::wire
