// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/channel/shared_memory_channel.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;

Ring make_ring() {
  Descriptor descriptor;
  auto ring = Ring::create(descriptor);
  EXPECT_TRUE(ring.ok());
  return std::move(ring).value();
}

std::size_t push(Ring& ring, std::span<const std::byte> bytes) {
  const std::array<iovec, 1> pieces = {piece(bytes)};
  return ring.push(pieces);
}

std::vector<std::byte> pop(Ring& ring, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const std::array<iovec, 1> pieces = {piece(bytes)};
  bytes.resize(ring.pop(pieces));
  return bytes;
}

TEST(Ring, IsEmptyAndHasRoomAtFirst) {
  Ring ring = make_ring();
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.has_room());
  EXPECT_TRUE(pop(ring, 10).empty());
}

TEST(Ring, TakesWhatFitsAndNoMore) {
  Ring ring = make_ring();
  const auto bytes = random_bytes(kRingCapacity + 100, 1);
  EXPECT_EQ(push(ring, bytes), kRingCapacity);
  EXPECT_FALSE(ring.has_room());
  EXPECT_EQ(push(ring, bytes), 0U);
  const auto first = pop(ring, 10);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin()));
  EXPECT_TRUE(ring.has_room());
  EXPECT_EQ(push(ring, bytes), 10U);
  EXPECT_EQ(pop(ring, 2 * kRingCapacity).size(), kRingCapacity);
  EXPECT_TRUE(ring.empty());
}

TEST(Ring, KeepsBytesThatWrapAround) {
  Ring ring = make_ring();
  // Not a divisor of the capacity, so that the seam falls on every kind of place.
  const auto bytes = random_bytes(1009, 2);
  for (std::size_t round = 0; round < 3 * kRingCapacity / bytes.size(); ++round) {
    ASSERT_EQ(push(ring, bytes), bytes.size());
    ASSERT_EQ(pop(ring, bytes.size()), bytes) << "round " << round;
  }
}

TEST(Ring, GathersAndScatters) {
  Ring ring = make_ring();
  const auto bytes = random_bytes(1000, 3);
  const std::span<const std::byte> all = bytes;
  const std::array<iovec, 4> out = {piece(all.first(1)), piece(all.first(0)),
                                    piece(all.subspan(1, 700)), piece(all.subspan(701))};
  EXPECT_EQ(ring.push(out), bytes.size());
  std::vector<std::byte> got(1200);
  const std::span<std::byte> room = got;
  const std::array<iovec, 4> in = {piece(room.first(300)), piece(room.first(0)),
                                   piece(room.subspan(300, 1)), piece(room.subspan(301))};
  EXPECT_EQ(ring.pop(in), bytes.size());
  got.resize(bytes.size());
  EXPECT_EQ(got, bytes);
}

TEST(Ring, BehavesLikeAQueueOfBytes) {
  Ring ring = make_ring();
  std::deque<std::byte> model;
  std::mt19937 random(20240607);
  const auto source = random_bytes(2 * kRingCapacity, 4);
  const std::span<const std::byte> all = source;
  std::uint64_t carried = 0;
  for (int step = 0; step < 20000; ++step) {
    // Mostly small, now and then larger than the ring.
    const std::size_t bound = random() % 8 == 0 ? source.size() : 3000;
    const std::size_t size = random() % bound;
    if (random() % 2 == 0) {
      const auto bytes = all.subspan(random() % (source.size() - size), size);
      const std::size_t split = size == 0 ? 0 : random() % size;
      const std::array<iovec, 2> pieces = {piece(bytes.first(split)), piece(bytes.subspan(split))};
      const std::size_t taken = ring.push(pieces);
      ASSERT_EQ(taken, std::min(size, kRingCapacity - model.size()));
      model.insert(model.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    } else {
      const auto bytes = pop(ring, size);
      ASSERT_EQ(bytes.size(), std::min(size, model.size()));
      ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), model.begin())) << "step " << step;
      model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
      carried += bytes.size();
    }
    ASSERT_EQ(ring.empty(), model.empty());
    ASSERT_EQ(ring.has_room(), model.size() < kRingCapacity);
  }
  EXPECT_GT(carried, 10 * kRingCapacity);
}

/// One Ring object for both threads: under TSan both then touch the same addresses.
TEST(Ring, CarriesAStreamFromThreadToThread) {
  Ring ring = make_ring();
  const auto bytes = random_bytes(8U << 20U, 5);
  std::thread producer([&] {
    std::mt19937 random(6);
    std::span<const std::byte> rest = bytes;
    while (!rest.empty()) {
      const auto sent =
          push(ring, rest.first(std::min<std::size_t>(rest.size(), 1 + random() % 40000)));
      rest = rest.subspan(sent);
      if (sent == 0) std::this_thread::yield();
    }
  });
  std::mt19937 random(7);
  std::vector<std::byte> got;
  got.reserve(bytes.size());
  while (got.size() < bytes.size()) {
    const auto some = pop(ring, 1 + random() % 40000);
    got.insert(got.end(), some.begin(), some.end());
    if (some.empty()) std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(got == bytes);
}

TEST(Ring, IsTheSameMemoryOnceAttached) {
  Descriptor descriptor;
  auto consumer = Ring::create(descriptor);
  ASSERT_TRUE(consumer.ok());
  auto producer = Ring::attach(descriptor);
  ASSERT_TRUE(producer.ok());
  const auto bytes = random_bytes(5000, 8);
  EXPECT_EQ(push(*producer, bytes), bytes.size());
  EXPECT_EQ(pop(*consumer, 6000), bytes);
}

TEST(Ring, RefusesMemoryThatItCannotTrust) {
  const auto refused = [](const Descriptor& descriptor) {
    auto ring = Ring::attach(descriptor);
    return !ring && ring.error().kind == ErrorKind::kProtocol;
  };
  Descriptor good;
  ASSERT_TRUE(Ring::create(good).ok());
  const off_t right_size = lseek(good.get(), 0, SEEK_END);

  const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), right_size), 0);
  EXPECT_TRUE(refused(unsealed));

  const Descriptor small(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(small.get(), right_size - 1), 0);
  ASSERT_EQ(fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(refused(small));

  EXPECT_TRUE(refused(Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC))));
  EXPECT_TRUE(refused(Descriptor()));
}

TEST(Ring, CannotBeShrunkUnderItsUser) {
  Descriptor descriptor;
  auto ring = Ring::create(descriptor);
  ASSERT_TRUE(ring.ok());
  EXPECT_NE(ftruncate(descriptor.get(), 0), 0);
}

/// Whatever a peer writes into the shared indices, reads and writes stay inside the mapping (ASan
/// and the kernel watch).
TEST(Ring, SurvivesIndicesThatLie) {
  const std::array<std::uint64_t, 6> lies = {
      ~std::uint64_t{0}, std::uint64_t{1} << 63U, kRingCapacity + 1, 12345, 1, 0};
  for (const std::uint64_t lie : lies) {
    Ring ring = make_ring();
    ring.state().tail.store(lie);
    EXPECT_LE(pop(ring, 3 * kRingCapacity).size(), kRingCapacity);
    EXPECT_LE(pop(ring, 3 * kRingCapacity).size(), kRingCapacity);
    const auto bytes = random_bytes(2 * kRingCapacity, 9);
    push(ring, bytes);
    ring.state().head.store(lie);
    EXPECT_LE(push(ring, bytes), kRingCapacity);
    EXPECT_LE(push(ring, bytes), kRingCapacity);
  }
}

TEST(Ring, GivesNothingToAProducerWhoseConsumerIsAheadOfIt) {
  Ring ring = make_ring();
  const auto bytes = random_bytes(kRingCapacity, 10);
  EXPECT_EQ(push(ring, bytes), kRingCapacity);
  ring.state().head.store(kRingCapacity + 5);
  EXPECT_EQ(push(ring, bytes), 0U);
  EXPECT_FALSE(ring.has_room());
}

TEST(Ring, MovesWithItsContents) {
  Ring ring = make_ring();
  const auto bytes = random_bytes(100, 11);
  push(ring, bytes);
  EXPECT_EQ(pop(ring, 40).size(), 40U);
  Ring moved(std::move(ring));
  EXPECT_EQ(pop(moved, 100).size(), 60U);
  Ring assigned = make_ring();
  assigned = std::move(moved);
  EXPECT_EQ(push(assigned, bytes), bytes.size());
  EXPECT_EQ(pop(assigned, 200), bytes);
}

}  // namespace
}  // namespace impishim::wire
