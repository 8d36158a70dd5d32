// SPDX-License-Identifier: Apache-2.0
// The target's side of windows: memory, locks, requests and what they do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/element_operation.hpp"
#include "wire/window/layout_codec.hpp"
#include "wire/window/lock_queue.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TypeLayout& ints() { return TypeLayout::basic(BasicType::kInt32); }

template <class Values>
std::span<const std::byte> bytes_of(const Values& values) {
  return std::as_bytes(std::span(values));
}

TEST(WindowMemory, ExposesWhatLiesInside) {
  std::array<std::int32_t, 10> room{};
  auto* const base = reinterpret_cast<std::byte*>(room.data());
  const WindowMemory memory = WindowMemory::fixed(base, sizeof(room), 4);
  EXPECT_EQ(memory.address(3, ints(), 7), base + 12);
  EXPECT_EQ(memory.address(3, ints(), 8), nullptr);
  EXPECT_EQ(memory.address(-1, ints(), 1), nullptr);
  EXPECT_TRUE(memory.exposes(100, ints(), 0)) << "an empty access touches nothing";
}

TEST(WindowMemory, CountsAllBytesOfADatatype) {
  std::array<std::byte, 100> room{};
  const WindowMemory memory = WindowMemory::fixed(room.data(), room.size(), 1);
  // Rows of 4 bytes, 40 bytes apart, upwards and downwards.
  const TypeLayout upwards({{0, BasicType::kInt32, 1, 3, 40}}, 84);
  EXPECT_NE(memory.address(16, upwards, 1), nullptr);
  EXPECT_EQ(memory.address(17, upwards, 1), nullptr);
  const TypeLayout downwards({{0, BasicType::kInt32, 1, 3, -40}}, 84);
  EXPECT_NE(memory.address(80, downwards, 1), nullptr);
  EXPECT_EQ(memory.address(79, downwards, 1), nullptr);
}

TEST(WindowMemory, RefusesWhatCannotBeCounted) {
  std::array<std::byte, 8> room{};
  const WindowMemory memory = WindowMemory::fixed(room.data(), room.size(), 1U << 30U);
  EXPECT_EQ(memory.address(INT64_MAX, ints(), 1), nullptr);
  EXPECT_EQ(memory.address(0, ints(), UINT64_MAX), nullptr);
  const TypeLayout far({{std::int64_t{1} << 58U, BasicType::kInt32, 1}}, 4);
  EXPECT_EQ(memory.address(0, far, 1), nullptr);
  EXPECT_EQ(memory.address(INT64_MAX >> 30U, far, 1), nullptr);
}

TEST(WindowMemory, DynamicMemoryExposesAttachedRegions) {
  std::array<std::byte, 64> room{};
  WindowMemory memory = WindowMemory::dynamic();
  const auto at = [&](std::size_t offset) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(room.data() + offset));
  };
  EXPECT_EQ(memory.address(at(0), ints(), 1), nullptr);
  EXPECT_TRUE(memory.attach(room.data() + 8, 16));
  EXPECT_FALSE(memory.attach(room.data() + 20, 16)) << "it overlaps";
  EXPECT_FALSE(memory.attach(room.data(), 9)) << "so does this";
  EXPECT_EQ(memory.address(at(8), ints(), 4), room.data() + 8);
  EXPECT_EQ(memory.address(at(8), ints(), 5), nullptr);
  EXPECT_EQ(memory.address(at(7), ints(), 1), nullptr);
  EXPECT_TRUE(memory.detach(room.data() + 8));
  EXPECT_FALSE(memory.detach(room.data() + 8));
  EXPECT_EQ(memory.address(at(8), ints(), 1), nullptr);
}

TEST(WindowMemory, AnAccessMayCrossRegionsThatAdjoin) {
  std::array<std::byte, 64> room{};
  WindowMemory memory = WindowMemory::dynamic();
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(room.data()));
  EXPECT_TRUE(memory.attach(room.data(), 16));
  EXPECT_TRUE(memory.attach(room.data() + 32, 16));
  EXPECT_EQ(memory.address(first, ints(), 12), nullptr) << "a gap is not exposed";
  EXPECT_TRUE(memory.attach(room.data() + 16, 16));
  EXPECT_EQ(memory.address(first, ints(), 12), room.data());
  EXPECT_EQ(memory.address(first + 12, ints(), 9), room.data() + 12);
  EXPECT_EQ(memory.address(first, ints(), 13), nullptr);
  EXPECT_TRUE(memory.detach(room.data() + 16));
  EXPECT_EQ(memory.address(first, ints(), 12), nullptr);
  EXPECT_EQ(memory.address(first + 16, ints(), 1), nullptr);
}

TEST(WindowMemory, TheGapsOfADatatypeMayLieOutsideOfAllRegions) {
  std::array<std::byte, 64> room{};
  WindowMemory memory = WindowMemory::dynamic();
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(room.data()));
  EXPECT_TRUE(memory.attach(room.data(), 16));
  EXPECT_TRUE(memory.attach(room.data() + 32, 16));
  const TypeLayout parts({{0, BasicType::kInt32, 2}, {32, BasicType::kInt32, 2}}, 8);
  EXPECT_EQ(memory.address(first, parts, 2), room.data());
  EXPECT_EQ(memory.address(first, parts, 3), nullptr);
  const TypeLayout still({{0, BasicType::kInt32, 2}, {32, BasicType::kInt32, 2}}, 0);
  EXPECT_EQ(memory.address(first, still, UINT64_MAX / 2), room.data());
}

TEST(LockQueue, SharersHoldItTogetherAndOneAlone) {
  LockQueue queue;
  EXPECT_THAT(queue.request(1, LockKind::kShared), ElementsAre(1));
  EXPECT_THAT(queue.request(2, LockKind::kShared), ElementsAre(2));
  EXPECT_THAT(queue.request(3, LockKind::kExclusive), IsEmpty());
  EXPECT_THAT(queue.request(4, LockKind::kShared), IsEmpty()) << "it does not overtake";
  EXPECT_THAT(queue.release(1), IsEmpty());
  EXPECT_THAT(queue.release(2), ElementsAre(3));
  EXPECT_TRUE(queue.holds(3));
  EXPECT_THAT(queue.request(5, LockKind::kShared), IsEmpty());
  EXPECT_THAT(queue.release(3), ElementsAre(4, 5));
  EXPECT_THAT(queue.release(4), IsEmpty());
  EXPECT_THAT(queue.release(5), IsEmpty());
  EXPECT_TRUE(queue.idle());
}

TEST(LockQueue, AWithdrawnRequestLetsTheOthersPass) {
  LockQueue queue;
  EXPECT_THAT(queue.request(1, LockKind::kShared), ElementsAre(1));
  EXPECT_THAT(queue.request(2, LockKind::kExclusive), IsEmpty());
  EXPECT_THAT(queue.request(3, LockKind::kShared), IsEmpty());
  EXPECT_THAT(queue.release(2), ElementsAre(3));
}

TEST(LayoutCodec, ReturnsWhatWasEncoded) {
  const TypeLayout layout({{-8, BasicType::kDouble, 2, 5, -32}, {40, BasicType::kInt16, 1}}, 128);
  std::vector<std::byte> bytes;
  encode_layout(layout, bytes);
  const auto decoded = decode_layout(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ((*decoded)->extent(), 128);
  EXPECT_EQ((*decoded)->packed_size(Format::kNative), layout.packed_size(Format::kNative));
  ASSERT_EQ((*decoded)->blocks().size(), layout.blocks().size());
  EXPECT_EQ((*decoded)->blocks()[0].stride, layout.blocks()[0].stride);
}

TEST(LayoutCodec, RefusesBytesThatAreNoLayout) {
  std::vector<std::byte> bytes;
  encode_layout(ints(), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    if (size == 8) continue;  // a datatype without elements
    EXPECT_FALSE(decode_layout(std::span(bytes).first(size)).ok()) << size;
  }
  auto huge = bytes;
  huge[17] = std::byte{0xff};  // the count of the block
  EXPECT_FALSE(decode_layout(huge).ok());
  auto far = bytes;
  far[8] = std::byte{0x10};  // its offset
  EXPECT_FALSE(decode_layout(far).ok());
  auto unknown = bytes;
  unknown[16] = std::byte{0xff};  // its type
  EXPECT_FALSE(decode_layout(unknown).ok());
}

TEST(LayoutCodec, RefusesBlocksThatRepeatEachOtherTooFarAway) {
  constexpr std::ptrdiff_t kFar = std::ptrdiff_t{1} << 58U;
  const TypeLayout merged({{-kFar, BasicType::kByte, 1}, {kFar, BasicType::kByte, 1}}, 1);
  ASSERT_EQ(merged.blocks().size(), 1U);
  // As a peer can write it that does not merge them.
  std::vector<std::byte> bytes;
  encode_layout(TypeLayout({{-kFar, BasicType::kByte, 1}}, 1), bytes);
  std::vector<std::byte> second;
  encode_layout(TypeLayout({{kFar, BasicType::kByte, 1}}, 1), second);
  bytes.insert(bytes.end(), second.begin() + 8, second.end());
  EXPECT_FALSE(decode_layout(bytes).ok());
}

WindowRequest request_of(WindowRequestKind kind, std::int64_t displacement, std::uint64_t count) {
  WindowRequest request;
  request.kind = kind;
  request.element = ElementKind::kInt32;
  request.basic = BasicType::kInt32;
  request.window = 5;
  request.ticket = 77;
  request.displacement = displacement;
  request.count = count;
  return request;
}

TEST(WindowRequest, IsDecodedAsItWasEncoded) {
  WindowRequest request = request_of(WindowRequestKind::kAccumulate, -3, 2);
  request.operation = ElementOperation::kBitXor;
  request.layout = std::make_shared<TypeLayout>(std::vector<Block>{{0, BasicType::kInt32, 1}}, 12);
  const std::array<std::int32_t, 2> data = {4, 5};
  request.data_bytes = sizeof(data);
  std::vector<std::byte> message;
  encode_request(request, bytes_of(data), message);
  const auto arrived = decode_request(message);
  ASSERT_TRUE(arrived.ok()) << arrived.error().text;
  EXPECT_EQ(arrived->request.kind, request.kind);
  EXPECT_EQ(arrived->request.operation, request.operation);
  EXPECT_EQ(arrived->request.displacement, -3);
  EXPECT_EQ(arrived->request.target_layout().extent(), 12);
  EXPECT_EQ(arrived->request.ticket, 77U);
  EXPECT_EQ(std::memcmp(arrived->data.data(), data.data(), sizeof(data)), 0);
}

TEST(WindowRequest, RandomBytesAreRefusedOrHarmless) {
  std::mt19937 random(1);
  WindowRequest request = request_of(WindowRequestKind::kPut, 0, 1);
  request.data_bytes = 4;
  request.layout = std::make_shared<TypeLayout>(std::vector<Block>{{0, BasicType::kInt32, 1}}, 4);
  const std::int32_t value = 1;
  std::vector<std::byte> message;
  encode_request(request, bytes_of(std::span(&value, 1)), message);
  std::array<std::byte, 64> room{};
  WindowTarget target(WindowMemory::fixed(room.data(), room.size(), 1));
  for (int i = 0; i < 20000; ++i) {
    auto bytes = message;
    for (int changes = 0; changes < 3; ++changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(random() % (bytes.size() + 1));
    const auto arrived = decode_request(bytes);
    if (!arrived) continue;
    const auto status = target.check(arrived->request, Format::kNative);
    if (status == WindowStatus::kDone && arrived->request.kind == WindowRequestKind::kPut)
      static_cast<void>(target.put(arrived->request, arrived->data, Format::kNative));
  }
}

/// A window of ten integers 0, 1, ... 9.
class WindowTargetTest : public testing::TestWithParam<Format> {
 protected:
  WindowTargetTest()
      : target(WindowMemory::fixed(reinterpret_cast<std::byte*>(room.data()), sizeof(room), 4)) {
    for (std::size_t i = 0; i < room.size(); ++i) room[i] = static_cast<std::int32_t>(i);
  }
  /// Returns values as they travel.
  [[nodiscard]] std::vector<std::byte> packed(const std::vector<std::int32_t>& values) const {
    PackCursor cursor({reinterpret_cast<const std::byte*>(values.data()), values.size(), &ints()},
                      GetParam());
    std::vector<std::byte> bytes(cursor.total());
    EXPECT_TRUE(cursor.pack(bytes).ok());
    return bytes;
  }
  [[nodiscard]] std::vector<std::int32_t> unpacked(std::span<const std::byte> bytes) const {
    std::vector<std::int32_t> values(bytes.size() / 4);
    UnpackCursor cursor({reinterpret_cast<std::byte*>(values.data()), values.size(), &ints()},
                        GetParam());
    EXPECT_TRUE(cursor.unpack(bytes).ok());
    return values;
  }
  /// Returns a request with the number of bytes that `data` has.
  [[nodiscard]] static WindowRequest with(WindowRequest request, std::span<const std::byte> data) {
    request.data_bytes = data.size();
    return request;
  }
  std::array<std::int32_t, 10> room{};
  WindowTarget target;
};

TEST_P(WindowTargetTest, PutWritesWhatItSaysAndNoMore) {
  const auto data = packed({70, 80});
  EXPECT_EQ(target.put(with(request_of(WindowRequestKind::kPut, 7, 2), data), data, GetParam()),
            WindowStatus::kDone);
  EXPECT_THAT(room, ElementsAre(0, 1, 2, 3, 4, 5, 6, 70, 80, 9));
  EXPECT_EQ(target.put(with(request_of(WindowRequestKind::kPut, 9, 2), data), data, GetParam()),
            WindowStatus::kOutOfRange);
  EXPECT_EQ(target.put(with(request_of(WindowRequestKind::kPut, 0, 3), data), data, GetParam()),
            WindowStatus::kBadRequest);
}

TEST_P(WindowTargetTest, GetReadsADatatypeWithGaps) {
  WindowRequest request = request_of(WindowRequestKind::kGet, 1, 1);
  request.layout =
      std::make_shared<TypeLayout>(std::vector<Block>{{0, BasicType::kInt32, 1, 3, 12}}, 40);
  ASSERT_EQ(target.check(request, GetParam()), WindowStatus::kDone);
  std::vector<std::byte> data;
  ASSERT_EQ(target.get(request, GetParam(), data), WindowStatus::kDone);
  EXPECT_THAT(unpacked(data), ElementsAre(1, 4, 7));
}

TEST_P(WindowTargetTest, AccumulateCombinesEachElement) {
  WindowRequest request = request_of(WindowRequestKind::kGetAccumulate, 0, 2);
  request.layout =
      std::make_shared<TypeLayout>(std::vector<Block>{{0, BasicType::kInt32, 1, 2, 8}}, 20);
  request.operation = ElementOperation::kSum;
  const auto data = packed({100, 200, 300, 400});
  std::vector<std::byte> before;
  EXPECT_EQ(target.accumulate(with(request, data), data, GetParam(), &before), WindowStatus::kDone);
  EXPECT_THAT(room, ElementsAre(100, 1, 202, 3, 4, 305, 6, 407, 8, 9));
  EXPECT_THAT(unpacked(before), ElementsAre(0, 2, 5, 7));
}

TEST_P(WindowTargetTest, RefusesToWriteElementsThatOverlap) {
  WindowRequest request = request_of(WindowRequestKind::kGetAccumulate, 0, 1);
  request.operation = ElementOperation::kNoOperation;
  request.layout = std::make_shared<TypeLayout>(
      std::vector<Block>{{0, BasicType::kInt32, 1, std::uint64_t{1} << 50U, 0}}, 4);
  std::vector<std::byte> before;
  EXPECT_EQ(target.accumulate(request, {}, GetParam(), &before), WindowStatus::kBadRequest);
  EXPECT_THAT(before, IsEmpty());
}

TEST_P(WindowTargetTest, NoOperationReadsWithoutOperands) {
  WindowRequest request = request_of(WindowRequestKind::kGetAccumulate, 4, 2);
  request.operation = ElementOperation::kNoOperation;
  std::vector<std::byte> before;
  EXPECT_EQ(target.accumulate(request, {}, GetParam(), &before), WindowStatus::kDone);
  EXPECT_THAT(unpacked(before), ElementsAre(4, 5));
}

TEST_P(WindowTargetTest, RefusesOperationsThatTheTypeLacks) {
  WindowRequest request = request_of(WindowRequestKind::kAccumulate, 0, 1);
  request.operation = ElementOperation::kMaximumLocation;
  const auto data = packed({1});
  EXPECT_EQ(target.accumulate(with(request, data), data, GetParam(), nullptr),
            WindowStatus::kBadRequest);
  request.operation = ElementOperation::kSum;
  request.element = ElementKind::kFloat;
  EXPECT_EQ(target.accumulate(with(request, data), data, GetParam(), nullptr),
            WindowStatus::kBadRequest);
}

TEST_P(WindowTargetTest, CompareAndSwapChangesAnEqualElement) {
  const auto swap = [&](std::int32_t expected, std::int32_t value) {
    const auto data = packed({expected, value});
    std::vector<std::byte> before;
    EXPECT_EQ(
        target.compare_and_swap(with(request_of(WindowRequestKind::kCompareAndSwap, 3, 1), data),
                                data, GetParam(), before),
        WindowStatus::kDone);
    return unpacked(before)[0];
  };
  EXPECT_EQ(swap(3, 33), 3);
  EXPECT_EQ(room[3], 33);
  EXPECT_EQ(swap(3, 34), 33);
  EXPECT_EQ(room[3], 33);
}

INSTANTIATE_TEST_SUITE_P(Formats, WindowTargetTest,
                         testing::Values(Format::kNative, Format::kWide, Format::kExternal32));

struct DoubleInt {
  double value;
  int location;
};

TEST(WindowTarget, PairsKeepTheirGaps) {
  std::array<DoubleInt, 3> room{{{1, 1}, {5, 2}, {3, 3}}};
  WindowTarget target(
      WindowMemory::fixed(reinterpret_cast<std::byte*>(room.data()), sizeof(room), 16));
  WindowRequest request;
  request.kind = WindowRequestKind::kAccumulate;
  request.element = ElementKind::kDoubleInt;
  request.operation = ElementOperation::kMaximumLocation;
  request.count = 3;
  request.layout = std::make_shared<TypeLayout>(
      std::vector<Block>{{0, BasicType::kDouble, 1}, {8, BasicType::kInt32, 1}}, 16);
  // Three pairs of a double and an int without gaps.
  std::vector<std::byte> operands(36);
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = 4;
    const auto location = static_cast<int>(10 + i);
    std::memcpy(&operands[12 * i], &value, 8);
    std::memcpy(&operands[12 * i + 8], &location, 4);
  }
  request.data_bytes = operands.size();
  ASSERT_EQ(target.accumulate(request, operands, Format::kNative, nullptr), WindowStatus::kDone);
  EXPECT_EQ(room[0].value, 4);
  EXPECT_EQ(room[0].location, 10);
  EXPECT_EQ(room[1].value, 5);
  EXPECT_EQ(room[1].location, 2);
  EXPECT_EQ(room[2].location, 12);
  // A pair alone has no gap inside, but one behind it.
  request.operation = ElementOperation::kReplace;
  request.count = 1;
  request.data_bytes = 12;
  const auto one = std::span<const std::byte>(operands).subspan(24);
  ASSERT_EQ(target.accumulate(request, one, Format::kNative, nullptr), WindowStatus::kDone);
  EXPECT_EQ(room[0].location, 12);
  EXPECT_EQ(room[1].location, 2);
}

TEST(WindowTarget, AValueThatDoesNotFitIsNotSent) {
  std::int64_t room = std::int64_t{1} << 40U;
  WindowTarget target(WindowMemory::fixed(reinterpret_cast<std::byte*>(&room), sizeof(room), 8));
  WindowRequest request;
  request.kind = WindowRequestKind::kGet;
  request.basic = BasicType::kSignedLong;
  request.count = 1;
  std::vector<std::byte> data;
  EXPECT_EQ(target.get(request, Format::kExternal32, data), WindowStatus::kConversion);
  request.kind = WindowRequestKind::kGetAccumulate;
  request.operation = ElementOperation::kNoOperation;
  request.element = ElementKind::kLong;
  EXPECT_EQ(target.accumulate(request, {}, Format::kExternal32, &data), WindowStatus::kConversion);
}

TEST(WindowTarget, AccumulatesOfThreadsAreAtomic) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  std::array<std::int32_t, 3> room{};
  WindowTarget target(
      WindowMemory::fixed(reinterpret_cast<std::byte*>(room.data()), sizeof(room), 4));
  WindowRequest request = request_of(WindowRequestKind::kGetAccumulate, 0, 3);
  request.operation = ElementOperation::kSum;
  const std::array<std::int32_t, 3> ones = {1, 1, 1};
  request.data_bytes = sizeof(ones);
  std::vector<std::vector<std::int32_t>> fetched(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRounds; ++i) {
        std::vector<std::byte> before;
        if (target.accumulate(request, bytes_of(ones), Format::kNative, &before) !=
            WindowStatus::kDone)
          return;
        std::int32_t value = 0;
        std::memcpy(&value, before.data(), sizeof(value));
        fetched[static_cast<std::size_t>(thread)].push_back(value);
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_THAT(room, ElementsAre(kThreads * kRounds, kThreads * kRounds, kThreads * kRounds));
  std::vector<std::int32_t> all;
  for (const auto& each : fetched) all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "a value was fetched twice";
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads * kRounds));
}

}  // namespace
}  // namespace impishim::wire
