// SPDX-License-Identifier: Apache-2.0
// Routes: every process reaches every other in at most three hops, with and without gateways.
#include "wire/topology/route.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"

namespace impishim::wire {
namespace {

using test::JobShape;
using test::make_job;
using testing::ElementsAre;
using testing::IsEmpty;

struct Shape {
  std::vector<std::vector<int>> procs_of_hosts;
  std::vector<int> gateways;
  std::int32_t lanes = 1;
};

JobMap job_of(const Shape& shape) {
  JobShape job;
  job.procs_of_hosts = shape.procs_of_hosts;
  job.gateways = shape.gateways;
  job.values.lanes = shape.lanes;
  return make_job(job);
}

/// Systems with and without gateways side by side; gateways at either end and in the middle.
std::vector<Shape> shapes() {
  return {{{{1}, {1}}, {0, 0}},
          {{{4}, {3}}, {2, 0}},
          {{{4}, {3}}, {3, -1}},
          {{{3, 2}, {2, 2}}, {1, 1, -1, -1}},
          {{{5, 1, 2}, {3}, {2, 4}}, {4, 0, 1, -1, 0, 2}},
          {{{6}}, {3}},
          {{{4}, {4}}, {-1, -1}, 2},
          {{{4}, {4}}, {-1, -1}, 4},
          {{{4, 4}, {4, 4}}, {}, 3},
          {{{5, 1, 2}, {3}, {2, 4}}, {}, 3},
          {{{5, 1, 2}, {3}, {2, 4}}, {4, 0, 1, -1, -1, -1}, 2},
          {{{6}}, {-1}, 3}};
}

const Host& host_of(const JobMap& job, WorldRank proc) { return job.host(job.proc(proc).host); }

TEST(Routes, EverybodyReachesEverybodyAlongLinks) {
  for (const Shape& shape : shapes()) {
    const JobMap job = job_of(shape);
    for (WorldRank from = 0; from < job.size(); ++from) {
      for (WorldRank to = 0; to < job.size(); ++to) {
        int hops = 0;
        for (WorldRank at = from; at != to; ++hops) {
          ASSERT_LT(hops, 3) << from << " to " << to;
          const NextHop hop = next_linked_hop(job, at, from, to);
          if (hop.kind == NextHop::Kind::kLocal) {
            EXPECT_THAT(local_partners(job, at), testing::Contains(hop.proc)) << at << " to " << to;
            at = hop.proc;
          } else {
            ASSERT_EQ(hop.kind, NextHop::Kind::kRemote);
            EXPECT_THAT(hosts_represented_by(job, at), testing::Contains(hop.host))
                << at << " to " << to;
            at = receiving_representative(job, from, hop.host);
          }
        }
        // What crosses hosts needs no other links than next_hop() does: the engine and the shuffle
        // share them.
        if (&host_of(job, from) != &host_of(job, to)) {
          EXPECT_EQ(next_hop(job, from, from, to).proc, next_linked_hop(job, from, from, to).proc);
        }
      }
    }
  }
}

TEST(Routes, PartnersNameEachOther) {
  for (const Shape& shape : shapes()) {
    const JobMap job = job_of(shape);
    for (WorldRank proc = 0; proc < job.size(); ++proc) {
      for (const WorldRank other : local_partners(job, proc)) {
        EXPECT_THAT(local_partners(job, other), testing::Contains(proc))
            << proc << " and " << other;
      }
    }
  }
}

TEST(Routes, EveryChannelHasOneOwner) {
  for (const Shape& shape : shapes()) {
    const JobMap job = job_of(shape);
    for (std::int32_t host = 0; host < static_cast<std::int32_t>(job.hosts().size()); ++host) {
      const Host& it = job.host(host);
      std::vector<std::int32_t> owned;
      for (WorldRank proc = it.first_proc; proc < it.first_proc + it.proc_count; ++proc) {
        for (const std::int32_t remote : hosts_represented_by(job, proc)) {
          EXPECT_EQ(sending_representative(job, proc, remote), proc);
          owned.push_back(remote);
        }
      }
      for (std::int32_t remote = 0; remote < static_cast<std::int32_t>(job.hosts().size());
           ++remote) {
        const auto channels = std::count(owned.begin(), owned.end(), remote);
        EXPECT_EQ(channels, remote == host ? 0 : lanes_between(job, host, remote));
      }
    }
  }
}

/// With as many lanes as procs, each proc has a channel of its own to each host.
TEST(Routes, LanesSaveTheFirstHop) {
  const JobMap job = job_of({{{4, 4}, {4, 4}}, {}, 4});
  for (WorldRank from = 0; from < 8; ++from) {
    std::int32_t received_here = 0;
    for (WorldRank to = 8; to < 16; ++to) {
      EXPECT_EQ(next_hop(job, from, from, to).kind, NextHop::Kind::kRemote);
      received_here += receiving_representative(job, from, job.proc(to).host) == to ? 1 : 0;
    }
    EXPECT_EQ(received_here, 2) << "one in each of the two hosts";
  }
}

TEST(Routes, AGatewayIsTheMiddleOfAStar) {
  const JobMap job = job_of({{{4}, {2, 3}}, {2, -1, -1}});
  EXPECT_THAT(local_partners(job, 0), ElementsAre(2));
  EXPECT_THAT(local_partners(job, 2), ElementsAre(0, 1, 3));
  EXPECT_THAT(hosts_represented_by(job, 2), ElementsAre(1, 2));
  EXPECT_THAT(hosts_represented_by(job, 0), IsEmpty());
  EXPECT_EQ(sending_representative(job, 0, 1), 2);
  EXPECT_EQ(sending_representative(job, 3, 2), 2);
  EXPECT_EQ(connecting_proc(job.hosts()[0]), 2);
  EXPECT_EQ(connecting_proc(job.hosts()[1]), 4);
  EXPECT_EQ(next_linked_hop(job, 0, 0, 3).proc, 2);
  EXPECT_EQ(next_linked_hop(job, 2, 0, 3).proc, 3);
}

}  // namespace
}  // namespace impishim::wire
