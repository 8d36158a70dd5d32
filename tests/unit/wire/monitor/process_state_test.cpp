// SPDX-License-Identifier: Apache-2.0
#include "wire/monitor/process_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "wire/monitor/monitor_message.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::Pair;

ProcessState full_state() {
  ProcessState state{3, 1, 4711, "node1", {}, {}, ProcessCounters()};
  state.groups.push_back({5, "dup of world", {{0, 3}, {8, 8}}, 7, "MPI_Bcast"});
  state.calls.push_back(
      {true, false, "MPI_Recv", 1234, 1, {{AwaitedKind::kReceive, 2, 17, 5, 0, ""}}});
  state.calls.push_back({true,
                         true,
                         "MPI_Waitany",
                         1,
                         9,
                         {{AwaitedKind::kSend, kAnyPeer, -1, 5, 0, "MPI_Isend"},
                          {AwaitedKind::kCollective, kAnyPeer, 0, 5, 7, "MPI_Ibarrier"},
                          {}}});
  state.counters->sent_bytes = 1ULL << 40U;
  state.counters->resident_bytes = 77;
  state.counters->systems = {{0, 1, 2, 3, 4}};
  return state;
}

TEST(ProcessState, ComesBackFromItsBytes) {
  const auto decoded = decode_process_state(encode(full_state()));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, full_state());
}

TEST(ProcessState, WithoutCountersIsShorter) {
  ProcessState state = full_state();
  state.counters.reset();
  const auto decoded = decode_process_state(encode(state));
  ASSERT_TRUE(decoded);
  EXPECT_FALSE(decoded->counters);
}

TEST(ProcessState, EveryCutIsNoticed) {
  const auto bytes = encode(full_state());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_process_state(std::span(bytes).first(size))) << size;
  auto longer = bytes;
  longer.push_back({});
  EXPECT_FALSE(decode_process_state(longer));
}

TEST(ProcessState, WrongValuesAreRefused) {
  const auto refused = [](auto change) {
    ProcessState state = full_state();
    change(state);
    return !decode_process_state(encode(state));
  };
  EXPECT_TRUE(refused([](ProcessState& s) { s.rank = -1; }));
  EXPECT_TRUE(refused([](ProcessState& s) { s.system = 32; }));
  EXPECT_TRUE(refused([](ProcessState& s) { s.groups[0].members = {{3, 1}}; }));
  EXPECT_TRUE(refused([](ProcessState& s) { s.groups[0].members = {{0, 3}, {3, 5}}; }));
  EXPECT_TRUE(refused([](ProcessState& s) { s.calls[0].awaited[0].peer = -2; }));
  EXPECT_TRUE(refused([](ProcessState& s) { s.calls[0].awaited_count = 0; }));
  EXPECT_TRUE(refused([](ProcessState& s) { s.counters->systems[0].system = -1; }));
}

TEST(ProcessState, LongTextsAndListsAreCut) {
  ProcessState state = full_state();
  state.host = std::string(1000, 'h');
  state.calls.resize(100, state.calls[0]);
  state.calls[0].awaited.resize(20);
  state.calls[0].awaited_count = 20;
  const auto decoded = decode_process_state(encode(state));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->host.size(), kLongestMonitoredText);
  EXPECT_EQ(decoded->calls.size(), kMostCalls);
  EXPECT_EQ(decoded->calls[0].awaited.size(), kMostAwaited);
  EXPECT_EQ(decoded->calls[0].awaited_count, 20U);
}

TEST(ProcessState, GroupsOfManyRangesDoNotMakeItTooLong) {
  ProcessState state = full_state();
  std::vector<std::int32_t> even;
  for (std::int32_t rank = 0; rank < 2000; rank += 2) even.push_back(rank);
  state.groups.resize(500, {9, "even", rank_list(even), 0, ""});
  const auto bytes = encode(state);
  EXPECT_LE(bytes.size(), kMaxProcessState);
  EXPECT_TRUE(decode_process_state(bytes));
}

TEST(RankList, HasRangesOfAnyOrder) {
  EXPECT_THAT(rank_list({8, 2, 1, 0, 2}), ElementsAre(Pair(0, 2), Pair(8, 8)));
  EXPECT_EQ(rank_text({{0, 2}, {8, 8}}), "0-2,8");
  EXPECT_TRUE(contains({{0, 2}, {8, 8}}, 8));
  EXPECT_FALSE(contains({{0, 2}, {8, 8}}, 3));
  EXPECT_EQ(rank_text({}), "");
}

TEST(MonitorMessage, ComeBackFromTheirBytes) {
  EXPECT_EQ(decode_monitor_hello(encode(MonitorHello{1, 2, 3})), (MonitorHello{1, 2, 3}));
  EXPECT_EQ(decode_monitor_question(encode(MonitorQuestion{9, kWantsAll})),
            (MonitorQuestion{9, kWantsAll}));
  EXPECT_EQ(decode_monitor_end(encode(MonitorEnd{8, 4, {1, 7}})), (MonitorEnd{8, 4, {1, 7}}));
}

TEST(MonitorMessage, WrongOnesAreRefused) {
  EXPECT_FALSE(decode_monitor_hello(encode(MonitorHello{1, 3, 3})));
  EXPECT_FALSE(decode_monitor_hello(encode(MonitorHello{-1, 0, 3})));
  EXPECT_FALSE(decode_monitor_question(encode(MonitorQuestion{1, 0})));
  EXPECT_FALSE(decode_monitor_question(encode(MonitorQuestion{1, 8})));
  EXPECT_FALSE(decode_monitor_end(encode(MonitorEnd{2, 3, {}})));
  EXPECT_FALSE(decode_monitor_end(encode(MonitorEnd{8, 1, {1, 2}})));
  EXPECT_FALSE(decode_monitor_end(encode(MonitorEnd{8, 2, {8}})));
  EXPECT_FALSE(decode_monitor_hello({}));
}

}  // namespace
}  // namespace impishim::wire
