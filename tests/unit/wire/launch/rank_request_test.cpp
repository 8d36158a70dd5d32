// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/output/rank_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace impishim::launch {
namespace {

using ::testing::HasSubstr;

TEST(RankRequest, WordsAreReadBack) {
  RankOutputRequest request;
  request.socket = "/tmp/x=y/s";
  request.system = 3;
  request.first_rank = 8;
  request.label = true;
  request.out_pattern = "out.%r";
  request.error_pattern = "err.%n";
  auto words = request.words();
  words.emplace_back("./program");
  std::size_t taken = 0;
  const auto read = RankOutputRequest::parse(words, taken);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(taken, words.size() - 1);
  EXPECT_EQ(read->words(), request.words());
  EXPECT_FALSE(RankOutputRequest::parse({"label"}, taken));
  EXPECT_FALSE(RankOutputRequest::parse({"system=x", "--"}, taken));
}

TEST(RankRequest, Patterns) {
  RankOutputRequest request;
  request.system = 1;
  request.first_rank = 4;
  EXPECT_EQ(*expand_output_pattern("%h/%s.%n.%r.100%%", request, 2, "node"), "node/1.2.6.100%");
  EXPECT_EQ(*expand_output_pattern("%h/%s", request, -1, "node"), "node/1");
  EXPECT_THAT(expand_output_pattern("out.%n", request, -1, "node").error().text,
              HasSubstr("does not tell its processes their ranks"));
  EXPECT_TRUE(check_output_pattern("out.%r", true, true));
  EXPECT_TRUE(check_output_pattern("out.%s", true, false));
  EXPECT_THAT(check_output_pattern("out.%r", false, true).error().text, HasSubstr("use %n"));
  EXPECT_THAT(check_output_pattern("out.%s", true, true).error().text, HasSubstr("put %r or %n"));
  EXPECT_THAT(check_output_pattern("out.%x", true, true).error().text,
              HasSubstr("behind % stands"));
  EXPECT_THAT(check_output_pattern("out.%n%", true, true).error().text,
              HasSubstr("behind % stands"));
}

}  // namespace
}  // namespace impishim::launch
