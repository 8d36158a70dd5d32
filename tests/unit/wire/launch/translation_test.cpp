// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/translation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace impishim::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::filesystem::path& place() {
  static const std::filesystem::path path = ::testing::TempDir() + "impirun_translated";
  return path;
}

Result<Words> words_of(LauncherKind kind, const Section& section) {
  return placement_words(kind, section, [] { return Result<std::filesystem::path>(place()); });
}

Words words(LauncherKind kind, const Section& section) {
  auto result = words_of(kind, section);
  return result ? *result : Words{result.error().text};
}

std::string error_of(LauncherKind kind, const Section& section) {
  const auto result = words_of(kind, section);
  return result ? "no error" : result.error().text;
}

constexpr auto kHydra = LauncherKind::kHydra;
constexpr auto kOpenMpi = LauncherKind::kOpenMpi;
constexpr auto kSlurm = LauncherKind::kSlurm;
constexpr auto kOther = LauncherKind::kOther;

TEST(Translation, Hosts) {
  Section section;
  section.placement.hosts = "a,b:4";
  EXPECT_EQ(words(kHydra, section), (Words{"-hosts", "a,b:4"}));
  EXPECT_EQ(words(kOpenMpi, section), (Words{"--host", "a,b:4"}));
  EXPECT_THAT(error_of(kSlurm, section), HasSubstr("use -ppn N"));
  section.placement.hosts = "a,b";
  EXPECT_EQ(words(kSlurm, section), (Words{"--nodelist=a,b"}));
  EXPECT_THAT(error_of(kOther, section), HasSubstr("after -mpiexec-args, up to --"));
}

TEST(Translation, HostFileOfEitherFormBecomesTheLaunchers) {
  const std::string given = ::testing::TempDir() + "impirun_hosts";
  std::ofstream(given) << "a:2   # Hydra's form\nb slots=3\n\nc\n";
  Section section;
  section.placement.host_file = given;
  const auto content = [] {
    std::ifstream file(place());
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(words(kHydra, section), (Words{"-f", place()}));
  EXPECT_EQ(content(), "a:2\nb:3\nc\n");
  EXPECT_EQ(words(kOpenMpi, section), (Words{"--hostfile", place()}));
  EXPECT_EQ(content(), "a slots=2\nb slots=3\nc\n");
  std::ofstream(given) << "a\nb\n";
  EXPECT_EQ(words(kSlurm, section), (Words{"--nodelist=a,b"}));
  std::filesystem::remove(place());
  std::filesystem::remove(given);
}

TEST(Translation, ProcessesOnEachNode) {
  Section section;
  section.placement.per_node = 4;
  EXPECT_EQ(words(kHydra, section), (Words{"-ppn", "4"}));
  EXPECT_EQ(words(kOpenMpi, section), (Words{"--map-by", "ppr:4:node"}));
  EXPECT_EQ(words(kSlurm, section), (Words{"--ntasks-per-node=4"}));
  section.placement.map_by = "node";
  for (const LauncherKind kind : {kHydra, kOpenMpi, kSlurm})
    EXPECT_THAT(error_of(kind, section), HasSubstr("exclude each other"));
  section.placement.map_by = "core";
  EXPECT_THAT(error_of(kOpenMpi, section), HasSubstr("--map-by ppr:..."));
  EXPECT_EQ(words(kHydra, section), (Words{"-ppn", "4", "-map-by", "core"}));
}

TEST(Translation, Binding) {
  Section section;
  section.placement.bind_to = "core";
  EXPECT_EQ(words(kHydra, section), (Words{"-bind-to", "core"}));
  EXPECT_EQ(words(kOpenMpi, section), (Words{"--bind-to", "core"}));
  EXPECT_EQ(words(kSlurm, section), (Words{"--cpu-bind=cores"}));
  section.placement.bind_to = "numa";
  EXPECT_EQ(words(kSlurm, section), (Words{"--cpu-bind=ldoms"}));
  section.placement.bind_to = "l3cache";
  EXPECT_THAT(error_of(kSlurm, section), HasSubstr("srun has no such option"));
}

TEST(Translation, Mapping) {
  Section section;
  section.placement.map_by = "node";
  EXPECT_EQ(words(kHydra, section), (Words{"-ppn", "1"}));
  EXPECT_EQ(words(kOpenMpi, section), (Words{"--map-by", "node"}));
  EXPECT_EQ(words(kSlurm, section), (Words{"--distribution=cyclic"}));
  section.placement.map_by = "slot";
  EXPECT_EQ(words(kHydra, section), Words{});
  EXPECT_EQ(words(kSlurm, section), (Words{"--distribution=block"}));
  section.placement.map_by = "hwthread";
  EXPECT_THAT(error_of(kSlurm, section), HasSubstr("-map-by hwthread: srun has no such option"));
}

TEST(Translation, DirectoryAndTheLaunchersOwnWords) {
  Section section;
  section.directory = "/x";
  section.launcher_arguments = {"-iface", "lo"};
  EXPECT_EQ(words(kHydra, section), (Words{"-wdir", "/x", "-iface", "lo"}));
  EXPECT_EQ(words(kOpenMpi, section), (Words{"--wdir", "/x", "-iface", "lo"}));
  EXPECT_EQ(words(kSlurm, section), (Words{"--chdir=/x", "-iface", "lo"}));
  EXPECT_EQ(words(kOther, section), (Words{"-iface", "lo"}));
  EXPECT_EQ(variable_words(kOther, section, true), (Words{"-C", "/x"}));
}

TEST(Translation, Variables) {
  setenv("IMPIRUN_TEST", "own value", 1);
  setenv("IMPISHIM_SECRET", "hidden", 1);
  Section section;
  section.environment = {
      {"A", "1"}, {"IMPIRUN_TEST", {}}, {"IMPISHIM_SECRET", {}}, {"LD_PRELOAD", "t.so"}};
  EXPECT_EQ(variable_words(kHydra, section, false), (Words{"A=1"}));
  EXPECT_EQ(variable_words(kOther, section, false), (Words{"A=1", "IMPIRUN_TEST=own value"}));
  EXPECT_EQ(pass_on_words(kOpenMpi, section),
            (Words{"-x", "IMPIRUN_TEST", "-x", "IMPISHIM_SECRET"}));
  EXPECT_TRUE(pass_on_words(kHydra, section).empty());
  unsetenv("IMPIRUN_TEST");
  unsetenv("IMPISHIM_SECRET");
}

}  // namespace
}  // namespace impishim::launch
