// SPDX-License-Identifier: Apache-2.0
// Faults made on purpose, in the build with AddressSanitizer and UBSan: each must end the program
// that makes it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace impishim {
namespace {

// What the compiler cannot foresee.
volatile std::int32_t one = 1;

std::int32_t overflow() {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  return most + one;
}

std::int32_t read_unaligned() {
  alignas(std::int32_t) std::array<std::byte, 8> memory{};
  return *reinterpret_cast<const std::int32_t*>(memory.data() + one);
}

std::int32_t read_past_end() {
  const auto values = std::make_unique<std::int32_t[]>(4);
  return values[static_cast<std::size_t>(3 + one)];
}

std::int32_t read_what_is_gone() {
  auto value = std::make_unique<std::int32_t>(one);
  const std::int32_t* const kept = value.get();
  value.reset();
  return *kept;
}

TEST(SanitizersDeathTest, UndefinedBehaviourEndsTheProgram) {
  EXPECT_EXIT(one = overflow(), testing::ExitedWithCode(1), "signed integer overflow");
  EXPECT_EXIT(one = read_unaligned(), testing::ExitedWithCode(1), "misaligned address");
}

TEST(SanitizersDeathTest, AWrongAddressEndsTheProgram) {
  EXPECT_EXIT(one = read_past_end(), testing::ExitedWithCode(1), "heap-buffer-overflow");
  EXPECT_EXIT(one = read_what_is_gone(), testing::ExitedWithCode(1), "heap-use-after-free");
}

}  // namespace
}  // namespace impishim
