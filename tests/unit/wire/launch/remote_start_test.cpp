// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/remote_start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"

namespace impishim::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Returns what read_from() makes of `bytes`, and what it leaves in `rest`.
Result<RemoteStart> read_back(const std::string& bytes, std::string& rest) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const Descriptor reader(ends[0]);
  {
    const Descriptor writer(ends[1]);
    EXPECT_EQ(write(writer.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  auto start = RemoteStart::read_from(reader.get());
  std::array<char, 64> buffer{};
  const auto size = read(reader.get(), buffer.data(), buffer.size());
  rest.assign(buffer.data(), static_cast<std::size_t>(size < 0 ? 0 : size));
  return start;
}

TEST(RemoteStart, IsReadBackAndLeavesTheProgramsInput) {
  const RemoteStart start{{"A=1", "B=two words\n"}, {"-client", "0", "", "x"}, 7};
  std::string rest;
  const auto read = read_back(start.encode() + "input", rest);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->variables, start.variables);
  EXPECT_EQ(read->words, start.words);
  EXPECT_EQ(read->first_rank, 7);
  EXPECT_EQ(rest, "input");
}

TEST(RemoteStart, RefusesOtherBytes) {
  std::string rest;
  const std::string good = RemoteStart{{"A=1"}, {"x"}, 0}.encode();
  for (const std::string& bad :
       {std::string(), std::string("hello\n"), std::string(100, 'x'),
        good.substr(0, good.size() - 1), std::string("impishim-start 1 99999999\n"),
        std::string("impishim-start 1 -1\n"), std::string("impishim-start 2 1\nx"),
        "impishim-start 1 6\n0" + std::string("\0", 1) + "9" + std::string("\0a\0", 3)})
    EXPECT_FALSE(read_back(bad, rest)) << bad;
}

TEST(RemoteStart, CarriesTheSecretInItsVariablesAlone) {
  setenv("IMPISHIM_SECRET", "hidden", 1);
  setenv("IMPISHIM_HOST_ADDRESS", "10.0.0.1", 1);
  JobSystem system;
  system.host = "b";
  system.ssh = {"ssh", "-p", "22"};
  system.impirun = "~/my bin/impirun";
  system.section.command = {"./a", "x y"};
  system.section.environment = {{"MODE", "1"}};
  system.section.launcher = "srun";
  const auto start = make_remote_start(CommandLine(), system, 1, 4, "h:1");
  EXPECT_THAT(start.variables, Contains("IMPISHIM_SECRET=hidden"));
  EXPECT_THAT(start.variables, Contains("IMPISHIM_MPIEXEC=srun"));
  EXPECT_THAT(start.variables, Not(Contains(HasSubstr("IMPISHIM_HOST_ADDRESS"))));
  EXPECT_THAT(start.words, Not(Contains(HasSubstr("hidden"))));
  EXPECT_THAT(start.words,
              ElementsAre("-client", "1", "h:1", "-env", "MODE", "1", "-np", "1", "./a", "x y"));
  const auto command = remote_command(system, 0);
  EXPECT_THAT(command, ElementsAre("ssh", "-p", "22", "-T", "-o", "BatchMode=yes", "--", "b",
                                   "~/'my bin/impirun' -remote-start"));
  EXPECT_THAT(remote_command(system, 5000), Contains("127.0.0.1:5000:127.0.0.1:5000"));
  unsetenv("IMPISHIM_SECRET");
  unsetenv("IMPISHIM_HOST_ADDRESS");
}

}  // namespace
}  // namespace impishim::launch
