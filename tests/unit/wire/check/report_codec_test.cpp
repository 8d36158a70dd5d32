// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report/report_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"
#include "wire/check/report/report.hpp"

namespace impishim::check {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

SystemReport some_system() {
  SystemReport report;
  report.system = 3;
  report.version = "1.2";
  report.protocol = 12;
  report.node = "left";
  report.from = {"192.0.2.7", "2001:db8::7"};
  report.libraries = {{"mpich", "libmpich.so.12", "MPICH Version: 4", ""}};
  report.interfaces = {{"ib0", "192.0.2.7", 2044}};
  report.names = {{"left", ""}};
  report.limits.descriptors = 1024;
  report.settings.encryption = "secret";
  report.settings.clear_allowed = true;
  return report;
}

TEST(ReportCodec, SystemsSurvive) {
  const std::string encoded = encode_system(some_system());
  const auto decoded = decode_system(bytes_of(encoded));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(encode_system(*decoded), encoded);
  EXPECT_EQ(decoded->interfaces.at(0).mtu, 2044);
  EXPECT_TRUE(decoded->settings.clear_allowed);
}

TEST(ReportCodec, RoadsSurvive) {
  Road road;
  road.from = 1;
  road.to = 2;
  road.connects = true;
  road.clock_ahead_us = -12.5;
  road.rate = 1e9;
  const std::string encoded = encode_roads({road, road});
  const auto decoded = decode_roads(bytes_of(encoded));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(encode_roads(*decoded), encoded);
  EXPECT_EQ(decoded->at(1).clock_ahead_us, -12.5);
}

TEST(ReportCodec, OtherVersionsCanBeNamed) {
  const auto decoded =
      decode_system(bytes_of(R"({"system":1,"version":"9","protocol":99,"new":[{}]})"));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->protocol, 99);
}

TEST(ReportCodec, TextsArePrintableAndBounded) {
  const auto decoded =
      decode_system(bytes_of(R"({"system":1,"protocol":1,"version":"\u001b[2J","node":")" +
                             std::string(5000, 'x') + "\"}"));
  ASSERT_TRUE(decoded) << decoded.error().text;
  EXPECT_EQ(decoded->version, "\\x1b[2J");
  EXPECT_LT(decoded->node.size(), kMostText + 10);
}

struct Wrong {
  std::string text;
  std::string reason;
};

TEST(ReportCodec, RefusesWhatIsWrong) {
  const std::string begin = R"({"system":1,"version":"1","protocol":1,)";
  for (const auto& [text, reason] : {
           Wrong{"", "no JSON"},
           Wrong{"{\"system\":1", "no JSON"},
           Wrong{"[]", "system is missing"},
           Wrong{R"({"system":32,"version":"1","protocol":1})", "number is impossible"},
           Wrong{R"({"system":-1,"version":"1","protocol":1})", "system: a whole number"},
           Wrong{R"({"system":1,"version":"1","protocol":18446744073709551615})", "whole number"},
           Wrong{begin + R"("limits":7})", "limits: it is no object"},
           Wrong{begin + R"("limits":{"memory":1.5}})", "limits: memory: a whole number"},
           Wrong{begin + R"("settings":{"clear_allowed":1}})", "true or false"},
           Wrong{begin + R"("from":[1]})", "from: a text"},
           Wrong{begin + "\"from\":" + std::string(60, '[') + std::string(60, ']') + "}", "deep"},
           Wrong{begin + "\"node\":\"" + std::string(kMostReportBytes, 'x') + "\"}", "too long"},
       }) {
    const auto decoded = decode_system(bytes_of(text));
    ASSERT_FALSE(decoded) << text;
    EXPECT_THAT(decoded.error().text, testing::HasSubstr(reason));
    EXPECT_EQ(decoded.error().kind, ErrorKind::kProtocol);
  }
  std::string many = "[";
  for (std::size_t i = 0; i <= kMostElements; ++i) many += "\"\",";
  EXPECT_FALSE(decode_system(bytes_of(begin + "\"from\":" + many + "\"\"]}")));
}

TEST(ReportCodec, ReportsOfAllSystemsHaveTheNumbersOfTheirBits) {
  ByteWriter bytes;
  const std::string report = encode_system(some_system());
  for (int i = 0; i < 2; ++i) {
    bytes.put(static_cast<std::uint32_t>(report.size()));
    bytes.put_bytes(bytes_of(report));
  }
  const auto systems = decode_systems(0b101, 3, bytes.bytes());
  ASSERT_TRUE(systems) << systems.error().text;
  ASSERT_EQ(systems->size(), 2U);
  EXPECT_EQ(systems->at(0).system, 0);
  EXPECT_EQ(systems->at(1).system, 2);
  EXPECT_THAT(decode_systems(0b101, 2, bytes.bytes()).error().text,
              testing::HasSubstr("system 2, of 2 systems"));
  EXPECT_THAT(decode_systems(0b111, 3, bytes.bytes()).error().text,
              testing::HasSubstr("the report of system 2 is cut"));
}

TEST(ReportCodec, RefusesRoadsOfNobody) {
  EXPECT_FALSE(decode_roads(bytes_of("{}")));
  EXPECT_FALSE(decode_roads(bytes_of("[7]")));
  EXPECT_FALSE(decode_roads(bytes_of(R"([{"from":0,"to":40}])")));
  EXPECT_FALSE(decode_roads(bytes_of(R"([{"from":0,"to":1,"rate":"fast"}])")));
  EXPECT_FALSE(decode_roads(bytes_of(R"([{"from":0,"to":1,"rate":1e999}])")));
}

TEST(ReportCodec, TheReportForUsersSaysIfAJobCanRun) {
  Report report;
  report.systems = {some_system()};
  report.findings = {{false, {0}, "c", "d"}};
  EXPECT_THAT(report_json(report), testing::HasSubstr("\"ok\": true"));
  report.findings.push_back({true, {0}, "a", "b"});
  EXPECT_THAT(report_json(report), testing::HasSubstr("\"ok\": false"));
}

}  // namespace
}  // namespace impishim::check
