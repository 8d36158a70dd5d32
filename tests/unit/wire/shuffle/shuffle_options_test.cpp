// SPDX-License-Identifier: Apache-2.0
// The shuffle's options from the environment.
#include "wire/shuffle/shuffle_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace impishim::wire {
namespace {

class ShuffleVariables : public testing::Test {
 protected:
  void set(const char* name, const char* value) {
    setenv(name, value, 1);
    names_.emplace_back(name);
  }
  void TearDown() override {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }

 private:
  std::vector<std::string> names_;
};

TEST_F(ShuffleVariables, MayStayUnset) {
  const auto options = ShuffleOptions::from_environment();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->remote.maxrpc, ShuffleOptions().remote.maxrpc);
}

TEST_F(ShuffleVariables, AreRead) {
  set("IMPISHIM_SHUFFLE_LOMAXRPC", "1");
  set("IMPISHIM_SHUFFLE_LOBUFTARGET", "2");
  set("IMPISHIM_SHUFFLE_LRMAXRPC", "3");
  set("IMPISHIM_SHUFFLE_LRBUFTARGET", "4");
  set("IMPISHIM_SHUFFLE_RMAXRPC", "5");
  set("IMPISHIM_SHUFFLE_RBUFTARGET", "6");
  set("IMPISHIM_SHUFFLE_LOCALSENDERLIMIT", "7");
  set("IMPISHIM_SHUFFLE_REMOTESENDERLIMIT", "8");
  set("IMPISHIM_SHUFFLE_DELIVERQ_MAX", "10");
  set("IMPISHIM_SHUFFLE_DELIVERQ_THRESHOLD", "9");
  const auto options = ShuffleOptions::from_environment();
  ASSERT_TRUE(options.ok()) << options.error().text;
  EXPECT_EQ(options->local_origin.maxrpc, 1U);
  EXPECT_EQ(options->local_origin.buftarget, 2U);
  EXPECT_EQ(options->local_relay.maxrpc, 3U);
  EXPECT_EQ(options->local_relay.buftarget, 4U);
  EXPECT_EQ(options->remote.maxrpc, 5U);
  EXPECT_EQ(options->remote.buftarget, 6U);
  EXPECT_EQ(options->local_sender_limit, 7U);
  EXPECT_EQ(options->remote_sender_limit, 8U);
  EXPECT_EQ(options->deliverq_max, 10U);
  EXPECT_EQ(options->deliverq_threshold, 9U);
}

TEST_F(ShuffleVariables, AreCheckedByName) {
  set("IMPISHIM_SHUFFLE_RMAXRPC", "0");
  const auto zero = ShuffleOptions::from_environment();
  ASSERT_FALSE(zero.ok());
  EXPECT_THAT(zero.error().text, testing::HasSubstr("IMPISHIM_SHUFFLE_RMAXRPC=0"));
  set("IMPISHIM_SHUFFLE_RMAXRPC", "1");
  set("IMPISHIM_SHUFFLE_DELIVERQ_MAX", "3");
  set("IMPISHIM_SHUFFLE_DELIVERQ_THRESHOLD", "4");
  const auto above = ShuffleOptions::from_environment();
  ASSERT_FALSE(above.ok());
  EXPECT_THAT(above.error().text, testing::HasSubstr("must not be above"));
}

}  // namespace
}  // namespace impishim::wire
