// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/wait_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/wire/watch/job_states.hpp"

namespace impishim::wire {
namespace {

using test::JobOf;
using test::kWorld;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

std::set<std::int32_t> ranks_of(const WaitCycle& cycle) {
  std::set<std::int32_t> ranks;
  for (const WaitStep& step : cycle.steps) ranks.insert(step.rank);
  return ranks;
}

TEST(WaitGraph, NoOneWaitsWhereAllCompute) {
  const JobOf job(3);
  const WaitFindings findings = find_stuck(job.state);
  EXPECT_FALSE(findings.stuck());
  EXPECT_THAT(findings.late, IsEmpty());
  EXPECT_THAT(findings.behind, IsEmpty());
}

TEST(WaitGraph, AChainThatEndsInOneThatComputesIsNoDeadlock) {
  JobOf job(3);
  job.receives(0, 1);
  job.receives(1, 2);
  const WaitFindings findings = find_stuck(job.state);
  EXPECT_FALSE(findings.stuck());
  EXPECT_THAT(findings.behind, IsEmpty());
}

TEST(WaitGraph, FindsACycleAndThoseBehindIt) {
  JobOf job(5);
  job.receives(0, 1);
  job.receives(1, 2);
  job.receives(2, 0);
  job.receives(3, 0);
  const WaitFindings findings = find_stuck(job.state);
  ASSERT_THAT(findings.cycles, SizeIs(1));
  EXPECT_TRUE(findings.cycles[0].certain);
  EXPECT_EQ(ranks_of(findings.cycles[0]), (std::set{0, 1, 2}));
  for (const WaitStep& step : findings.cycles[0].steps) {
    EXPECT_EQ(step.for_rank, (step.rank + 1) % 3);
    EXPECT_EQ(step.text,
              "in MPI_Recv on world, from rank " + std::to_string(step.for_rank) + " with tag 7");
  }
  EXPECT_THAT(findings.behind, ElementsAre(Pair(3, 3)));
}

TEST(WaitGraph, FindsTwoCycles) {
  JobOf job(4);
  job.receives(0, 1);
  job.receives(1, 0);
  job.receives(2, 3);
  job.receives(3, 2);
  EXPECT_THAT(find_stuck(job.state).cycles, SizeIs(2));
}

TEST(WaitGraph, ARankThatReceivesFromItselfIsACycle) {
  JobOf job(1);
  job.receives(0, 0);
  ASSERT_THAT(find_stuck(job.state).cycles, SizeIs(1));
}

TEST(WaitGraph, AYoungCallMayEnd) {
  JobOf job(2);
  job.receives(0, 1);
  job.receives(1, 0).age_ms = 999;
  EXPECT_FALSE(find_stuck(job.state).stuck());
}

TEST(WaitGraph, AnyMemberCanEndAReceiveFromAnySource) {
  JobOf job(3);
  job.receives(0, kAnyPeer);
  job.receives(1, kAnyPeer);
  EXPECT_FALSE(find_stuck(job.state).stuck());
  job.receives(2, 0);
  EXPECT_TRUE(find_stuck(job.state).stuck());
}

TEST(WaitGraph, AMemberThatDoesNotAnswerMayEndAReceiveFromAnySource) {
  JobOf job(3);
  job.receives(0, kAnyPeer);
  job.receives(1, 0);
  job.state.processes.pop_back();
  EXPECT_FALSE(find_stuck(job.state).stuck());
}

TEST(WaitGraph, OneOfSeveralRequestsIsEnough) {
  JobOf job(3);
  MonitoredCall& call = job.in(0, "MPI_Waitany",
                               {{AwaitedKind::kReceive, 1, 7, kWorld, 0, "MPI_Irecv"},
                                {AwaitedKind::kReceive, 2, 7, kWorld, 0, "MPI_Irecv"}});
  call.any_ends = true;
  job.receives(1, 0);
  EXPECT_FALSE(find_stuck(job.state).stuck());
  call.any_ends = false;
  const WaitFindings findings = find_stuck(job.state);
  ASSERT_THAT(findings.cycles, SizeIs(1));
  EXPECT_FALSE(findings.cycles[0].certain);
}

TEST(WaitGraph, RequestsThatAreNotListedMayEndAWaitForAny) {
  JobOf job(2);
  MonitoredCall& call =
      job.in(0, "MPI_Waitany", {{AwaitedKind::kReceive, 1, 7, kWorld, 0, "MPI_Irecv"}});
  call.any_ends = true;
  call.awaited_count = 2;
  job.receives(1, 0);
  EXPECT_FALSE(find_stuck(job.state).stuck());
}

TEST(WaitGraph, AThreadOutsideOfMpiMayEndTheOthersWait) {
  JobOf job(2);
  job.receives(0, 1);
  job.receives(1, 0);
  job.process(1).calls.push_back({false, false, "MPI_Send", 1, 0, {}});
  EXPECT_FALSE(find_stuck(job.state).stuck());
}

TEST(WaitGraph, NamesThoseThatACollectiveWaitsFor) {
  JobOf job(4);
  job.collects(0, "MPI_Barrier", 3);
  job.collects(1, "MPI_Barrier", 3);
  job.process(2).groups[0].begun = 3;  // has left it
  job.process(2).groups[0].latest = "MPI_Barrier";
  const WaitFindings findings = find_stuck(job.state);
  EXPECT_FALSE(findings.stuck());
  ASSERT_THAT(findings.late, SizeIs(1));
  EXPECT_EQ(findings.late[0].function, "MPI_Barrier");
  EXPECT_EQ(findings.late[0].number, 3U);
  EXPECT_EQ(rank_text(findings.late[0].waiting), "0-1");
  EXPECT_EQ(rank_text(findings.late[0].late), "3");
}

TEST(WaitGraph, ACollectiveAndAReceiveMakeACycle) {
  JobOf job(2);
  job.collects(0, "MPI_Barrier", 1);
  job.receives(1, 0);
  const WaitFindings findings = find_stuck(job.state);
  ASSERT_THAT(findings.cycles, SizeIs(1));
  EXPECT_TRUE(findings.cycles[0].certain);
}

TEST(WaitGraph, NamesCollectivesThatDoNotFit) {
  JobOf job(5);
  for (std::int32_t rank = 0; rank < 4; ++rank) job.collects(rank, "MPI_Allreduce", 2);
  job.collects(4, "MPI_Bcast", 2);
  const WaitFindings findings = find_stuck(job.state);
  ASSERT_THAT(findings.mismatches, SizeIs(1));
  EXPECT_EQ(findings.mismatches[0].group, "world");
  EXPECT_EQ(rank_text(findings.mismatches[0].functions.at("MPI_Allreduce")), "0-3");
  EXPECT_EQ(rank_text(findings.mismatches[0].functions.at("MPI_Bcast")), "4");
}

TEST(WaitGraph, AMemberThatHasLeftAnotherCollectiveIsNamedToo) {
  JobOf job(2);
  job.collects(0, "MPI_Allreduce", 2);
  job.process(1).groups[0].begun = 2;
  job.process(1).groups[0].latest = "MPI_Bcast";
  EXPECT_THAT(find_stuck(job.state).mismatches, SizeIs(1));
}

TEST(WaitGraph, TheFormForLargeCountsFits) {
  JobOf job(2);
  job.collects(0, "MPI_Bcast", 1);
  job.collects(1, "MPI_Bcast_c", 1);
  EXPECT_FALSE(find_stuck(job.state).stuck());
}

TEST(WaitGraph, SurvivesGroupsThatLie) {
  JobOf job(2);
  job.collects(0, "MPI_Barrier", 1);
  job.process(0).groups[0].members = {{0, 2147483647}};
  job.receives(1, 2147483647);
  EXPECT_FALSE(find_stuck(job.state).stuck());
}

}  // namespace
}  // namespace impishim::wire
