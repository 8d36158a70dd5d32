// SPDX-License-Identifier: Apache-2.0
// long double: x87's 80 bits to IEEE binary128 and back. The binary128 forms of constants are the
// published ones (IEEE 754-2008 3.4).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/unit/wire/data/bytes_of.hpp"
#include "tests/unit/wire/data/reference.hpp"

namespace impishim::wire {
namespace {

using Limits = std::numeric_limits<long double>;

std::string wire_form(long double value) {
  return packed(BasicType::kLongDouble, Format::kExternal32, std::vector<long double>{value});
}

long double machine_form(const std::string& digits) {
  return unpacked<long double>(BasicType::kLongDouble, Format::kExternal32, digits).at(0);
}

TEST(LongDouble, HasTheBitsOfBinary128) {
  const std::pair<long double, const char*> known[] = {
      {0.0L, "00000000000000000000000000000000"},
      {-0.0L, "80000000000000000000000000000000"},
      {1.0L, "3fff0000000000000000000000000000"},
      {-2.0L, "c0000000000000000000000000000000"},
      {0.5L, "3ffe0000000000000000000000000000"},
      {1.5L, "3fff8000000000000000000000000000"},
      {65504.0L, "400effc0000000000000000000000000"},
      {Limits::infinity(), "7fff0000000000000000000000000000"},
      {-Limits::infinity(), "ffff0000000000000000000000000000"},
      {std::ldexp(1.0L, -16382), "00010000000000000000000000000000"},  // smallest normal
      {std::ldexp(1.0L, -16383), "00008000000000000000000000000000"},  // denormal
  };
  for (const auto& [value, digits] : known) {
    EXPECT_EQ(wire_form(value), digits) << value;
    const long double back = machine_form(digits);
    EXPECT_EQ(back, value);
    EXPECT_EQ(std::signbit(back), std::signbit(value)) << value;
  }
}

TEST(LongDouble, IsTheSameInTheWideForm) {
  const std::vector<long double> values = {1.0L, -3.25L};
  EXPECT_EQ(packed(BasicType::kLongDouble, Format::kWide, values),
            "3fff0000000000000000000000000000c000a000000000000000000000000000");
}

TEST(LongDouble, KeepsNotANumberOne) {
  const std::string digits = wire_form(Limits::quiet_NaN());
  EXPECT_EQ(digits.substr(0, 5), "7fff8");
  EXPECT_TRUE(std::isnan(machine_form(digits)));
  // All of its payload lies in bits that x87 does not have: still no infinity.
  EXPECT_TRUE(std::isnan(machine_form("7fff0000000000000000000000000001")));
  EXPECT_TRUE(std::isnan(machine_form("ffff0000000000000000000000000001")));
}

TEST(LongDouble, RoundTripsEveryKindOfValue) {
  std::mt19937_64 random(7);
  std::vector<long double> values = {Limits::max(),
                                     Limits::lowest(),
                                     Limits::min(),
                                     Limits::denorm_min(),
                                     -Limits::denorm_min(),
                                     Limits::epsilon(),
                                     1.0L + Limits::epsilon(),
                                     Limits::min() - Limits::denorm_min(),
                                     3.141592653589793238462643383279502884L};
  for (int i = 0; i < 20000; ++i) {
    const auto exponent = static_cast<int>(random() % 32900) - 16510;  // denormals among them
    values.push_back(std::ldexp(static_cast<long double>(random() | 1U), exponent));
  }
  for (const long double value : values) {
    const std::string digits = wire_form(value);
    const auto bytes = reference::element_to_wire(BasicType::kLongDouble, Format::kExternal32,
                                                  reinterpret_cast<const std::byte*>(&value));
    if (std::isfinite(value)) {
      ASSERT_EQ(digits, hex(bytes)) << value;
    }
    ASSERT_EQ(machine_form(digits), value);
  }
}

#if defined(__x86_64__) && defined(__linux__)
TEST(LongDouble, RoundsPeersExtraBitsToNearestEven) {
  // 64 bits of significand here: binary128's last 49 bits are rounded.
  const std::string half = "0001000000000000";  // of the last place that x87 has
  EXPECT_EQ(machine_form("3fff000000000000" + half), 1.0L) << "a tie goes to the even one";
  EXPECT_EQ(machine_form("3fff000000000000"
                         "0001000000000001"),
            1.0L + Limits::epsilon());
  EXPECT_EQ(machine_form("3fff000000000000"
                         "0003000000000000"),
            1.0L + 2 * Limits::epsilon());
  EXPECT_EQ(machine_form("3fff000000000000"
                         "0000ffffffffffff"),
            1.0L);
  EXPECT_EQ(machine_form("3fffffffffffffff"
                         "ffffffffffffffff"),
            2.0L)
      << "the carry reaches the exponent";
  EXPECT_EQ(machine_form("7ffeffffffffffff"
                         "ffffffffffffffff"),
            Limits::infinity())
      << "beyond the largest";
  EXPECT_EQ(machine_form("0000ffffffffffff"
                         "ffffffffffffffff"),
            Limits::min())
      << "the largest denormal becomes normal";
  EXPECT_EQ(machine_form("00000000000000000000000000000001"), 0.0L);
}

TEST(LongDouble, PiIsExact) {
  EXPECT_EQ(wire_form(3.14159265358979323846264338327950288L), "4000921fb54442d1846a000000000000");
  // binary128's own pi comes out as the nearest of ours.
  EXPECT_EQ(machine_form("4000921fb54442d18469898cc51701b8"),
            3.14159265358979323846264338327950288L);
}

TEST(LongDouble, LeavesNothingInPadding) {
  std::vector<std::byte> memory(16, std::byte{0xff});
  UnpackCursor cursor({memory.data(), 1, &TypeLayout::basic(BasicType::kLongDouble)},
                      Format::kExternal32);
  ASSERT_TRUE(cursor.unpack(bytes_of_hex("3fff0000000000000000000000000000")).ok());
  EXPECT_EQ(hex(memory), "0000000000000080ff3f000000000000");
}
#endif

}  // namespace
}  // namespace impishim::wire
