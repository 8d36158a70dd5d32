// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "wire/launch/options/shell_words.hpp"

namespace impishim::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Returns what parse_command_line() makes of a command.
Result<CommandLine> parse(const std::string& command) {
  return parse_command_line(*split_words(command));
}

std::string error_of(const std::string& command) {
  const auto line = parse(command);
  return line ? "no error" : line.error().text;
}

TEST(CommandLine, GivesEachSectionItsOptions) {
  const auto line = parse(
      "-label -genv A 1 -timeout 9 -np 2 -env B 2 -wdir /x ./a in : -np 3 -x C=3 -x D -hosts h:3 "
      "-ppn 3 -bind-to core -map-by slot -mpiexec-args -iface lo -- ./b -np 9");
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_TRUE(line->label);
  EXPECT_EQ(line->timeout_s, 9);
  ASSERT_EQ(line->sections.size(), 2U);
  const Section& first = line->sections[0];
  EXPECT_EQ(first.procs, 2);
  EXPECT_EQ(first.directory, "/x");
  EXPECT_THAT(first.command, ElementsAre("./a", "in"));
  ASSERT_EQ(first.environment.size(), 2U);
  EXPECT_EQ(first.environment[0].name, "A");
  EXPECT_EQ(first.environment[1].value, "2");
  const Section& second = line->sections[1];
  EXPECT_TRUE(second.directory.empty());
  EXPECT_EQ(second.placement.hosts, "h:3");
  EXPECT_EQ(second.placement.per_node, 3);
  EXPECT_EQ(second.placement.bind_to, "core");
  EXPECT_EQ(second.placement.map_by, "slot");
  EXPECT_THAT(second.launcher_arguments, ElementsAre("-iface", "lo"));
  EXPECT_THAT(second.command, ElementsAre("./b", "-np", "9"));
  ASSERT_EQ(second.environment.size(), 3U);
  EXPECT_EQ(second.environment[1].value, "3");
  EXPECT_FALSE(second.environment[2].value);
}

TEST(CommandLine, KeepsValuesThatLookLikeOptionsOrLists) {
  const auto line = parse("-np 1 -env A -np -env B '[1,2]' -x 'C=a b=c' ./a");
  ASSERT_TRUE(line) << line.error().text;
  const auto& environment = line->sections[0].environment;
  EXPECT_EQ(environment[0].value, "-np");
  EXPECT_EQ(environment[1].value, "[1,2]");
  EXPECT_EQ(environment[2].value, "a b=c");
}

TEST(CommandLine, KnowsTheSpellingsOfOtherLaunchers) {
  const auto line = parse("--prepend-rank --n 1 -f hosts -wd /x ./a");
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_TRUE(line->label);
  EXPECT_EQ(line->sections[0].placement.host_file, "hosts");
  EXPECT_EQ(line->sections[0].directory, "/x");
}

TEST(CommandLine, SplitsOneSectionOverSystemsWithItsOptions) {
  const auto line = parse("-systems 2 -n 3 -env A 1 ./a");
  ASSERT_TRUE(line) << line.error().text;
  ASSERT_EQ(line->sections.size(), 2U);
  EXPECT_EQ(line->sections[0].procs, 2);
  EXPECT_EQ(line->sections[1].environment.size(), 1U);
}

TEST(CommandLine, TakesTheLibraryOfTheFirstSectionForAllThatNameNone) {
  const auto line = parse("-mpi mpich -np 1 a : -np 1 b : -np 1 -mpi openmpi c");
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->sections[1].mpi, "mpich");
  EXPECT_EQ(line->sections[2].mpi, "openmpi");
}

TEST(CommandLine, TimeoutOfAServerIsTheTimeToJoin) {
  const auto line = parse("-server 2 -timeout 7");
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_EQ(line->mode, CommandLine::Mode::kServer);
  EXPECT_EQ(line->timeout_s, 7);
}

TEST(CommandLine, RunningJobsAreWatched) {
  const auto top = parse("-top 127.0.0.1:9 -once --json");
  ASSERT_TRUE(top) << top.error().text;
  EXPECT_EQ(top->mode, CommandLine::Mode::kTop);
  EXPECT_EQ(top->server, "127.0.0.1:9");
  EXPECT_TRUE(top->once && top->json);
  EXPECT_EQ(parse("--why h:1")->mode, CommandLine::Mode::kWhy);
  EXPECT_EQ(parse("-metrics h:1")->mode, CommandLine::Mode::kMetrics);
  EXPECT_THAT(error_of("-top h:1 -json"), HasSubstr("-json needs -once"));
  EXPECT_THAT(error_of("-why h:1 -once"), HasSubstr("-once does not go with -why"));
  EXPECT_THAT(error_of("-why h:1 -np 2 ./a"), HasSubstr("-np does not go with -why"));
  EXPECT_THAT(error_of("-json -np 2 ./a"), HasSubstr("-json belongs to -check"));
  EXPECT_THAT(error_of("-q -check job.toml"), HasSubstr("-check comes first"));
  EXPECT_THAT(error_of("-why"), HasSubstr("-why"));
}

TEST(CommandLine, EachErrorNamesCauseAndCure) {
  EXPECT_THAT(error_of("-np 1 ./a : -label -np 1 ./b"),
              HasSubstr("-label is an option of the whole job: put it before the first program"));
  EXPECT_THAT(error_of("-np 1 -np 2 ./a"), HasSubstr("-np is given twice"));
  EXPECT_THAT(error_of("-env A"), HasSubstr("-env needs 2 argument(s)"));
  EXPECT_THAT(error_of("-env A=1 2 -np 1 ./a"), HasSubstr("the name of a variable is needed"));
  EXPECT_THAT(error_of("-env IMPISHIM_SECRET x -np 1 ./a"), HasSubstr("IMPISHIM_SECRET_FILE"));
  EXPECT_THAT(error_of("-x IMPI_AUTH_KEY=1 -np 1 ./a"), HasSubstr("IMPI_AUTH_KEY_FILE"));
  EXPECT_THAT(error_of("-mpiexec-args -a b"), HasSubstr("needs -- behind the launcher's words"));
  EXPECT_THAT(error_of("-bind-to board -np 1 ./a"), HasSubstr("after -mpiexec-args, up to --"));
  EXPECT_THAT(error_of("-hosts a -hostfile f -np 1 ./a"), HasSubstr("exclude each other"));
  EXPECT_THAT(error_of("-v -q -np 1 ./a"), HasSubstr("-v and -q exclude each other"));
  EXPECT_THAT(error_of("-timeout soon -np 1 ./a"), HasSubstr("is not a number from 1 to"));
  EXPECT_THAT(error_of("-server 2 -wdir /x"),
              HasSubstr("-wdir does not belong to -server: give it where the systems are started"));
  EXPECT_THAT(error_of("-client 0 h:1 -ppn 2 -- srun ./a"),
              HasSubstr("-ppn has no effect on a launcher's command behind --"));
  EXPECT_THAT(error_of("-file job.toml ./a"), HasSubstr("the job file names the programs"));
  EXPECT_THAT(error_of("-file job.toml -np 2"), HasSubstr("write it into the job file"));
}

class ConfigurationFile : public ::testing::Test {
 protected:
  ConfigurationFile() : path_(::testing::TempDir() + "impirun_sections") {}
  ~ConfigurationFile() override { std::remove(path_.c_str()); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] std::string error_of_file(const std::string& text) const {
    write(text);
    return error_of("-configfile " + path_);
  }
  std::string path_;
};

TEST_F(ConfigurationFile, EachLineIsASection) {
  write("# two systems\n\n-np 2 ./a 'one word'\n  # a comment\n-np 3 \\\n ./b\n");
  const auto line = parse("-label -configfile " + path_);
  ASSERT_TRUE(line) << line.error().text;
  EXPECT_TRUE(line->label);
  ASSERT_EQ(line->sections.size(), 2U);
  EXPECT_THAT(line->sections[0].command, ElementsAre("./a", "one word"));
  EXPECT_EQ(line->sections[1].procs, 3);
}

TEST_F(ConfigurationFile, ErrorsNameTheLine) {
  EXPECT_THAT(error_of_file("-np 1 ./a\n-np 2 './b\n"), HasSubstr(":2: a quote (') is not closed"));
  EXPECT_THAT(error_of_file("# nothing\n"), HasSubstr("it has no section"));
  EXPECT_THAT(error_of_file("-np 1 ./a \\\n"), HasSubstr("no line follows"));
  EXPECT_THAT(error_of("-configfile /nowhere/file"), HasSubstr("No such file or directory"));
  write("-np 1 ./a\n");
  EXPECT_THAT(error_of("-configfile " + path_ + " ./a"), HasSubstr("instead of programs"));
}

}  // namespace
}  // namespace impishim::launch
