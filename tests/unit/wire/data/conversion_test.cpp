// SPDX-License-Identifier: Apache-2.0
// Bytes on the wire, written by hand from the formats' definitions (MPI-3.1 13.5.2); what does not
// fit; borrowing; odd buffers.
#include "wire/data/conversion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "tests/unit/wire/data/bytes_of.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

TEST(External32, IntegersAreBigEndianTwosComplement) {
  EXPECT_EQ(packed<std::int8_t>(BasicType::kByte, Format::kExternal32, {0, 1, -1, 127, -128}),
            "0001ff7f80");
  EXPECT_EQ(packed<std::int16_t>(BasicType::kInt16, Format::kExternal32, {1, -2, 0x1234}),
            "0001fffe1234");
  EXPECT_EQ(packed<std::int32_t>(BasicType::kInt32, Format::kExternal32, {0x01020304, -1}),
            "01020304ffffffff");
  EXPECT_EQ(packed<std::int64_t>(BasicType::kInt64, Format::kExternal32, {0x0102030405060708, -2}),
            "0102030405060708fffffffffffffffe");
}

TEST(External32, LongHasFourBytesAndWideCharTwo) {
  EXPECT_EQ(
      packed<long>(BasicType::kSignedLong, Format::kExternal32, {7, -7, 2147483647L, -2147483648L}),
      "00000007fffffff97fffffff80000000");
  EXPECT_EQ(packed<unsigned long>(BasicType::kUnsignedLong, Format::kExternal32, {7, 4294967295UL}),
            "00000007ffffffff");
  EXPECT_EQ(
      packed<wchar_t>(BasicType::kWideChar, Format::kExternal32, {L'A', L'\u20ac', L'\uffff'}),
      "004120acffff");
}

TEST(External32, FloatsAreIeee) {
  EXPECT_EQ(
      packed<float>(BasicType::kFloat, Format::kExternal32, {1.0F, -2.0F, 0.15625F, 3.4028235e38F}),
      "3f800000c00000003e2000007f7fffff");
  EXPECT_EQ(
      packed<double>(BasicType::kDouble, Format::kExternal32, {1.0, -2.0, 3.141592653589793, 1.5}),
      "3ff0000000000000c000000000000000400921fb54442d183ff8000000000000");
  EXPECT_EQ(packed<double>(
                BasicType::kDouble, Format::kExternal32,
                {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                 -0.0, std::numeric_limits<double>::denorm_min()}),
            "7ff0000000000000fff000000000000080000000000000000000000000000001");
}

TEST(External32, ReadsWhatItWrites) {
  EXPECT_EQ(unpacked<long>(BasicType::kSignedLong, Format::kExternal32, "00000007fffffff980000000"),
            (std::vector<long>{7, -7, -2147483648L}));
  EXPECT_EQ(unpacked<unsigned long>(BasicType::kUnsignedLong, Format::kExternal32, "ffffffff"),
            (std::vector<unsigned long>{4294967295UL}));
  EXPECT_EQ(unpacked<wchar_t>(BasicType::kWideChar, Format::kExternal32, "004120acffff"),
            (std::vector<wchar_t>{L'A', L'\u20ac', L'\uffff'}));
  EXPECT_EQ(unpacked<float>(BasicType::kFloat, Format::kExternal32, "3e200000"),
            (std::vector<float>{0.15625F}));
  EXPECT_EQ(unpacked<std::int16_t>(BasicType::kInt16, Format::kExternal32, "fffe1234"),
            (std::vector<std::int16_t>{-2, 0x1234}));
}

TEST(Wide, LosesNothing) {
  constexpr long kLong = std::numeric_limits<long>::min();
  EXPECT_EQ(packed<std::int64_t>(BasicType::kInt64, Format::kWide, {1}), "0000000000000001");
  EXPECT_EQ(packed<long>(BasicType::kSignedLong, Format::kWide, {-1}), "ffffffffffffffff");
  EXPECT_EQ(packed<wchar_t>(BasicType::kWideChar, Format::kWide, {L'\U0001f600'}), "0001f600");
  const std::string digits = packed<long>(BasicType::kSignedLong, Format::kWide,
                                          {kLong, std::numeric_limits<long>::max()});
  EXPECT_EQ(unpacked<long>(BasicType::kSignedLong, Format::kWide, digits).at(0), kLong);
}

TEST(Quad, IsReversedWhereThisMachineIsLittleEndian) {
  std::vector<std::array<std::uint8_t, 16>> value(1);
  for (std::size_t i = 0; i < 16; ++i) value[0][i] = static_cast<std::uint8_t>(i + 1);
  const bool little = std::endian::native == std::endian::little;
  const std::string digits = packed(BasicType::kQuad, Format::kExternal32, value);
  EXPECT_EQ(digits,
            little ? "100f0e0d0c0b0a090807060504030201" : "0102030405060708090a0b0c0d0e0f10");
  using Bytes = std::array<std::uint8_t, 16>;
  EXPECT_EQ(unpacked<Bytes>(BasicType::kQuad, Format::kExternal32, digits), value);
}

TEST(Native, IsTheMemory) {
  const std::vector<long> values = {std::numeric_limits<long>::max(), -5};
  EXPECT_EQ(packed(BasicType::kSignedLong, Format::kNative, values),
            hex(std::as_bytes(std::span(values))));
}

template <class Value>
void expect_overflow(BasicType type, Value good, Value bad, const char* name) {
  const std::vector<Value> values = {good, bad, good};
  const ConstBuffer buffer{reinterpret_cast<const std::byte*>(values.data()), values.size(),
                           &TypeLayout::basic(type)};
  PackCursor cursor(buffer, Format::kExternal32);
  std::vector<std::byte> out(cursor.total());
  const auto whole = cursor.pack(out);
  ASSERT_FALSE(whole.ok()) << name;
  EXPECT_EQ(whole.error().kind, ErrorKind::kConversion);
  EXPECT_THAT(whole.error().text, HasSubstr(name));
  EXPECT_THAT(whole.error().text, HasSubstr("external32"));
  // The same in pieces of one byte, which cut the value that does not fit.
  PackCursor bytewise(buffer, Format::kExternal32);
  for (std::size_t i = 0; i < element_size(type, Format::kExternal32); ++i) {
    ASSERT_TRUE(bytewise.pack(std::span(out).subspan(i, 1)).ok());
  }
  const auto next = bytewise.pack(std::span(out).first(1));
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().kind, ErrorKind::kConversion);
}

TEST(Overflow, IsAnErrorThatNamesTheType) {
  if (sizeof(long) > 4) {
    expect_overflow<long>(BasicType::kSignedLong, 1, 2147483648L, "MPI_LONG");
    expect_overflow<long>(BasicType::kSignedLong, 1, -2147483649L, "MPI_LONG");
    expect_overflow<long>(BasicType::kSignedLong, -1, 4294967295L, "MPI_LONG");
    expect_overflow<unsigned long>(BasicType::kUnsignedLong, 1, 4294967296UL, "MPI_UNSIGNED_LONG");
    expect_overflow<unsigned long>(BasicType::kUnsignedLong, 1, ~0UL, "MPI_UNSIGNED_LONG");
  }
  expect_overflow<wchar_t>(BasicType::kWideChar, L'a', L'\U0001f600', "MPI_WCHAR");
}

TEST(Borrow, GivesTheUsersMemory) {
  std::vector<std::int32_t> values(10);
  const TypeLayout shifted({{8, BasicType::kInt32, 6}}, 100);
  const auto* base = reinterpret_cast<const std::byte*>(values.data());
  PackCursor cursor({base, 1, &shifted}, Format::kNative);
  const auto first = cursor.borrow(5);
  EXPECT_EQ(first.data(), base + 8);
  EXPECT_EQ(first.size(), 5U);
  EXPECT_EQ(cursor.position(), 5U);
  std::byte between{};
  EXPECT_EQ(*cursor.pack({&between, 1}), 1U);
  const auto rest = cursor.borrow(1000);
  EXPECT_EQ(rest.data(), base + 14);
  EXPECT_EQ(rest.size(), 18U);
  EXPECT_TRUE(cursor.borrow(1).empty());

  UnpackCursor room({reinterpret_cast<std::byte*>(values.data()), 1, &shifted}, Format::kNative);
  const std::vector<std::byte> three(3, std::byte{9});
  ASSERT_TRUE(room.unpack(three).ok());
  EXPECT_EQ(room.borrow(4).data(), base + 11);
  EXPECT_EQ(room.native_bytes(), 7U);
  EXPECT_EQ(room.borrow(1000).size(), 17U);
  EXPECT_TRUE(room.borrow(1).empty());
}

TEST(Borrow, GivesNothingWhereDataIsCopiedOrConverted) {
  std::vector<std::int32_t> values(10);
  const auto* base = reinterpret_cast<const std::byte*>(values.data());
  const TypeLayout strided({{0, BasicType::kInt32, 1, 3, 8}}, 24);
  PackCursor gaps({base, 1, &strided}, Format::kNative);
  EXPECT_TRUE(gaps.borrow(4).empty());
  EXPECT_EQ(gaps.position(), 0U);
  PackCursor converted({base, 10, &TypeLayout::basic(BasicType::kInt32)}, Format::kExternal32);
  EXPECT_TRUE(converted.borrow(4).empty());
}

TEST(Buffers, MayBeNullIfNothingIsInThem) {
  const TypeLayout shifted({{64, BasicType::kInt32, 2}}, 100);
  const TypeLayout empty({}, 12);
  for (const Format format : {Format::kNative, Format::kExternal32}) {
    for (const auto& [layout, count] : {std::pair{&shifted, 0ULL}, std::pair{&empty, 5ULL}}) {
      PackCursor from({nullptr, count, layout}, format);
      EXPECT_EQ(from.total(), 0U);
      std::byte out{};
      EXPECT_EQ(*from.pack({&out, 1}), 0U);
      EXPECT_EQ(*from.pack({}), 0U);
      EXPECT_TRUE(from.borrow(10).empty());
      UnpackCursor to({nullptr, count, layout}, format);
      EXPECT_TRUE(to.unpack({}).ok());
      EXPECT_FALSE(to.unpack({&out, 1}).ok());
    }
  }
}

// MPI_BOTTOM is null, and the datatype's displacements are addresses.
TEST(Buffers, MayStartAtBottomWithAbsoluteAddresses) {
  const std::vector<std::int16_t> values = {1, 2, 3};
  std::vector<std::int16_t> room(3);
  for (const Format format : {Format::kNative, Format::kExternal32}) {
    std::ranges::fill(room, 0);
    const TypeLayout from({{reinterpret_cast<std::ptrdiff_t>(values.data()), BasicType::kInt16, 3}},
                          6);
    const TypeLayout to({{reinterpret_cast<std::ptrdiff_t>(room.data()), BasicType::kInt16, 3}}, 6);
    PackCursor out({nullptr, 1, &from}, format);
    std::vector<std::byte> stream(6);
    ASSERT_EQ(*out.pack(stream), 6U);
    UnpackCursor in({nullptr, 1, &to}, format);
    ASSERT_TRUE(in.unpack(stream).ok());
    EXPECT_EQ(room, values);
  }
}

TEST(Buffers, MayBeLargerThanFourGibibytes) {
  constexpr std::uint64_t kSize = 9ULL << 30U;
  void* reserved = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED) << "cannot reserve address space";
  auto* base = static_cast<std::byte*>(reserved);
  PackCursor straight({base, kSize / 8, &TypeLayout::basic(BasicType::kDouble)}, Format::kNative);
  EXPECT_EQ(straight.total(), kSize);
  EXPECT_EQ(straight.borrow(5ULL << 30U).size(), 5ULL << 30U);
  base[5ULL << 30U] = std::byte{42};
  std::byte next{};
  ASSERT_TRUE(straight.pack({&next, 1}).ok());
  EXPECT_EQ(next, std::byte{42});

  // Few elements, far apart: the distance passes 2^32, forwards and backwards.
  const TypeLayout sparse({{0, BasicType::kInt32, 1, 3, 4LL << 30U}}, 16);
  const auto value = std::to_array({std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}});
  for (const std::uint64_t at : {0ULL, 4ULL << 30U, 8ULL << 30U})
    std::ranges::copy(value, base + at);
  PackCursor forwards({base, 1, &sparse}, Format::kExternal32);
  std::vector<std::byte> out(12);
  ASSERT_EQ(*forwards.pack(out), 12U);
  EXPECT_EQ(hex(out), std::endian::native == std::endian::little ? "040302010403020104030201"
                                                                 : "010203040102030401020304");
  const TypeLayout backwards({{0, BasicType::kInt32, 1, 3, -(4LL << 30U)}}, 16);
  PackCursor reverse({base + (8ULL << 30U), 1, &backwards}, Format::kNative);
  ASSERT_EQ(*reverse.pack(out), 12U);
  EXPECT_EQ(hex(out), "010203040102030401020304");
  munmap(reserved, kSize);
}

TEST(Buffers, MayRepeatTheSameElement) {
  const std::int32_t value = 0x01020304;
  const TypeLayout same({{0, BasicType::kInt32, 1, 1000, 0}}, 0);
  PackCursor cursor({reinterpret_cast<const std::byte*>(&value), 1ULL << 33U, &same},
                    Format::kExternal32);
  EXPECT_EQ(cursor.total(), 4000ULL << 33U);
  std::vector<std::byte> out(12006);
  ASSERT_EQ(*cursor.pack(out), out.size());
  EXPECT_EQ(hex(std::span(out).first(8)), "0102030401020304");
  EXPECT_EQ(hex(std::span(out).last(6)), "010203040102");
}

}  // namespace
}  // namespace impishim::wire
