// SPDX-License-Identifier: Apache-2.0
// What follows from a spanning communicator's members: ranks on both sides, masters, and the IMPI
// colours; which of its ranks the short ways of messages inside this system take.
#include "shim/job/communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "shim/job/ranks_inside.hpp"

namespace impishim::shim {
namespace {

using ::testing::ElementsAre;

/// A job of clients that each have hosts with the given numbers of procs.
wire::JobMap job_of(const std::vector<std::vector<int>>& procs_of_hosts_of_clients) {
  std::vector<wire::Client> clients;
  std::vector<wire::Host> hosts;
  std::vector<wire::ProcId> procs;
  for (const auto& procs_of_hosts : procs_of_hosts_of_clients) {
    wire::Client client;
    client.host_count = static_cast<std::int32_t>(procs_of_hosts.size());
    for (const int count : procs_of_hosts) {
      client.proc_count += count;
      wire::Host host;
      host.proc_count = count;
      hosts.push_back(host);
      for (int i = 0; i < count; ++i)
        procs.push_back({{}, static_cast<std::int64_t>(procs.size() + 100)});
    }
    clients.push_back(client);
  }
  auto job = wire::JobMap::create(std::move(clients), std::move(hosts), std::move(procs), {});
  EXPECT_TRUE(job.ok()) << job.error().text;
  return std::move(job).value();
}

TEST(Communicator, TheWorldOfTwoSystems) {
  const wire::JobMap job = job_of({{2}, {1, 2}});
  const auto first = Communicator::create(job, 0, MPI_COMM_WORLD, 0, {0, 1, 2, 3, 4});
  EXPECT_EQ(first->size(), 5);
  EXPECT_EQ(first->rank, 0);
  EXPECT_THAT(first->local_ranks, ElementsAre(0, 1, -1, -1, -1));
  EXPECT_THAT(first->spanning_ranks, ElementsAre(0, 1));
  EXPECT_TRUE(first->local_ranks_are_spanning);
  EXPECT_THAT(first->masters, ElementsAre(0, 2));
  EXPECT_THAT(first->master_of, ElementsAre(0, 0, 1, 1, 1));
  EXPECT_EQ(first->host_count, 3);
  EXPECT_EQ(first->host_color, 0);
  EXPECT_EQ(first->client_color, 0);

  const auto last = Communicator::create(job, 4, MPI_COMM_WORLD, 0, {0, 1, 2, 3, 4});
  EXPECT_EQ(last->rank, 4);
  EXPECT_THAT(last->local_ranks, ElementsAre(-1, -1, 0, 1, 2));
  EXPECT_THAT(last->spanning_ranks, ElementsAre(2, 3, 4));
  EXPECT_FALSE(last->local_ranks_are_spanning);
  EXPECT_EQ(last->host_color, 2);
  EXPECT_EQ(last->client_color, 1);
}

TEST(Communicator, InterleavedAndReversedMembers) {
  // Ranks alternate between the systems, the second system first.
  const wire::JobMap job = job_of({{1, 1, 1}, {3}});
  const auto communicator = Communicator::create(job, 1, MPI_COMM_WORLD, 6, {5, 1, 3, 0});
  EXPECT_EQ(communicator->context, 6U);
  EXPECT_EQ(communicator->rank, 1);
  EXPECT_THAT(communicator->local_ranks, ElementsAre(-1, 0, -1, 1));
  EXPECT_THAT(communicator->spanning_ranks, ElementsAre(1, 3));
  EXPECT_FALSE(communicator->local_ranks_are_spanning);
  EXPECT_THAT(communicator->masters, ElementsAre(0, 1));
  EXPECT_THAT(communicator->master_of, ElementsAre(0, 1, 0, 1));
  // Hosts 0, 1 and 3 are in it; colours follow the order of hosts and clients in the world, not of
  // ranks.
  EXPECT_EQ(communicator->host_count, 3);
  EXPECT_EQ(communicator->host_color, 1);
  EXPECT_EQ(communicator->client_color, 0);
}

TEST(Communicator, MastersAreTheLowestRanksOfTheirClients) {
  const wire::JobMap job = job_of({{2}, {2}, {2}});
  const auto communicator = Communicator::create(job, 5, MPI_COMM_WORLD, 2, {4, 5, 1, 2, 0, 3});
  EXPECT_THAT(communicator->masters, ElementsAre(0, 2, 3));
  EXPECT_THAT(communicator->master_of, ElementsAre(0, 0, 1, 2, 1, 2));
  EXPECT_EQ(communicator->client_color, 2);
  EXPECT_TRUE(communicator->local_ranks_are_spanning);
}

TEST(Communicator, ValidRanks) {
  const wire::JobMap job = job_of({{1}, {1}});
  const auto communicator = Communicator::create(job, 0, MPI_COMM_WORLD, 0, {0, 1});
  EXPECT_TRUE(communicator->valid_rank(0));
  EXPECT_TRUE(communicator->valid_rank(1));
  EXPECT_FALSE(communicator->valid_rank(2));
  EXPECT_FALSE(communicator->valid_rank(-1));
}

TEST(RanksInside, AreThoseOfThisSystem) {
  const wire::JobMap job = job_of({{2}, {1, 2}});
  const RanksInside first(*Communicator::create(job, 0, MPI_COMM_WORLD, 0, {0, 1, 2, 3, 4}), false);
  EXPECT_TRUE(first.has(MPI_COMM_WORLD, 0));
  EXPECT_TRUE(first.has_source(MPI_COMM_WORLD, 1));
  EXPECT_FALSE(first.has(MPI_COMM_WORLD, 2));
  EXPECT_FALSE(first.has(MPI_COMM_SELF, 0));
  for (const int none : {MPI_PROC_NULL, MPI_ANY_SOURCE, 5})
    EXPECT_FALSE(first.has_source(MPI_COMM_WORLD, none));
  EXPECT_EQ(first.local_rank(1), 1);
  EXPECT_FALSE(first.renames_sources());

  const auto world = Communicator::create(job, 4, MPI_COMM_WORLD, 0, {0, 1, 2, 3, 4});
  const RanksInside last(*world, true);
  EXPECT_FALSE(last.has(MPI_COMM_WORLD, 1));
  EXPECT_TRUE(last.has_source(MPI_COMM_WORLD, 2));
  EXPECT_FALSE(last.has_source(MPI_COMM_SELF, 2));
  EXPECT_TRUE(last.has(MPI_COMM_WORLD, 4));
  for (const int none : {MPI_PROC_NULL, MPI_ANY_SOURCE, 5})
    EXPECT_FALSE(last.has(MPI_COMM_WORLD, none));
  EXPECT_EQ(last.local_rank(4), 2);
  EXPECT_EQ(last.offset(), 2);
  EXPECT_TRUE(last.renames_sources());
  // Sources that are not kept need a request of ours.
  EXPECT_FALSE(RanksInside(*world, false).has_source(MPI_COMM_WORLD, 4));
  EXPECT_TRUE(RanksInside(*world, false).has(MPI_COMM_WORLD, 4));
}

TEST(RanksInside, AreNoneWhereTheyDoNotStandSideBySide) {
  const wire::JobMap job = job_of({{1, 1, 1}, {3}});
  for (const auto& members :
       {std::vector<wire::WorldRank>{5, 1, 3, 0}, std::vector<wire::WorldRank>{1, 0, 5, 2}}) {
    const RanksInside inside(*Communicator::create(job, 1, MPI_COMM_WORLD, 0, members), true);
    for (int rank = 0; rank < 4; ++rank) EXPECT_FALSE(inside.has(MPI_COMM_WORLD, rank)) << rank;
  }
  EXPECT_FALSE(RanksInside().has(MPI_COMM_WORLD, 0));
}

}  // namespace
}  // namespace impishim::shim
