// SPDX-License-Identifier: Apache-2.0
// The environment's variables: what they allow, and what is said of the rest.
#include <gmock/gmock.h>

#include <cstdlib>

#include "wire/startup/startup_client.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

constexpr std::array kVariables = {
    "IMPISHIM_DATALEN",        "IMPISHIM_ACKMARK", "IMPISHIM_HIWATER", "IMPISHIM_COLL_XSIZE",
    "IMPISHIM_COLL_MAXLINEAR", "IMPISHIM_TAG_UB",  "IMPI_AUTH_KEY",    "IMPI_AUTH_NONE"};

class Settings : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : kVariables) unsetenv(name);
  }
  static Result<ClientValues> values_with(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    auto values = ClientValues::from_environment();
    unsetenv(name);
    return values;
  }
  static Result<AuthenticationMethods> methods_with(const char* name, const char* value) {
    setenv(name, value, 1);
    auto methods = AuthenticationMethods::from_environment();
    unsetenv(name);
    return methods;
  }
};

TEST_F(Settings, DefaultsWithoutVariables) {
  auto values = ClientValues::from_environment();
  ASSERT_TRUE(values.ok());
  EXPECT_EQ(values->datalen, 65536U);
  EXPECT_EQ(values->tag_ub, 2147483647);
  EXPECT_EQ(values->ackmark, 10U);
  EXPECT_EQ(values->hiwater, 20U);
  EXPECT_EQ(values->coll_xsize, -1);
  EXPECT_EQ(values->coll_maxlinear, -1);
}

TEST_F(Settings, ValuesInRangeAreTaken) {
  EXPECT_EQ(values_with("IMPISHIM_DATALEN", "1")->datalen, 1U);
  EXPECT_EQ(values_with("IMPISHIM_DATALEN", "16777216")->datalen, 16777216U);
  EXPECT_EQ(values_with("IMPISHIM_ACKMARK", "20")->ackmark, 20U);
  EXPECT_EQ(values_with("IMPISHIM_HIWATER", "10")->hiwater, 10U);
  EXPECT_EQ(values_with("IMPISHIM_HIWATER", "1048576")->hiwater, 1048576U);
  EXPECT_EQ(values_with("IMPISHIM_COLL_XSIZE", "0")->coll_xsize, 0);
  EXPECT_EQ(values_with("IMPISHIM_COLL_XSIZE", "-1")->coll_xsize, -1);
  EXPECT_EQ(values_with("IMPISHIM_COLL_MAXLINEAR", "2147483647")->coll_maxlinear, 2147483647);
  EXPECT_EQ(values_with("IMPISHIM_TAG_UB", "32767")->tag_ub, 32767);
}

TEST_F(Settings, TheRestIsRefusedByName) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"IMPISHIM_DATALEN",
       {"0", "-1", "16777217", "64K", "", " 5", "5 ", "0x10", "99999999999999999999"}},
      {"IMPISHIM_ACKMARK", {"0", "1048577", "ten"}},
      {"IMPISHIM_HIWATER", {"0", "1048577", "20.0"}},
      {"IMPISHIM_COLL_XSIZE", {"-2", "2147483648", "+1"}},
      {"IMPISHIM_COLL_MAXLINEAR", {"-2", "2147483648", "four"}},
      {"IMPISHIM_TAG_UB", {"32766", "2147483648", "-1"}}};
  for (const auto& [name, bad] : cases) {
    for (const std::string& value : bad) {
      auto values = values_with(name, value);
      ASSERT_FALSE(values.ok()) << name << "=" << value;
      EXPECT_EQ(values.error().kind, ErrorKind::kConfiguration);
      EXPECT_THAT(values.error().text,
                  HasSubstr(std::string(name) + "=" + value + " must be a number from "));
    }
  }
}

TEST_F(Settings, AckmarkAboveHiwaterIsRefused) {
  EXPECT_THAT(values_with("IMPISHIM_ACKMARK", "21").error().text,
              HasSubstr("IMPISHIM_ACKMARK (21) must not be above"));
  EXPECT_THAT(values_with("IMPISHIM_HIWATER", "9").error().text, HasSubstr("IMPISHIM_HIWATER (9)"));
}

TEST_F(Settings, AuthenticationMethods) {
  EXPECT_EQ(AuthenticationMethods::from_environment().error().kind, ErrorKind::kAuthentication);
  auto none = methods_with("IMPI_AUTH_NONE", "");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->enables(kAuthNone));
  EXPECT_FALSE(none->enables(kAuthKey));
  EXPECT_FALSE(none->enables(2));
  auto key = methods_with("IMPI_AUTH_KEY", "18446744073709551615");
  ASSERT_TRUE(key.ok());
  EXPECT_FALSE(key->enables(kAuthNone));
  EXPECT_TRUE(key->enables(kAuthKey));
  EXPECT_EQ(key->key_value, 18446744073709551615ULL);
  for (const char* bad : {"", "secret", "-1", "1.0", "18446744073709551616", "0x1", "1 "}) {
    auto methods = methods_with("IMPI_AUTH_KEY", bad);
    ASSERT_FALSE(methods.ok()) << bad;
    EXPECT_EQ(methods.error().text, "IMPI_AUTH_KEY must be a decimal 64-bit number");
  }
}

}  // namespace
}  // namespace impishim::wire
