// SPDX-License-Identifier: Apache-2.0
// What processes of a system tell of themselves, and what becomes of it.
#include "wire/startup/proc_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ProcInfo info_of(std::uint8_t last, std::uint16_t port, std::vector<std::string> fabrics) {
  ProcInfo info;
  info.address.back() = std::byte{last};
  info.port = port;
  info.pid = 1000 + last;
  info.node = "node" + std::to_string(last);
  info.fabrics = std::move(fabrics);
  return info;
}

TEST(ProcInfo, IsDecodedAsItWasEncoded) {
  ProcInfo info = info_of(7, 4711, {"tcp", "", "shm"});
  info.more_addresses.resize(2);
  info.more_addresses[1].back() = std::byte{9};
  const auto decoded = ProcInfo::decode(info.encode());
  ASSERT_TRUE(decoded.ok()) << decoded.error().text;
  EXPECT_EQ(decoded->address, info.address);
  EXPECT_EQ(decoded->more_addresses, info.more_addresses);
  EXPECT_EQ(decoded->port, 4711);
  EXPECT_EQ(decoded->pid, 1007);
  EXPECT_EQ(decoded->node, "node7");
  EXPECT_THAT(decoded->fabrics, ElementsAre("tcp", "", "shm"));
}

TEST(ProcInfo, EveryPrefixIsRefusedOrHasFewerFabrics) {
  const auto encoded = info_of(1, 1, {"tcp", "shm"}).encode();
  for (std::size_t size = 0; size < encoded.size(); ++size) {
    const auto decoded = ProcInfo::decode(std::span(encoded).first(size));
    if (decoded.ok()) {
      EXPECT_LT(decoded->fabrics.size(), 2U) << size;
    } else {
      EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol) << size;
    }
  }
  const std::vector<std::vector<std::byte>> all{encoded, {encoded.begin(), encoded.begin() + 9}};
  const auto decoded = decode_all(all);
  ASSERT_FALSE(decoded.ok());
  EXPECT_THAT(decoded.error().text, HasSubstr("native rank 1: "));
}

TEST(ProcInfo, OnlyListeningProcessesLimitTheFabrics) {
  const std::vector<ProcInfo> procs{info_of(1, 1, {"tcp", "shm"}), info_of(2, 0, {}),
                                    info_of(3, 1, {"shm", "net"})};
  EXPECT_THAT(common_fabrics({"tcp", "shm"}, procs), ElementsAre("shm"));
  EXPECT_THAT(common_fabrics({"tcp"}, procs), IsEmpty());
}

TEST(ProcInfo, AHostIsSpokenForByItsGatewayOrItsFirstProcess) {
  const std::vector<ProcInfo> procs{info_of(1, 11, {}), info_of(2, 22, {}), info_of(3, 33, {})};
  const LocalHost plain = local_host({.first = 1, .count = 2, .gateway = -1}, procs);
  EXPECT_EQ(plain.port, 22);
  EXPECT_EQ(plain.node, "node2");
  ASSERT_EQ(plain.procs.size(), 2U);
  EXPECT_EQ(plain.procs[1].pid, 1003);
  const LocalHost behind = local_host({.first = 0, .count = 3, .gateway = 2}, procs);
  EXPECT_EQ(behind.port, 33);
  ASSERT_EQ(behind.procs.size(), 3U);
  // The same pid on two nodes stays two processes.
  EXPECT_EQ(behind.procs[0].pid, 1001 + (std::int64_t{1} << 32));
  EXPECT_EQ(behind.procs[2].pid, 1003 + (std::int64_t{3} << 32));
}

}  // namespace
}  // namespace impishim::wire
