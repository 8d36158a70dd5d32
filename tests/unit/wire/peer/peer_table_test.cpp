// SPDX-License-Identifier: Apache-2.0
#include "wire/peer/peer_table.hpp"

#include <gtest/gtest.h>

#include "tests/unit/wire/path/path_parts.hpp"
#include "wire/peer/link.hpp"

namespace impishim::wire::test {
namespace {

/// Two systems of one host with two processes each, and a foreign one. Ranks 0 and 1 are on host
/// 0, 2 and 3 on host 1, 4 on host 2. Hosts 0 and 1 are represented by ranks 1 and 3 towards host
/// 2, or by the others: the route decides.
const JobShape kShape{.procs_of_hosts = {{2}, {2}, {1}},
                      .values = {.datalen = 1000, .ackmark = 3, .hiwater = 9},
                      .foreign = {2}};

WorldRank representative_towards(const PathParts& parts, std::int32_t host) {
  return sending_representative(parts.settings.job, 0, host);
}

TEST(PeerTable, ACreditLimitIsOnLinksToProcessesOfThisLibraryOnly) {
  const PathParts probe(kShape, 0);
  PathParts parts(kShape, representative_towards(probe, 2));
  EXPECT_FALSE(parts.link_to_host(2).gives_credit);
  PathParts others(kShape, representative_towards(probe, 1));
  EXPECT_TRUE(others.link_to_host(1).gives_credit);
}

TEST(PeerTable, PacketsLeaveByTheRepresentative) {
  PathParts parts(kShape, 0);
  const WorldRank representative = representative_towards(parts, 1);
  Link* const link = parts.peers.link_towards(0, 2);
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link, representative == 0 ? &parts.link_to_host(1) : &parts.link_to_proc(1));
  EXPECT_EQ(parts.peers.link_towards(0, 1), &parts.link_to_proc(1));
  EXPECT_EQ(parts.peers.link_towards(0, 0), nullptr);
  EXPECT_EQ(parts.peers.peer(2).link, link);
}

TEST(PeerTable, FlowControlTowardsForeignPeersCountsPackets) {
  PathParts parts(kShape, 0);
  EXPECT_TRUE(parts.peers.peer(4).marks.counts_control());
  EXPECT_EQ(parts.peers.peer(4).marks.hiwater(), 9U);
  EXPECT_FALSE(parts.peers.peer(2).marks.counts_control());
  EXPECT_EQ(parts.peers.peer(2).marks.hiwater(), 9 * FlowMarks::kFullPacket);
}

TEST(PeerTable, AHostSpeaksForItsOwnProcessesOnly) {
  const PathParts probe(kShape, 0);
  const WorldRank here = representative_towards(probe, 1);
  PathParts parts(kShape, here);
  const Link& remote = parts.link_to_host(1);
  EXPECT_TRUE(parts.peers.speaks_for(remote, 2));
  EXPECT_TRUE(parts.peers.speaks_for(remote, 3));
  EXPECT_FALSE(parts.peers.speaks_for(remote, 4));
  EXPECT_FALSE(parts.peers.speaks_for(remote, 1 - here));
  const Link& local = parts.link_to_proc(1 - here);
  EXPECT_TRUE(parts.peers.speaks_for(local, 1 - here));
  EXPECT_FALSE(parts.peers.speaks_for(local, 2)) << "this process represents its host towards it";
}

TEST(PeerTable, RelaysOnlyBetweenAHostAndAProcessOfThisHost) {
  const PathParts probe(kShape, 0);
  const WorldRank here = representative_towards(probe, 1);
  PathParts parts(kShape, here);
  PacketRoute route;
  route.source = 2;
  route.destination = 1 - here;
  EXPECT_TRUE(parts.peers.relays_from(parts.link_to_host(1), route));
  route.destination = 4;
  EXPECT_FALSE(parts.peers.relays_from(parts.link_to_host(1), route));
  route.source = 1 - here;
  EXPECT_TRUE(parts.peers.relays_from(parts.link_to_proc(1 - here), route));
  route.source = 2;
  EXPECT_FALSE(parts.peers.relays_from(parts.link_to_proc(1 - here), route));
}

TEST(PeerTable, NamesTheSenderAsTheJobKnowsIt) {
  const PathParts probe(kShape, 0);
  PathParts parts(kShape, representative_towards(probe, 1));
  Link& link = parts.link_to_host(1);
  EXPECT_EQ(parts.peers.name_of_sender(link), "host 1 of system 1, 127.0.1.1");
  link.arrival.source = 3;
  EXPECT_EQ(parts.peers.name_of_sender(link),
            "rank 3 (host 1 of system 1, 127.0.1.1, process 103)");
}

}  // namespace
}  // namespace impishim::wire::test
