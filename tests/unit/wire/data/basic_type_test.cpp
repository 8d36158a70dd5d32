// SPDX-License-Identifier: Apache-2.0
// Sizes of external32 (MPI-3.1 table 13.2) and of the wide form, names of formats, the
// representation's fingerprint.
#include "wire/data/basic_type.hpp"

#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

struct Sizes {
  BasicType type;
  std::size_t native;
  std::size_t external32;
  std::size_t wide;
};

TEST(BasicTypes, HaveTheStandardsSizes) {
  const Sizes table[] = {
      {BasicType::kByte, 1, 1, 1},
      {BasicType::kInt16, 2, 2, 2},
      {BasicType::kInt32, 4, 4, 4},
      {BasicType::kInt64, 8, 8, 8},
      {BasicType::kSignedLong, sizeof(long), 4, 8},
      {BasicType::kUnsignedLong, sizeof(unsigned long), 4, 8},
      {BasicType::kWideChar, sizeof(wchar_t), 2, 4},
      {BasicType::kFloat, 4, 4, 4},
      {BasicType::kDouble, 8, 8, 8},
      {BasicType::kLongDouble, sizeof(long double), 16, 16},
      {BasicType::kQuad, 16, 16, 16},
  };
  ASSERT_EQ(std::size(table), static_cast<std::size_t>(BasicType::kNumberOfTypes))
      << "a type without a row";
  for (const Sizes& row : table) {
    EXPECT_EQ(element_size(row.type, Format::kNative), row.native) << static_cast<int>(row.type);
    EXPECT_EQ(element_size(row.type, Format::kExternal32), row.external32)
        << static_cast<int>(row.type);
    EXPECT_EQ(element_size(row.type, Format::kWide), row.wide) << static_cast<int>(row.type);
  }
}

TEST(Formats, HaveNames) {
  for (const Format format : {Format::kNative, Format::kExternal32, Format::kWide}) {
    EXPECT_EQ(format_from_name(format_name(format)), format);
  }
  EXPECT_EQ(format_name(Format::kExternal32), "external32");
  EXPECT_EQ(format_name(Format::kNative), "native");
  for (const char* other : {"auto", "", "External32", "external64"})
    EXPECT_FALSE(format_from_name(other).has_value()) << other;
}

// Systems of different releases compare fingerprints, so the number for a machine never changes.
TEST(Fingerprint, IsTheSameInEveryRelease) {
#if defined(__x86_64__) && defined(__linux__)
  EXPECT_EQ(representation_fingerprint(), 0x76a6be882f53b60eULL);
#else
  EXPECT_NE(representation_fingerprint(), 0U);
#endif
}

}  // namespace
}  // namespace impishim::wire
