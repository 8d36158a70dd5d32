// SPDX-License-Identifier: Apache-2.0
// Relay, and the batches of LinkSender.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/unit/wire/path/path_parts.hpp"
#include "wire/link/relay_credit.hpp"
#include "wire/path/relay.hpp"
#include "wire/peer/link_sender.hpp"

namespace impishim::wire::test {
namespace {

/// Two systems of one host with two processes each. A host's first process represents it.
const JobShape kTwoHosts{
    .procs_of_hosts = {{2}, {2}}, .values = {.datalen = 1000}, .relay = {.batch_target = 400}};

class RelayTest : public testing::Test {
 protected:
  RelayTest() : parts(kTwoHosts, 0) {}
  /// Makes a packet of rank 2 for rank 1 arrive on the host link.
  void arrive(std::uint32_t len, PacketType type = PacketType::kData) {
    Link& from = parts.link_to_host(1);
    parts.begin_arrival(from, parts.host(1), parts.header(2, 1, type, len));
    from.arrival.relay_to = &parts.link_to_proc(1);
  }
  PathParts parts;
};

TEST_F(RelayTest, ShortPacketsLeaveInBatches) {
  for (int i = 0; i < 2; ++i) {
    arrive(100);
    ASSERT_TRUE(parts.relay.relay_whole(parts.link_to_host(1)));
    EXPECT_EQ(PathParts::count(parts.local(1)), i == 0 ? 0 : 2) << "two packets reach the target";
  }
  arrive(100);
  ASSERT_TRUE(parts.relay.relay_whole(parts.link_to_host(1)));
  EXPECT_TRUE(parts.sender.has_batches());
  parts.sender.flush_batches();
  EXPECT_EQ(PathParts::count(parts.local(1)), 1);
  EXPECT_EQ(parts.state.counters.packets_relayed, 3U);
  EXPECT_EQ(parts.state.counters.relay_bytes, 0U);
}

TEST_F(RelayTest, ReturnsCreditByShares) {
  Link& from = parts.link_to_host(1);
  parts.relay.poll_begins();
  parts.state.counters.relay_bytes = 2 * RelayDebt::kShare;
  parts.relay.passed_on(from, RelayDebt::kShare - 1);
  EXPECT_FALSE(parts.relay.owes_credit());
  parts.relay.passed_on(from, 1);
  EXPECT_TRUE(parts.relay.owes_credit());
  parts.relay.poll_ends();
  parts.relay.return_credits();
  EXPECT_FALSE(parts.relay.owes_credit());
  const auto credit = PathParts::hear(parts.host(1));
  ASSERT_TRUE(credit);
  EXPECT_EQ(credit->header.type, PacketType::kRelayAck);
  EXPECT_EQ(credit->header.msglen, RelayDebt::kShare);
}

TEST_F(RelayTest, OwesAClosedLinkNothing) {
  Link& from = parts.link_to_host(1);
  parts.state.counters.relay_bytes = RelayDebt::kShare;
  parts.relay.passed_on(from, RelayDebt::kShare);
  from.state = LinkState::kClosed;
  parts.relay.return_credits();
  EXPECT_EQ(PathParts::count(parts.host(1)), 0);
}

TEST_F(RelayTest, RefusesCreditForWhatWasNeverSent) {
  PacketHeader credit;
  credit.type = PacketType::kRelayAck;
  credit.msglen = 1;
  parts.begin_arrival(parts.link_to_host(1), parts.host(1), credit);
  const auto refused = parts.relay.credit_returned(parts.link_to_host(1));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text.find("never sent"), std::string::npos);
}

TEST_F(RelayTest, DropsALateAcknowledgementForAProcessThatHasLeft) {
  parts.link_to_proc(1).peer_finished = true;
  arrive(0, PacketType::kProtoAck);
  EXPECT_FALSE(parts.relay.relay_whole(parts.link_to_host(1)));
  parts.relay.relay(parts.link_to_host(1));
  parts.sender.flush_batches();
  EXPECT_EQ(PathParts::count(parts.local(1)), 0);
}

TEST_F(RelayTest, ABrokenLinkIsReportedOnce) {
  parts.local(1).cut();
  arrive(100);
  ASSERT_TRUE(parts.relay.relay_whole(parts.link_to_host(1)));
  parts.sender.flush_batches();
  parts.sender.flush_batches();
  EXPECT_EQ(parts.failures.size(), 1U);
}

}  // namespace
}  // namespace impishim::wire::test
