// SPDX-License-Identifier: Apache-2.0
#include "wire/window/element_operation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "wire/data/type_layout.hpp"
#include "wire/window/element_layout.hpp"

namespace impishim::wire {
namespace {

using enum ElementOperation;

template <class Type>
Type apply(ElementOperation operation, ElementKind kind, Type target, Type operand) {
  const ElementFunction function = element_function(operation, kind);
  EXPECT_NE(function, nullptr);
  // One byte further than any alignment.
  std::array<std::byte, 2 * sizeof(Type) + 1> room{};
  std::memcpy(static_cast<void*>(room.data() + 1), &target, sizeof(Type));
  std::array<std::byte, sizeof(Type)> from{};
  std::memcpy(static_cast<void*>(from.data()), &operand, sizeof(Type));
  if (function != nullptr) function(from.data(), room.data() + 1, 1);
  std::memcpy(static_cast<void*>(&target), room.data() + 1, sizeof(Type));
  return target;
}

TEST(ElementOperation, IntegersHaveAllButLocations) {
  const auto on = [](ElementOperation operation) {
    return apply<std::int32_t>(operation, ElementKind::kInt32, -6, 4);
  };
  EXPECT_EQ(on(kReplace), 4);
  EXPECT_EQ(on(kNoOperation), -6);
  EXPECT_EQ(on(kSum), -2);
  EXPECT_EQ(on(kProduct), -24);
  EXPECT_EQ(on(kMaximum), 4);
  EXPECT_EQ(on(kMinimum), -6);
  EXPECT_EQ(on(kLogicalAnd), 1);
  EXPECT_EQ(on(kLogicalOr), 1);
  EXPECT_EQ(on(kLogicalXor), 0);
  EXPECT_EQ(on(kBitAnd), -6 & 4);
  EXPECT_EQ(on(kBitOr), -6 | 4);
  EXPECT_EQ(on(kBitXor), -6 ^ 4);
  EXPECT_EQ(element_function(kMaximumLocation, ElementKind::kInt32), nullptr);
}

TEST(ElementOperation, SignsMatter) {
  EXPECT_EQ(apply<std::uint8_t>(kMaximum, ElementKind::kUint8, 200, 100), 200);
  EXPECT_EQ(apply<std::int8_t>(kMaximum, ElementKind::kInt8, -56, 100), 100);
}

TEST(ElementOperation, IntegersWrapAround) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(apply<std::int64_t>(kSum, ElementKind::kInt64, kMost, 1),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(apply<std::uint16_t>(kProduct, ElementKind::kUint16, 65535, 65535), 1);
}

TEST(ElementOperation, ComplexNumbersAddAndMultiply) {
  using Complex = std::complex<double>;
  EXPECT_EQ(apply<Complex>(kProduct, ElementKind::kDoubleComplex, {1, 2}, {3, 4}), Complex(-5, 10));
  EXPECT_EQ(element_function(kMaximum, ElementKind::kDoubleComplex), nullptr);
}

TEST(ElementOperation, LogicalsKnowTruthAlone) {
  EXPECT_EQ(apply<std::int32_t>(kLogicalAnd, ElementKind::kLogical32, 7, 8), 1);
  EXPECT_EQ(apply<bool>(kLogicalXor, ElementKind::kBool, true, true), false);
  EXPECT_EQ(element_function(kSum, ElementKind::kLogical32), nullptr);
  EXPECT_EQ(element_function(kBitAnd, ElementKind::kBool), nullptr);
}

TEST(ElementOperation, BytesHaveBitsAlone) {
  EXPECT_EQ(apply<std::uint8_t>(kBitXor, ElementKind::kByte, 0x0f, 0xff), 0xf0);
  EXPECT_EQ(element_function(kSum, ElementKind::kByte), nullptr);
  EXPECT_EQ(element_function(kLogicalAnd, ElementKind::kByte), nullptr);
}

TEST(ElementOperation, CharactersAreMovedAlone) {
  EXPECT_EQ(apply<char>(kReplace, ElementKind::kCharacter, 'a', 'b'), 'b');
  EXPECT_EQ(element_function(kBitAnd, ElementKind::kCharacter), nullptr);
  EXPECT_EQ(element_function(kSum, ElementKind::kWideCharacter), nullptr);
}

struct DoubleInt {
  double value;
  int location;
  bool operator==(const DoubleInt& other) const {
    return value == other.value && location == other.location;
  }
};

TEST(ElementOperation, OfEqualValuesTheLowerLocationCounts) {
  const auto on = [](ElementOperation operation, DoubleInt target, DoubleInt operand) {
    return apply(operation, ElementKind::kDoubleInt, target, operand);
  };
  EXPECT_EQ(on(kMaximumLocation, {1, 9}, {2, 3}), (DoubleInt{2, 3}));
  EXPECT_EQ(on(kMaximumLocation, {2, 9}, {2, 3}), (DoubleInt{2, 3}));
  EXPECT_EQ(on(kMinimumLocation, {2, 3}, {2, 9}), (DoubleInt{2, 3}));
  EXPECT_EQ(on(kMinimumLocation, {1, 9}, {2, 3}), (DoubleInt{1, 9}));
  EXPECT_EQ(element_function(kSum, ElementKind::kDoubleInt), nullptr);
}

TEST(ElementOperation, TheGapInAPairIsNotWritten) {
  for (const ElementOperation operation : {kReplace, kMaximumLocation}) {
    std::array<std::byte, sizeof(DoubleInt)> target{};
    target.back() = std::byte{0x5a};
    std::array<std::byte, sizeof(DoubleInt)> operand{};
    const double high = 7;
    std::memcpy(operand.data(), &high, sizeof(high));
    element_function(operation, ElementKind::kDoubleInt)(operand.data(), target.data(), 1);
    EXPECT_EQ(target.back(), std::byte{0x5a});
  }
}

/// Every kind that there is.
class KindTest : public testing::TestWithParam<int> {
 protected:
  const ElementKind kind = static_cast<ElementKind>(GetParam());
};

TEST_P(KindTest, CanBeReplacedAndRead) {
  ASSERT_GT(element_bytes(kind), 0U);
  EXPECT_NE(element_function(kReplace, kind), nullptr);
  EXPECT_NE(element_function(kNoOperation, kind), nullptr);
}

TEST_P(KindTest, ItsLayoutHasItsSize) {
  const TypeLayout& layout = element_layout(kind);
  EXPECT_EQ(layout.extent(), static_cast<std::ptrdiff_t>(element_bytes(kind)));
  EXPECT_LE(layout.packed_size(Format::kNative), element_bytes(kind));
  EXPECT_TRUE(consists_of(layout, kind));
}

TEST_P(KindTest, UnknownOperationsAreRefused) {
  EXPECT_EQ(element_function(static_cast<ElementOperation>(14), kind), nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, KindTest,
                         testing::Range(0, static_cast<int>(ElementKind::kNumberOfKinds)));

TEST(ElementKind, UnknownNumbersAreRefused) {
  const auto unknown = static_cast<ElementKind>(200);
  EXPECT_EQ(element_bytes(unknown), 0U);
  EXPECT_EQ(element_function(kSum, unknown), nullptr);
  EXPECT_FALSE(may_compare(unknown));
}

TEST(ElementKind, IntegersLogicalsAndBytesCanBeCompared) {
  EXPECT_TRUE(may_compare(ElementKind::kLong));
  EXPECT_TRUE(may_compare(ElementKind::kLogical64));
  EXPECT_TRUE(may_compare(ElementKind::kByte));
  EXPECT_FALSE(may_compare(ElementKind::kDouble));
  EXPECT_FALSE(may_compare(ElementKind::kTwoInt));
}

TEST(ElementLayout, DatatypesOfOtherElementsDoNotFit) {
  EXPECT_FALSE(consists_of(TypeLayout::basic(BasicType::kInt32), ElementKind::kDouble));
  // Three floats are no whole number of complex ones.
  EXPECT_FALSE(
      consists_of(TypeLayout({{0, BasicType::kFloat, 3}}, 12), ElementKind::kFloatComplex));
  EXPECT_TRUE(consists_of(TypeLayout({{0, BasicType::kFloat, 4}}, 16), ElementKind::kFloatComplex));
  // A pair the wrong way round.
  EXPECT_FALSE(consists_of(TypeLayout({{0, BasicType::kInt32, 1}, {8, BasicType::kDouble, 1}}, 16),
                           ElementKind::kDoubleInt));
}

// An operation reads and writes a whole element at the place of its first part.
TEST(ElementLayout, RefusesElementsWhosePartsLieApart) {
  const TypeLayout beside({{8, BasicType::kDouble, 1}, {16, BasicType::kInt32, 1}}, 16);
  EXPECT_TRUE(consists_of(beside, ElementKind::kDoubleInt));
  const TypeLayout before({{4, BasicType::kDouble, 1}, {0, BasicType::kInt32, 1}}, 16);
  EXPECT_FALSE(consists_of(before, ElementKind::kDoubleInt));
  const TypeLayout half({{0, BasicType::kDouble, 1}}, 8);
  EXPECT_FALSE(consists_of(half, ElementKind::kDoubleInt));
  const TypeLayout halves({{0, BasicType::kFloat, 1, 2, 12}}, 16);
  EXPECT_FALSE(consists_of(halves, ElementKind::kFloatComplex));
  const TypeLayout uneven({{0, BasicType::kFloat, 3}, {16, BasicType::kFloat, 1}}, 20);
  EXPECT_FALSE(consists_of(uneven, ElementKind::kFloatComplex));
}

}  // namespace
}  // namespace impishim::wire
