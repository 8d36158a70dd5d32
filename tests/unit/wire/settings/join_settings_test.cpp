// SPDX-License-Identifier: Apache-2.0
#include "wire/settings/join_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/topology/host_size.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

constexpr std::array kVariables = {
    "IMPISHIM_HOST_ADDRESS", "IMPISHIM_LISTEN_ADDRESS", "IMPISHIM_PORT",
    "IMPISHIM_HOST_PROCS",   "IMPISHIM_MAX_CHANNELS",   "IMPISHIM_LANES",
    "IMPISHIM_RECONNECT",    "IMPISHIM_STREAMS",        "IMPISHIM_COMPRESSION",
    "IMPISHIM_HEARTBEAT",    "IMPISHIM_CONGESTION",     "IMPISHIM_KERNEL_TLS"};
constexpr const char* kServer = "127.0.0.1:5000";

class JoinSettingsOf : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : kVariables) unsetenv(name);
  }
};

TEST_F(JoinSettingsOf, NoVariables) {
  const auto settings = JoinSettings::from_environment();
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->ports.first, 0);
  EXPECT_EQ(settings->size.streams, 1);
  EXPECT_FALSE(settings->size.compressed);
  const auto place = find_place(*settings, kServer);
  ASSERT_TRUE(place) << place.error().text;
  EXPECT_EQ(address_text(place->announced.at(0)), "127.0.0.1");
}

TEST_F(JoinSettingsOf, VariablesOfAJob) {
  setenv("IMPISHIM_HOST_PROCS", "4", 1);
  setenv("IMPISHIM_MAX_CHANNELS", "9", 1);
  setenv("IMPISHIM_LANES", "2", 1);
  setenv("IMPISHIM_RECONNECT", "30", 1);
  setenv("IMPISHIM_STREAMS", "auto", 1);
  setenv("IMPISHIM_HEARTBEAT", "7", 1);
  setenv("IMPISHIM_KERNEL_TLS", "on", 1);
  const auto settings = JoinSettings::from_environment();
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->size.host_procs, 4);
  EXPECT_EQ(settings->size.max_channels, 9);
  EXPECT_EQ(settings->size.lanes, 2);
  EXPECT_EQ(settings->size.reconnect, 30);
  EXPECT_EQ(settings->size.streams, kStreamsAuto);
  EXPECT_EQ(settings->tcp.heartbeat.interval.count(), 7);
  EXPECT_TRUE(settings->tcp.kernel_tls);
}

TEST_F(JoinSettingsOf, WrongVariablesAreNamed) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"IMPISHIM_PORT", "70000"},
           {"IMPISHIM_HOST_PROCS", "many"},
           {"IMPISHIM_MAX_CHANNELS", "0"},
           {"IMPISHIM_LANES", "0"},
           {"IMPISHIM_RECONNECT", "-1"},
           {"IMPISHIM_STREAMS", "17"},
           {"IMPISHIM_COMPRESSION", "lz4"},
           {"IMPISHIM_HEARTBEAT", "0"},
           {"IMPISHIM_CONGESTION", "nonesuch"},
           {"IMPISHIM_KERNEL_TLS", "yes"},
           // MPI_Init takes an empty text for a wrong one as well.
           {"IMPISHIM_HOST_PROCS", ""},
           {"IMPISHIM_STREAMS", ""},
           {"IMPISHIM_COMPRESSION", ""},
           {"IMPISHIM_LISTEN_ADDRESS", "127.0.0.1"},
       }) {
    setenv(name.c_str(), value.c_str(), 1);
    const auto settings = JoinSettings::from_environment();
    unsetenv(name.c_str());
    ASSERT_FALSE(settings) << name;
    EXPECT_EQ(settings.error().kind, ErrorKind::kConfiguration);
    EXPECT_THAT(settings.error().text, HasSubstr(name));
  }
}

TEST_F(JoinSettingsOf, SeveralStreamsAndKernelTlsNeedReconnection) {
  setenv("IMPISHIM_RECONNECT", "0", 1);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"IMPISHIM_STREAMS", "4"}, {"IMPISHIM_KERNEL_TLS", "on"}}) {
    setenv(name.c_str(), value.c_str(), 1);
    const auto settings = JoinSettings::from_environment();
    unsetenv(name.c_str());
    ASSERT_FALSE(settings) << name;
    EXPECT_THAT(settings.error().text, HasSubstr(name));
    EXPECT_THAT(settings.error().text, HasSubstr("IMPISHIM_RECONNECT must not be 0"));
  }
}

TEST_F(JoinSettingsOf, ATranslatorHasOneAddress) {
  setenv("IMPISHIM_PORT", "5001", 1);
  setenv("IMPISHIM_LISTEN_ADDRESS", "127.0.0.1", 1);
  setenv("IMPISHIM_HOST_ADDRESS", "127.0.0.2", 1);
  auto settings = JoinSettings::from_environment();
  ASSERT_TRUE(settings) << settings.error().text;
  const auto place = find_place(*settings, kServer);
  ASSERT_TRUE(place) << place.error().text;
  EXPECT_EQ(address_text(place->announced.at(0)), "127.0.0.2");
  EXPECT_EQ(address_text(place->listening.at(0)), "127.0.0.1");
  settings->address = "127.0.0.2,127.0.0.3";
  EXPECT_FALSE(find_place(*settings, kServer));
}

TEST_F(JoinSettingsOf, FreePortsAreCounted) {
  JoinSettings settings;
  const auto place = find_place(settings, kServer);
  ASSERT_TRUE(place) << place.error().text;
  EXPECT_EQ(count_free_ports(settings, *place), 0);
  auto taken = std::make_optional(HostListener::open(place->listening));
  ASSERT_TRUE(*taken) << taken->error().text;
  settings.ports = PortRange::only((*taken)->port());
  EXPECT_EQ(count_free_ports(settings, *place), 0);
  taken.reset();
  EXPECT_EQ(count_free_ports(settings, *place), 1);
}

}  // namespace
}  // namespace impishim::wire
