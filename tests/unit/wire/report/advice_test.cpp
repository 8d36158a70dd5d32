// SPDX-License-Identifier: Apache-2.0
#include "wire/report/advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_job.hpp"
#include "wire/statistics/call_scope.hpp"

namespace impishim::report {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::CallScope;

TEST(Advice, NothingStandsOut) { EXPECT_THAT(advice_for(job_of(four_processes())), IsEmpty()); }

TEST(Advice, ASystemThatWaitsInACollective) {
  auto processes = four_processes();
  for (auto& each : processes)
    add_function(each, "MPI_Allreduce", CallScope::kBetween, 10,
                 each.system == 1 ? 4 * kSecond : kSecond / 5);
  EXPECT_THAT(
      advice_for(job_of(processes)),
      ElementsAre(AllOf(HasSubstr("System 1 waits 38 % of its time in MPI_Allreduce for system 0"),
                        HasSubstr("3.8 s for each rank, beyond the 0.2 s"))));
}

TEST(Advice, CollectivesInsideASystemWaitForNoOther) {
  auto processes = four_processes();
  for (auto& each : processes)
    add_function(each, "MPI_Allreduce", CallScope::kInside, 10, 4 * kSecond * each.rank);
  EXPECT_THAT(advice_for(job_of(processes)), IsEmpty());
}

TEST(Advice, NamesThatNoFunctionHas) {
  auto processes = four_processes();
  for (auto& each : processes)
    add_function(each, "", CallScope::kBetween, 10, 4 * kSecond * (each.system + 1));
  EXPECT_THAT(advice_for(job_of(processes)), IsEmpty());
}

TEST(Advice, ARootDoesNotWaitInABroadcast) {
  auto processes = four_processes();
  for (auto& each : processes)
    add_function(each, "MPI_Bcast", CallScope::kBetween, 10, each.rank == 0 ? 1 : 4 * kSecond);
  EXPECT_THAT(advice_for(job_of(processes)), IsEmpty());
}

TEST(Advice, MessagesThatAreAwaited) {
  auto processes = four_processes();
  processes[0].waited_ns[1] = 3 * kSecond;
  processes[1].waited_ns[1] = 3 * kSecond;
  EXPECT_THAT(advice_for(job_of(processes)),
              ElementsAre(HasSubstr("System 0 is 30 % of its time in calls that wait for messages "
                                    "to or from system 1 alone")));
}

TEST(Advice, ShortMessagesBetweenSystems) {
  auto processes = four_processes();
  processes[2].message_bytes[index_of(CallScope::kBetween)].add(8, 3000);
  processes[2].message_bytes[index_of(CallScope::kBetween)].add(1 << 20, 1000);
  EXPECT_THAT(advice_for(job_of(processes)),
              ElementsAre(HasSubstr("3000 of 4000 messages between systems (75 %) have less")));
}

TEST(Advice, BytesThatCrossAndNeedNot) {
  auto processes = four_processes();
  processes[0].sent[1] = {1, 1 << 20};
  processes[0].sent[2] = {1, 3 << 20};
  EXPECT_THAT(advice_for(job_of(processes)),
              ElementsAre(HasSubstr("75 % of the bytes of messages cross")));
}

TEST(Advice, StallsAndEarlyMessages) {
  auto processes = four_processes();
  processes[3].counters = {{"messages_sent", 1000},
                           {"flow_control_stalls", 200},
                           {"messages_received", 400},
                           {"unexpected_messages", 300}};
  EXPECT_THAT(advice_for(job_of(processes)),
              ElementsAre(HasSubstr("System 1 had to wait for acknowledgements 200 times"),
                          HasSubstr("300 of 400 messages from other systems (75 %)")));
}

}  // namespace
}  // namespace impishim::report
