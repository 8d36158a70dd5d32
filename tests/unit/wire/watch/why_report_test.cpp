// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/why_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/wire/watch/job_states.hpp"

namespace impishim::wire {
namespace {

using test::JobOf;
using testing::HasSubstr;

std::string text_of(const JobState& state) { return why_text(state, find_stuck(state)); }

TEST(WhyReport, RanksThatDoTheSameShareALine) {
  JobOf job(4);
  for (std::int32_t rank = 0; rank < 3; ++rank) job.collects(rank, "MPI_Barrier", 2);
  job.process(1).calls[0].age_ms = 7100;
  EXPECT_EQ(text_of(job.state),
            "4 of 4 processes have answered, of 2 systems\n"
            "ranks 0-2: MPI_Barrier on world (collective 2), 5.0 to 7.1 s\n"
            "rank 3: outside of MPI since MPI_Init, 5.0 s\n"
            "MPI_Barrier on world, collective 2: begun by ranks 0-2, awaited: rank 3\n"
            "no deadlock is seen\n");
}

TEST(WhyReport, TellsADeadlock) {
  JobOf job(3);
  job.receives(0, 1);
  job.in(1, "MPI_Wait", {{AwaitedKind::kSend, 0, 9, test::kWorld, 0, "MPI_Issend"}});
  job.receives(2, 0);
  EXPECT_THAT(text_of(job.state),
              HasSubstr("deadlock: ranks 0-1 wait for each other in a cycle\n"
                        "  rank 0 waits for rank 1, in MPI_Recv on world, from rank 1 with tag 7\n"
                        "  rank 1 waits for rank 0, in MPI_Wait for MPI_Issend on world, to rank 0 "
                        "with tag 9\n"
                        "waiting behind these: rank 2\n"));
}

TEST(WhyReport, TellsAMismatch) {
  JobOf job(3);
  job.collects(0, "MPI_Allreduce", 1);
  job.collects(1, "MPI_Allreduce", 1);
  job.collects(2, "MPI_Bcast", 1);
  EXPECT_THAT(text_of(job.state),
              HasSubstr("mismatch in collective 1 on world: ranks 0-1 in MPI_Allreduce, rank 2 in "
                        "MPI_Bcast\n"));
}

TEST(WhyReport, TellsWhoHasNotAnswered) {
  JobOf job(1);
  job.state.size = 4;
  job.state.silent = {1};
  job.state.unwatched = {2, 3};
  const std::string text = text_of(job.state);
  EXPECT_THAT(text, HasSubstr("1 of 4 processes have answered"));
  EXPECT_THAT(text, HasSubstr("no answer from rank 1: "));
  EXPECT_THAT(text, HasSubstr("ranks 2-3 cannot be asked: "));
  EXPECT_THAT(text_of({}), HasSubstr("set IMPISHIM_MONITOR=on"));
}

TEST(WhyReport, JsonHasTheSame) {
  JobOf job(2);
  job.receives(0, 1);
  job.receives(1, 0, -1);
  job.process(1).host = "bad \xff byte";
  const auto json = nlohmann::json::parse(why_json(job.state, find_stuck(job.state)));
  EXPECT_EQ(json["stuck"], true);
  EXPECT_EQ(json["cycles"][0]["ranks"].size(), 2U);
  EXPECT_EQ(json["processes"][0]["calls"][0]["awaited"][0]["tag"], 7);
  EXPECT_TRUE(json["processes"][1]["calls"][0]["awaited"][0]["tag"].is_null());
  EXPECT_EQ(json["processes"][1]["calls"][0]["awaited"][0]["communicator"], "world");
}

}  // namespace
}  // namespace impishim::wire
