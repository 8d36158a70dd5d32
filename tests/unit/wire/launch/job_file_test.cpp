// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/jobfile/job_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace impishim::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::string& text) {
  const auto job = parse_job_file(text, "job.toml");
  return job ? "no error" : job.error().text;
}

TEST(JobFile, DescribesSystems) {
  const auto job = parse_job_file(R"(
[job]
timeout = 60
label = true
environment = {OMP_NUM_THREADS = 4}
[server]
address = "192.0.2.17"
port = 5000
relay = true
[[system]]
name = "a"
np = 4
program = "./solver"
args = ["one word", "2"]
directory = "/data"
environment = {MODE = "fast"}
hosts = ["n1:2", "n2"]
ppn = 2
bind-to = "core"
gateways = [0, "2-3"]
[[system]]
name = "b"
host = "user@b"
ssh = "ssh -p 2222"
impirun = "~/bin/impirun"
tunnel = true
launcher = "srun"
launcher-args = ["-p", "short"]
np = 8
program = "/opt/solver"
)",
                                  "job.toml");
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_EQ(job->timeout_s, 60);
  EXPECT_TRUE(job->label);
  EXPECT_TRUE(job->relay);
  EXPECT_TRUE(job->leaves_this_machine());
  ASSERT_EQ(job->systems.size(), 2U);
  const JobSystem& a = job->systems[0];
  EXPECT_THAT(a.section.command, ElementsAre("./solver", "one word", "2"));
  EXPECT_EQ(a.section.placement.hosts, "n1:2,n2");
  EXPECT_EQ(a.section.gateways, "0,2-3");
  ASSERT_EQ(a.section.environment.size(), 2U);
  EXPECT_EQ(a.section.environment[0].value, "4");
  const JobSystem& b = job->systems[1];
  EXPECT_THAT(b.ssh, ElementsAre("ssh", "-p", "2222"));
  EXPECT_EQ(b.section.launcher, "srun");
  EXPECT_THAT(b.section.launcher_arguments, ElementsAre("-p", "short"));
}

TEST(JobFile, StaysOnThisMachineWithoutHosts) {
  const auto job = parse_job_file("[[system]]\nnp = 1\nprogram = \"a\"\n", "job.toml");
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_FALSE(job->leaves_this_machine());
  EXPECT_EQ(job->systems[0].name, "0");
}

TEST(JobFile, EachErrorNamesFileLineCauseAndCure) {
  EXPECT_THAT(error_of("x = \n"), HasSubstr("job.toml:1: this is not TOML"));
  EXPECT_THAT(error_of("[= \"a\"\n"), HasSubstr("job.toml:1: this is not TOML"));
  EXPECT_THAT(error_of("\u00e9 = 1\n"), HasSubstr("job.toml:1: this is not TOML"));
  EXPECT_THAT(error_of("a = \ufedf\n"), HasSubstr("job.toml:1: this is not TOML"));
  EXPECT_THAT(error_of("a. = 1\n"), HasSubstr("job.toml:1: this is not TOML"));
  EXPECT_THAT(error_of(""), HasSubstr("begin each one with the line [[system]]"));
  EXPECT_THAT(error_of("[jobs]\n"), HasSubstr("job.toml:1: a job file has no \"jobs\""));
  EXPECT_THAT(error_of("[[system]]\nprogram = \"a\"\n"),
              HasSubstr("job.toml:1: np = N is missing"));
  EXPECT_THAT(error_of("[[system]]\nnp = 2\n"), HasSubstr("program = \"...\" is missing"));
  EXPECT_THAT(error_of("[[system]]\nnp = \"2\"\nprogram = \"a\"\n"),
              HasSubstr("job.toml:2: np needs a number from 1 to"));
  EXPECT_THAT(error_of("[[system]]\nnp = 2\nprogram = \"a\"\nprocs = 2\n"),
              HasSubstr("job.toml:4: [[system]] has no key \"procs\"; it may have name, host"));
  EXPECT_THAT(error_of("[[system]]\nnp = 1\nprogram = \"a\"\nlauncher = \"ssh\"\n"),
              HasSubstr("job.toml:4: ssh reaches a machine"));
  EXPECT_THAT(error_of("[[system]]\nnp = 1\nprogram = \"a\"\ntunnel = true\n"),
              HasSubstr("name the machine with host"));
  EXPECT_THAT(error_of("[[system]]\nnp = 1\nprogram = \"a\"\nbind-to = \"board\"\n"),
              HasSubstr("job.toml:4: bind-to = \"board\" is none of none, hwthread"));
  EXPECT_THAT(
      error_of("[[system]]\nnp = 1\nprogram = \"a\"\nenvironment = {IMPISHIM_SECRET = \"x\"}\n"),
      HasSubstr("impirun makes a secret for each job"));
  EXPECT_THAT(error_of("[[system]]\nname = \"a\"\nnp = 1\nprogram = \"a\"\n[[system]]\nname = "
                       "\"a\"\nnp = 1\nprogram = \"a\"\n"),
              HasSubstr("job.toml:5: two systems have the name \"a\""));
  EXPECT_THAT(error_of("job = 1\n"), HasSubstr("write [job] on a line of its own"));
  EXPECT_THAT(error_of("system = [1]\n"), HasSubstr("write [[system]] before its keys"));
  EXPECT_THAT(error_of("[[system]]\nnp = 1\nprogram = \"a\"\nhost = \"b\"\ntunnel = true\n"),
              HasSubstr("write port = P into [server]"));
  EXPECT_THAT(error_of("[[system]]\nnp = 1\nprogram = \"a\"\nargs = [1]\n"),
              HasSubstr("args may hold texts in quotes only"));
}

TEST(JobFile, FileThatCannotBeReadIsNamed) {
  EXPECT_THAT(read_job_file("/nowhere/job.toml").error().text,
              HasSubstr("-file /nowhere/job.toml: No such file or directory"));
  EXPECT_FALSE(read_job_file("/tmp"));
}

}  // namespace
}  // namespace impishim::launch
