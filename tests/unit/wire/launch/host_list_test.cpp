// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace impishim::launch {
namespace {

using ::testing::HasSubstr;

TEST(HostList, Parses) {
  const auto hosts = parse_host_list("a,b:4,fe80::1");
  ASSERT_TRUE(hosts) << hosts.error().text;
  ASSERT_EQ(hosts->size(), 3U);
  EXPECT_EQ((*hosts)[1].processes, 4);
  EXPECT_EQ((*hosts)[2].name, "fe80::1");
  EXPECT_EQ(host_list_text(*hosts), "a,b:4,fe80::1");
}

TEST(HostList, RefusesWhatIsNoList) {
  for (const char* text : {"a,", ",a", "a:", "a:0", "a:x", "-a", "", "a,,b"})
    EXPECT_FALSE(parse_host_list(text)) << text;
}

TEST(HostList, FileErrorsNameLineAndCure) {
  const std::string path = ::testing::TempDir() + "impirun_bad_hosts";
  std::ofstream(path) << "a\nb max_slots=2\n";
  auto hosts = read_host_file(path);
  ASSERT_FALSE(hosts);
  EXPECT_THAT(hosts.error().text, HasSubstr(":2: max_slots=2: only slots=N may follow"));
  std::ofstream(path) << "# none\n";
  hosts = read_host_file(path);
  ASSERT_FALSE(hosts);
  EXPECT_THAT(hosts.error().text, HasSubstr("it names no host"));
  std::filesystem::remove(path);
  EXPECT_THAT(read_host_file(path).error().text, HasSubstr("No such file"));
}

}  // namespace
}  // namespace impishim::launch
