// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/bootstrap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/startup/proc_info.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ProcInfo listening(std::vector<std::string> fabrics) {
  ProcInfo info;
  info.port = 1;
  info.fabrics = std::move(fabrics);
  return info;
}

TEST(Bootstrap, ASystemUsesTheProvidersOfAllItsHosts) {
  const std::vector<ProcInfo> procs = {listening({"tcp", "shm"}), listening({"shm", "psm"}), {}};
  const auto common = fabrics_of_system({"tcp", "shm"}, procs, false);
  ASSERT_TRUE(common.ok());
  EXPECT_THAT(*common, ElementsAre("shm"));
}

TEST(Bootstrap, NoCommonProviderIsAnErrorIfTheUserNamedThem) {
  const std::vector<ProcInfo> procs = {listening({"tcp"}), listening({"psm"})};
  const auto named = fabrics_of_system({"tcp"}, procs, false);
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(named.error().text, HasSubstr("IMPISHIM_FABRIC"));
  const auto automatic = fabrics_of_system({"tcp"}, procs, true);
  ASSERT_TRUE(automatic.ok());
  EXPECT_THAT(*automatic, IsEmpty());
}

TEST(Bootstrap, AHostThatUsesNoProviderNeedsNone) {
  const std::vector<ProcInfo> procs = {listening({}), listening({"psm"})};
  const auto common = fabrics_of_system({}, procs, false);
  ASSERT_TRUE(common.ok());
  EXPECT_THAT(*common, IsEmpty());
}

TEST(Bootstrap, EqualMachinesExchangeTheirOwnRepresentation) {
  Client client;
  client.impishim = true;
  client.representation = representation_fingerprint();
  EXPECT_EQ(format_for(client, "auto", false), Format::kNative);
  client.representation ^= 1U;
  EXPECT_EQ(format_for(client, "auto", false), Format::kWide);
}

TEST(Bootstrap, AForeignClientGetsExternal32ButLamItsOwn) {
  EXPECT_EQ(format_for(Client{}, "auto", false), Format::kExternal32);
  EXPECT_EQ(format_for(Client{}, "auto", true), Format::kNative);
}

TEST(Bootstrap, TheUsersFormatGoesToEveryClient) {
  Client ours;
  ours.impishim = true;
  ours.representation = representation_fingerprint();
  for (const Client& client : {Client{}, ours}) {
    EXPECT_EQ(format_for(client, "external32", false), Format::kExternal32);
    EXPECT_EQ(format_for(client, "wide", true), Format::kWide);
    EXPECT_EQ(format_for(client, "native", false), Format::kNative);
  }
}

}  // namespace
}  // namespace impishim::wire
