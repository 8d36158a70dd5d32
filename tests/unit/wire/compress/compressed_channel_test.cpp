// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/compressed_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "tests/unit/wire/compress/compress_support.hpp"
#include "tests/unit/wire/resume/scripted_channel.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/memory_channel.hpp"
#include "wire/compress/piece.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::ScriptedChannel;
using testing::HasSubstr;

using Ends = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;

Ends ends_of(const MemoryChannelOptions& options) {
  auto [left, right] = MemoryChannel::make_pair(options);
  return {CompressedChannel::make(std::move(left)).value(),
          CompressedChannel::make(std::move(right)).value()};
}

/// Cuts memory into pieces of random sizes, some of them empty.
std::vector<iovec> cut(std::span<std::byte> memory, std::mt19937& random, std::size_t most) {
  std::vector<iovec> pieces;
  while (!memory.empty()) {
    const std::size_t size = std::min<std::size_t>(random() % (most + 1), memory.size());
    pieces.push_back({memory.data(), size});
    memory = memory.subspan(size);
  }
  return pieces;
}

/// Sends all of `bytes` from the left to the right in calls of random sizes, and returns what came.
Bytes carried(Ends& ends, Bytes bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes all;
  Bytes memory(200000);
  for (std::size_t sent = 0, turns = 0; all.size() < bytes.size() && turns < 1000000; ++turns) {
    auto rest = std::span(bytes).subspan(sent);
    const std::size_t most = 1 + random() % (random() % 4 == 0 ? 150000 : 2000);
    const auto out = cut(rest.first(std::min(rest.size(), most)), random, 3000);
    auto taken = ends.first->try_send(out);
    EXPECT_TRUE(taken.ok());
    sent += *taken;
    const auto in = cut(std::span(memory).first(1 + random() % memory.size()), random, 50000);
    auto got = ends.second->try_receive(in);
    EXPECT_TRUE(got.ok()) << got.error().text;
    if (!got) return all;
    test::append(all, std::span(memory).first(*got));
    EXPECT_TRUE(ends.first->try_receive(in).ok());  // it sends what waits
  }
  return all;
}

/// Smooth and random bytes in turns, so that pieces of all kinds come.
Bytes mixed_bytes(std::size_t parts) {
  Bytes bytes;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto seed = static_cast<std::uint32_t>(i);
    test::append(bytes,
                 i % 3 == 0 ? test::random_bytes(30000, seed) : test::smooth_bytes(100000, seed));
  }
  return bytes;
}

TEST(CompressedChannel, CarriesAllBytesInOrder) {
  for (const std::uint32_t seed : {0U, 1U, 2U, 3U}) {
    for (const std::size_t capacity : {std::size_t{1000}, std::size_t{1} << 20U}) {
      MemoryChannelOptions options;
      options.capacity = capacity;
      options.seed = seed;
      Ends ends = ends_of(options);
      const Bytes bytes = mixed_bytes(6);
      ASSERT_EQ(carried(ends, bytes, seed), bytes) << seed << " " << capacity;
    }
  }
}

/// One end, whose other channel is in the test's hands.
struct OneEnd {
  ScriptedChannel* under = nullptr;
  std::unique_ptr<Channel> channel;

  OneEnd() {
    auto made = std::make_unique<ScriptedChannel>();
    under = made.get();
    channel = CompressedChannel::make(std::move(made)).value();
  }
  ~OneEnd() { under->most_sent = ScriptedChannel::kAll; }
  OneEnd(const OneEnd&) = delete;
  OneEnd& operator=(const OneEnd&) = delete;

  std::size_t send(Bytes& bytes, std::size_t from = 0) {
    const iovec piece{bytes.data() + from, bytes.size() - from};
    return channel->try_send(std::span(&piece, 1)).value();
  }
};

TEST(CompressedChannel, LeavesAnIdleRoadAlone) {
  OneEnd end;
  Bytes bytes = test::smooth_bytes(200000);
  EXPECT_EQ(end.send(bytes), bytes.size());
  // Four pieces.
  EXPECT_EQ(end.under->output.size(), bytes.size() + 4 * Piece::kHeaderSize);
}

TEST(CompressedChannel, CompressesWhenTheConnectionIsFull) {
  OneEnd end;
  Bytes bytes = test::smooth_bytes(1U << 20U);
  end.under->most_sent = 0;
  EXPECT_EQ(end.send(bytes), 0U);
  const std::size_t waiting = end.send(bytes);
  EXPECT_GT(waiting, 0U);
  EXPECT_LT(waiting, bytes.size());  // back-pressure
  EXPECT_EQ(end.send(bytes, waiting), 0U);
  EXPECT_TRUE(end.under->wants_output);
  end.under->most_sent = ScriptedChannel::kAll;
  for (std::size_t sent = waiting; sent < bytes.size();) sent += end.send(bytes, sent);
  EXPECT_LT(end.under->output.size(), bytes.size() * 6 / 10);
  EXPECT_FALSE(end.under->wants_output);
  // The other end reads it.
  OneEnd other;
  other.under->input = end.under->output;
  Bytes memory(bytes.size());
  std::size_t got = 0;
  while (got < memory.size()) {
    const iovec piece{memory.data() + got, memory.size() - got};
    const auto more = other.channel->try_receive(std::span(&piece, 1)).value();
    ASSERT_GT(more, 0U);
    got += more;
  }
  EXPECT_EQ(memory, bytes);
}

TEST(CompressedChannel, LeavesBytesPlainThatDoNotShrink) {
  OneEnd end;
  Bytes bytes = test::random_bytes(4U << 20U);
  end.under->most_sent = 0;
  EXPECT_EQ(end.send(bytes), 0U);
  end.under->most_sent = ScriptedChannel::kAll;
  std::size_t sent = 0;
  while (sent < bytes.size()) sent += end.send(bytes, sent);
  const std::size_t pieces = bytes.size() / Piece::kMostPlain;
  EXPECT_EQ(end.under->output.size(), bytes.size() + pieces * Piece::kHeaderSize);
}

TEST(CompressedChannel, FinishesAPieceThatItHasBegun) {
  OneEnd end;
  Bytes bytes = test::random_bytes(1000);
  end.under->most_sent = 3;  // of the header
  EXPECT_EQ(end.send(bytes), bytes.size());
  ASSERT_EQ(end.under->output.size(), Piece::kHeaderSize + bytes.size());
  EXPECT_TRUE(std::ranges::equal(std::span(end.under->output).last(bytes.size()), bytes));
  EXPECT_FALSE(end.under->wants_output);
}

TEST(CompressedChannel, IsReadyWhileInputIsLeftInIt) {
  OneEnd end;
  test::append_plain(end.under->input, test::random_bytes(100));
  std::byte one{};
  const iovec piece{&one, 1};
  const auto ready = [&] {
    pollfd polled{end.channel->descriptor(), POLLIN, 0};
    return poll(&polled, 1, 0) == 1;
  };
  for (int i = 0; i < 99; ++i) {
    ASSERT_EQ(end.channel->try_receive(std::span(&piece, 1)).value(), 1U);
    ASSERT_TRUE(ready()) << i;
    ASSERT_FALSE(end.channel->prepare_to_sleep());
  }
  ASSERT_EQ(end.channel->try_receive(std::span(&piece, 1)).value(), 1U);
  EXPECT_FALSE(ready());
  EXPECT_TRUE(end.channel->prepare_to_sleep());
}

TEST(CompressedChannel, TellsACutFromAnEnd) {
  for (const bool inside : {false, true}) {
    OneEnd end;
    test::append_plain(end.under->input, test::random_bytes(100));
    if (inside) end.under->input.pop_back();
    Bytes memory(200);
    const iovec piece{memory.data(), memory.size()};
    ASSERT_TRUE(end.channel->try_receive(std::span(&piece, 1)).ok());
    end.under->error = Error{ErrorKind::kConnection, "end of stream"};
    const auto got = end.channel->try_receive(std::span(&piece, 1));
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().kind, ErrorKind::kConnection);
    EXPECT_EQ(got.error().text != "end of stream", inside) << got.error().text;
  }
}

TEST(CompressedChannel, RefusesWhatIsNoPiece) {
  OneEnd end;
  end.under->input = Bytes(100);
  Bytes memory(200);
  const iovec piece{memory.data(), memory.size()};
  const auto got = end.channel->try_receive(std::span(&piece, 1));
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().kind, ErrorKind::kProtocol);
  EXPECT_THAT(got.error().text, HasSubstr("IMPISHIM_COMPRESSION"));
}

TEST(CompressedChannel, EndsBehindItsOutput) {
  MemoryChannelOptions options;
  options.capacity = 100;
  Ends ends = ends_of(options);
  Bytes bytes = test::random_bytes(1000);
  const iovec piece{bytes.data(), bytes.size()};
  ASSERT_EQ(ends.first->try_send(std::span(&piece, 1)).value(), bytes.size());
  ends.first->shutdown_output();
  Bytes all;
  Bytes memory(2000);
  const iovec to{memory.data(), memory.size()};
  for (;;) {
    const auto got = ends.second->try_receive(std::span(&to, 1));
    if (!got) {
      EXPECT_EQ(got.error().text, "end of stream");
      break;
    }
    test::append(all, std::span(memory).first(*got));
    ASSERT_TRUE(ends.first->try_receive(std::span(&to, 1)).ok());  // it sends what waits
  }
  EXPECT_EQ(all, bytes);
}

}  // namespace
}  // namespace impishim::wire
