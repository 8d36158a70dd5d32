// SPDX-License-Identifier: Apache-2.0
#include "wire/statistics/process_statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "wire/statistics/call_scope.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

ProcessStatistics example() {
  ProcessStatistics all;
  all.job = "00ff";
  all.rank = 2;
  all.size = 4;
  all.system = 1;
  all.host = "node \"7\" </script>";
  all.library = "MPICH Version: 4.0.2";
  all.began_us = 1700000000000000;
  all.elapsed_ns = 5000000;
  all.hops["sent_local_origin"] = {3, 400};
  all.counters["messages_sent"] = 9;
  all.systems.push_back({0, {1, 2}, {3, 4}});
  FunctionTime function{"MPI_Send", {}};
  function.scopes[index_of(CallScope::kBetween)].calls = 1;
  function.scopes[index_of(CallScope::kBetween)].ns = 77;
  function.scopes[index_of(CallScope::kBetween)].durations.add(77);
  all.functions.push_back(function);
  all.waited_ns[0] = 12;
  all.sent[3] = {5, 60};
  all.message_bytes[0].add(12, 5);
  all.batch_bytes[1].add(300, 2);
  all.answer_ns.add(70000);
  all.bin_ns = 1000000;
  all.time_line.push_back({{1, 2, 3}, {4, 5, 6}});
  return all;
}

std::string reason(const std::string& text) {
  const auto read = read_statistics(text);
  return read ? "none" : read.error().text;
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = json_text(example());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ProcessStatistics, WhatIsWrittenIsReadAgain) {
  const ProcessStatistics before = example();
  const auto after = read_statistics(json_text(before));
  ASSERT_TRUE(after) << after.error().text;
  EXPECT_EQ(json_text(*after), json_text(before));
  EXPECT_EQ(after->host, before.host);
  EXPECT_EQ(after->sent.at(3), before.sent.at(3));
  EXPECT_EQ(after->functions.at(0).scopes[1].ns, 77U);
  EXPECT_EQ(after->time_line.at(0).bytes[2], 6U);
  EXPECT_EQ(after->batch_bytes[1].counts, before.batch_bytes[1].counts);
  EXPECT_EQ(after->answer_ns.counts, before.answer_ns.counts);
}

TEST(ProcessStatistics, FilesWithoutBatchesAreRead) {
  std::string text = json_text(example());
  const std::size_t begin = text.find("  \"batch_bytes\"");
  text.erase(begin, text.find("  \"time_line\"") - begin);
  const auto read = read_statistics(text);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->batch_bytes[1].used(), 0U);
  EXPECT_EQ(read->answer_ns.used(), 0U);
}

TEST(ProcessStatistics, HasTheMembersThatScriptsKnow) {
  const std::string text = json_text(example());
  EXPECT_THAT(text, HasSubstr("\n  \"rank\": 2,"));
  EXPECT_THAT(text, HasSubstr("\n  \"sent_local_origin\": {\"packets\": 3, \"bytes\": 400},"));
  EXPECT_THAT(text, HasSubstr("\n  \"messages_sent\": 9,"));
}

TEST(ProcessStatistics, BadTextIsRefused) {
  const std::string good = json_text(example());
  EXPECT_THAT(reason(good.substr(0, good.size() / 2)), HasSubstr("parse error"));
  EXPECT_THAT(reason("{}"), HasSubstr("no statistics of this library"));
  EXPECT_THAT(reason("[1]"), HasSubstr("no statistics of this library"));
  EXPECT_THAT(reason(with("\"impishim_statistics\": 1", "\"impishim_statistics\": 2")),
              HasSubstr("version 2, and this program reads version 1"));
  EXPECT_THAT(reason(with("\"rank\": 2", "\"rank\": 4")), HasSubstr("not below"));
  EXPECT_THAT(reason(with("\"rank\": 2", "\"rank\": -2")), HasSubstr("negative"));
  EXPECT_THAT(reason(with("\"rank\": 2", "\"rank\": 1e99")), HasSubstr("none"));
  EXPECT_THAT(reason(with("\"size\": 4", "\"size\": 99999999999")), HasSubstr("too large"));
  EXPECT_THAT(reason(with("\"size\": 4", "\"size\": 2000000000")), HasSubstr("too large"));
  EXPECT_THAT(reason(with("{\"3\":", "{\"x\":")), HasSubstr("\"x\" is no rank"));
  EXPECT_THAT(reason(with("\"bin_ns\":1000000", "\"bin_ns\":0")), HasSubstr("no width"));
  EXPECT_THAT(reason(with("\"job\": ", "\"jobs\": ")), HasSubstr("'job' not found"));
}

}  // namespace
}  // namespace impishim::wire
