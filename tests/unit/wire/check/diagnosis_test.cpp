// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report/diagnosis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/check/report/report.hpp"
#include "wire/check/report/report_text.hpp"

namespace impishim::check {
namespace {

using testing::HasSubstr;

SystemReport system_without_fault(std::int64_t number) {
  SystemReport it;
  it.system = number;
  it.version = "1.0";
  it.protocol = 12;
  it.from = {number == 0 ? "192.0.2.1" : "192.0.2.2"};
  it.libraries = {{"mpich", "libmpich.so.12", "MPICH", ""}};
  it.limits.descriptors = 1024;
  it.limits.descriptors_hard = 4096;
  it.limits.shared_memory = it.limits.shared_memory_free = std::int64_t{1} << 30;
  it.limits.memory = it.limits.memory_available = std::int64_t{8} << 30;
  it.limits.send_window = it.limits.receive_window = std::int64_t{4} << 20;
  it.settings.encryption = "secret";
  it.settings.authentication = "none";
  it.settings.max_channels = 64;
  return it;
}

Road road_without_fault(std::int64_t from, std::int64_t to) {
  Road road;
  road.from = from;
  road.to = to;
  road.joined = road.connects = true;
  road.interface = "eth0";
  road.mtu = road.path_mtu = 1500;
  road.round_trip_us = 100;
  road.rate = 1e8;
  return road;
}

Report report_without_fault() {
  Report report;
  report.systems_wanted = 2;
  report.systems = {system_without_fault(0), system_without_fault(1)};
  report.roads = {road_without_fault(0, 1), road_without_fault(1, 0)};
  return report;
}

/// Expects exactly one finding, and returns it.
Finding only_finding(const Report& report) {
  const std::vector<Finding> findings = diagnose(report);
  EXPECT_EQ(findings.size(), 1U);
  for (const Finding& each : findings) {
    EXPECT_FALSE(each.cause.empty());
    EXPECT_FALSE(each.cure.empty());
    EXPECT_EQ((each.cause + each.cure).find('\n'), std::string::npos);
  }
  return findings.empty() ? Finding{} : findings.front();
}

TEST(Diagnosis, NoFault) { EXPECT_TRUE(diagnose(report_without_fault()).empty()); }

TEST(Diagnosis, VersionsThatDiffer) {
  Report report = report_without_fault();
  report.systems[1].protocol = 13;
  const Finding found = only_finding(report);
  EXPECT_TRUE(found.breaks);
  EXPECT_EQ(found.systems, (std::vector<std::int64_t>{0, 1}));
}

TEST(Diagnosis, ASystemThatIsNoCheck) {
  Report report = report_without_fault();
  report.systems_wanted = 3;
  const Finding found = only_finding(report);
  EXPECT_TRUE(found.breaks);
  EXPECT_EQ(found.systems, std::vector<std::int64_t>{2});
}

TEST(Diagnosis, NoOtherSystemIsACheck) {
  Report report = report_without_fault();
  report.systems.pop_back();
  report.roads.clear();
  EXPECT_EQ(only_finding(report).systems, std::vector<std::int64_t>{1});
  // Nothing is known of the others where this system has not learnt of them.
  report.findings = {{true, {0}, "the server is silent", "wake it"}};
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Diagnosis, LibrariesAndNames) {
  Report report = report_without_fault();
  report.systems[0].libraries[0].error = "not found";
  EXPECT_FALSE(only_finding(report).breaks);
  report.systems[0].libraries[0].name = "abi";
  EXPECT_FALSE(only_finding(report).breaks);
  report.systems[0].libraries.push_back({"openmpi", "libmpi.so.40", "Open MPI", ""});
  EXPECT_TRUE(diagnose(report).empty());
  report.systems[0].libraries.clear();
  EXPECT_TRUE(only_finding(report).breaks);
  report = report_without_fault();
  report.systems[0].names = {{"nowhere", ""}, {"here", "192.0.2.1"}};
  EXPECT_THAT(only_finding(report).cause, HasSubstr("nowhere"));
}

TEST(Diagnosis, Ports) {
  Report report = report_without_fault();
  Settings& settings = report.systems[1].settings;
  settings.ports = "4711-4712";
  settings.ports_all = 2;
  settings.ports_free = 2;
  settings.processes = 2;
  EXPECT_TRUE(diagnose(report).empty());
  settings.ports_free = 1;
  EXPECT_FALSE(only_finding(report).breaks);
  settings.ports_free = 0;
  EXPECT_TRUE(only_finding(report).breaks);
}

TEST(Diagnosis, Descriptors) {
  Report report = report_without_fault();
  report.systems[0].limits.descriptors = 65;
  EXPECT_TRUE(diagnose(report).empty());  // one channel
  report.systems[0].settings.streams = 4;
  const Finding found = only_finding(report);
  EXPECT_TRUE(found.breaks);
  EXPECT_THAT(found.cause, HasSubstr("65 file descriptors, and a process may need 68"));
}

TEST(Diagnosis, ImpossibleSizesOverflowNothing) {
  Report report = report_without_fault();
  for (SystemReport& each : report.systems) {
    each.settings.processes = each.settings.streams = each.settings.max_channels = INT64_MAX;
    EXPECT_GT(descriptors_needed(each, report), 0);
    EXPECT_GT(memory_needed(each, report), 0);
    EXPECT_GT(shared_memory_needed(each), 0);
  }
}

TEST(Diagnosis, SharedMemoryAndMemory) {
  Report report = report_without_fault();
  report.systems[0].settings.processes = 4;
  report.systems[0].limits.shared_memory_free = (3 << 20) - 1;  // 6 pairs of 512 KiB are needed
  EXPECT_TRUE(only_finding(report).breaks);
  report = report_without_fault();
  report.systems[0].limits.memory_available = (64 << 20) - 1;
  EXPECT_FALSE(only_finding(report).breaks);
}

TEST(Diagnosis, ClearBetweenMachinesOnly) {
  Report report = report_without_fault();
  report.systems[0].settings.encryption = report.systems[1].settings.encryption = "none";
  report.systems[0].settings.authentication = report.systems[1].settings.authentication = "key";
  EXPECT_THAT(only_finding(report).cause, HasSubstr("in clear"));
  report.systems[1].from = report.systems[0].from;
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Diagnosis, OneDirectionIsEnough) {
  Report report = report_without_fault();
  report.roads[0].connects = false;
  report.roads[0].why_not = "no answer";
  EXPECT_TRUE(diagnose(report).empty());
  report.roads[1].connects = false;
  EXPECT_FALSE(only_finding(report).breaks);
}

TEST(Diagnosis, ARelayCosts) {
  Report report = report_without_fault();
  for (Road& each : report.roads) {
    each.relayed = true;
    each.connects = false;
  }
  const Finding found = only_finding(report);
  EXPECT_FALSE(found.breaks);
  EXPECT_THAT(found.cause, HasSubstr("costs bandwidth"));
}

TEST(Diagnosis, NeitherDirection) {
  Report report = report_without_fault();
  report.roads.pop_back();
  report.roads[0].joined = report.roads[0].connects = false;
  report.roads[0].why_not = "no answer";
  const Finding found = only_finding(report);
  EXPECT_TRUE(found.breaks);
  EXPECT_THAT(found.cause, HasSubstr("in either direction: no answer"));
}

TEST(Diagnosis, Mtus) {
  Report report = report_without_fault();
  report.roads[0].path_mtu = 1400;
  EXPECT_THAT(only_finding(report).cause, HasSubstr("takes 1400"));
  report.roads[0].mtu = 1400;
  EXPECT_THAT(only_finding(report).cause, HasSubstr("has MTU 1400"));
  for (Road& each : report.roads) {
    each.mtu = 65536;  // as the loopback's
    each.path_mtu = 65535;
  }
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Diagnosis, LongMessagesAreStuck) {
  Report report = report_without_fault();
  report.roads[0].trouble = "silent";
  report.roads[0].rate = 0;
  EXPECT_THAT(only_finding(report).cure, HasSubstr("MTU"));
  report.roads[0].round_trip_us = 0;
  EXPECT_THAT(only_finding(report).cause, HasSubstr("when measured"));
}

TEST(Diagnosis, Clocks) {
  Report report = report_without_fault();
  report.roads[0].clock_ahead_us = -3e6;
  report.roads[0].clock_error_us = 50;
  EXPECT_THAT(only_finding(report).cause, HasSubstr("3.0 s behind that of system 0"));
  report.roads[0].clock_error_us = 2.5e6;
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Diagnosis, WindowsOfALongRoad) {
  Report report = report_without_fault();
  report.roads[0].round_trip_us = 50000;
  const Finding found = only_finding(report);
  // 2 MiB in each 50 ms.
  EXPECT_THAT(found.cause, HasSubstr("windows of 2048 KiB allow 336 Mbit/s"));
  EXPECT_THAT(found.cure, HasSubstr("IMPISHIM_STREAMS=4"));
  report.systems[0].limits.send_window = report.systems[1].limits.receive_window = 64 << 20;
  EXPECT_TRUE(diagnose(report).empty());
}

TEST(Diagnosis, AnotherSystemMayTellAnyTime) {
  Report report = report_without_fault();
  report.roads[0].round_trip_us = 1e300;
  const Finding found = only_finding(report);
  EXPECT_THAT(found.cause, HasSubstr("at a round trip of 60000.0 ms"));
  EXPECT_THAT(found.cure, HasSubstr("in system 1 to 15000000000,"));
}

TEST(Diagnosis, ProblemsComeFirst) {
  Report report = report_without_fault();
  report.roads[0].path_mtu = 1400;
  report.systems[1].libraries.clear();
  const auto findings = diagnose(report);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(findings[0].breaks);
}

TEST(Diagnosis, EachStepAndKindHasACure) {
  for (const Step step : {Step::kSettings, Step::kServer, Step::kAgreement})
    for (const ErrorKind kind : {ErrorKind::kConfiguration, ErrorKind::kAuthentication,
                                 ErrorKind::kProtocol, ErrorKind::kConnection}) {
      const Finding found = finding_of(step, 1, {kind, "why"});
      EXPECT_TRUE(found.breaks);
      EXPECT_EQ(found.cause, "why");
      EXPECT_FALSE(found.cure.empty());
    }
}

TEST(Diagnosis, TheServersWordsHaveCures) {
  const auto cure = [](const char* said) {
    return finding_of(Step::kServer, 1, {ErrorKind::kConnection, said}).cure;
  };
  EXPECT_THAT(cure("rendezvous server: wrong authentication key"), HasSubstr("same secret"));
  EXPECT_THAT(cure("rendezvous server: system 7 does not exist"), HasSubstr("-client"));
  EXPECT_THAT(cure("cannot connect"), HasSubstr("impirun -server runs"));
}

TEST(ReportText, SaysWhichDirectionConnects) {
  Report report = report_without_fault();
  EXPECT_THAT(report_text(report), HasSubstr("connects    both, 0 -> 1 and 1 -> 0\n"));
  report.roads[0].connects = false;
  EXPECT_THAT(report_text(report), HasSubstr("connects    1 -> 0 alone\n"));
  report.roads[1].connects = false;
  EXPECT_THAT(report_text(report), HasSubstr("connects    neither\n"));
}

TEST(ReportText, EndsWithTheVerdict) {
  Report report = report_without_fault();
  EXPECT_THAT(report_text(report),
              testing::EndsWith("a job can run: 0 problem(s), 0 warning(s)\n"));
  report.findings = {{true, {1}, "a cause", "a cure"}};
  EXPECT_THAT(report_text(report),
              testing::EndsWith("PROBLEM: a cause\n  cure: a cure\n"
                                "a job cannot run: 1 problem(s), 0 warning(s)\n"));
}

}  // namespace
}  // namespace impishim::check
