// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/memory_channel.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;

/// Moves `bytes` from one end to the other and writes down the size of every step.
std::vector<std::size_t> steps_of_transfer(const MemoryChannelOptions& options,
                                           const std::vector<std::byte>& bytes,
                                           std::vector<std::byte>& got) {
  auto [left, right] = MemoryChannel::make_pair(options);
  std::vector<std::size_t> steps;
  std::span<const std::byte> rest = bytes;
  got.assign(bytes.size(), std::byte{0});
  std::span<std::byte> room = got;
  while (!room.empty()) {
    const std::array<iovec, 2> out = {piece(rest.first(rest.size() / 3)),
                                      piece(rest.subspan(rest.size() / 3))};
    auto sent = left->try_send(out);
    const std::array<iovec, 2> in = {piece(room.first(room.size() / 2)),
                                     piece(room.subspan(room.size() / 2))};
    auto received = right->try_receive(in);
    if (!sent || !received) return {};
    steps.insert(steps.end(), {*sent, *received});
    rest = rest.subspan(*sent);
    room = room.subspan(*received);
  }
  return steps;
}

TEST(MemoryChannel, CarriesWholeWritesWithoutASeed) {
  const auto bytes = random_bytes(5000, 1);
  std::vector<std::byte> got;
  EXPECT_EQ(steps_of_transfer({}, bytes, got), (std::vector<std::size_t>{5000, 5000}));
  EXPECT_EQ(got, bytes);
}

TEST(MemoryChannel, TearsWritesTheSameWayForTheSameSeed) {
  const auto bytes = random_bytes(100000, 2);
  std::vector<std::byte> got;
  const auto first = steps_of_transfer({.seed = 5}, bytes, got);
  EXPECT_EQ(got, bytes);
  EXPECT_GT(first.size(), 4U);
  EXPECT_NE(std::count(first.begin(), first.end(), 0U), 0) << "now and then nothing moves at all";
  EXPECT_EQ(steps_of_transfer({.seed = 5}, bytes, got), first);
  EXPECT_NE(steps_of_transfer({.seed = 6}, bytes, got), first);
}

TEST(MemoryChannel, HoldsNoMoreThanItsCapacity) {
  auto [left, right] = MemoryChannel::make_pair({.capacity = 100});
  const auto bytes = random_bytes(150, 3);
  const std::array<iovec, 1> out = {piece(bytes)};
  EXPECT_EQ(*left->try_send(out), 100U);
  EXPECT_EQ(*left->try_send(out), 0U);
  std::vector<std::byte> room(30);
  const std::array<iovec, 1> in = {piece(room)};
  EXPECT_EQ(*right->try_receive(in), 30U);
  EXPECT_EQ(*left->try_send(out), 30U);
}

TEST(MemoryChannel, CutsAfterSoManyBytesAndGivesThemFirst) {
  auto [left, right] = MemoryChannel::make_pair({.cut_after = 120});
  const auto bytes = random_bytes(100, 4);
  const std::array<iovec, 1> out = {piece(bytes)};
  EXPECT_EQ(*left->try_send(out), 100U);
  EXPECT_EQ(*left->try_send(out), 20U);
  auto cut = left->try_send(out);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().kind, ErrorKind::kConnection);
  std::vector<std::byte> room(200);
  const std::array<iovec, 1> in = {piece(room)};
  EXPECT_EQ(*right->try_receive(in), 120U);
  EXPECT_FALSE(right->try_receive(in).ok());
  EXPECT_EQ(*right->try_send(out), 100U) << "the other direction goes on";
}

TEST(MemoryChannel, EndsWithEitherEnd) {
  auto [left, right] = MemoryChannel::make_pair({});
  const auto bytes = random_bytes(10, 5);
  const std::array<iovec, 1> out = {piece(bytes)};
  EXPECT_EQ(*left->try_send(out), 10U);
  left.reset();
  std::vector<std::byte> room(20);
  const std::array<iovec, 1> in = {piece(room)};
  EXPECT_EQ(*right->try_receive(in), 10U);
  EXPECT_FALSE(right->try_receive(in).ok());
  EXPECT_FALSE(right->try_send(out).ok());
}

TEST(MemoryChannel, CanEndOneDirection) {
  auto [left, right] = MemoryChannel::make_pair({});
  left->shutdown_output();
  std::vector<std::byte> room(20);
  const std::array<iovec, 1> in = {piece(room)};
  EXPECT_FALSE(right->try_receive(in).ok());
  const std::array<iovec, 1> out = {piece(room)};
  EXPECT_EQ(*right->try_send(out), 20U);
  EXPECT_EQ(*left->try_receive(in), 20U);
}

TEST(MemoryChannel, NeverLetsItsOwnerSleep) {
  auto [left, right] = MemoryChannel::make_pair({});
  EXPECT_FALSE(left->prepare_to_sleep());
  EXPECT_GE(left->descriptor(), 0);
  EXPECT_NE(left->descriptor(), right->descriptor());
}

}  // namespace
}  // namespace impishim::wire
