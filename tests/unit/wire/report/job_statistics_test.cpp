// SPDX-License-Identifier: Apache-2.0
#include "wire/report/job_statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "made_job.hpp"
#include "wire/statistics/process_statistics.hpp"

namespace impishim::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FilesOfAJob : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "impishim-report-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string prefix() const { return (folder_ / "run").string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  void write_all(const std::vector<wire::ProcessStatistics>& processes) const {
    for (const wire::ProcessStatistics& each : processes)
      write("run." + std::to_string(each.rank) + ".json", json_text(each));
  }
  [[nodiscard]] std::string failure() const {
    const auto job = read_job(prefix());
    return job ? "none" : job.error().text;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(FilesOfAJob, AreReadByRank) {
  write_all(four_processes());
  write("run.notes.json", "{");
  write("other.0.json", "{");
  const auto job = read_job(prefix());
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_EQ(job->size, 4);
  EXPECT_EQ(job->processes.size(), 4U);
  EXPECT_TRUE(job->missing.empty());
}

TEST_F(FilesOfAJob, MissingOnesAreNamed) {
  auto processes = four_processes();
  processes.erase(processes.begin() + 1);
  write_all(processes);
  const auto job = read_job(prefix());
  ASSERT_TRUE(job) << job.error().text;
  EXPECT_THAT(job->missing, ElementsAre(1));
  EXPECT_THAT(host_matrix(*job).names,
              ElementsAre("node0 of system 0", "node1 of system 1", "unknown"));
}

TEST_F(FilesOfAJob, WrongOnesAreRefused) {
  EXPECT_THAT(failure(), HasSubstr("there is no " + prefix() + ".RANK.json"));
  write_all(four_processes());
  write("run.2.json", "{\"rank\": 2");
  EXPECT_THAT(failure(), HasSubstr("run.2.json: "));
  auto processes = four_processes();
  write("run.2.json", json_text(processes[1]));
  EXPECT_THAT(failure(), HasSubstr("run.2.json: it is of rank 1: was it renamed?"));
  processes[2].job = "another";
  write("run.2.json", json_text(processes[2]));
  EXPECT_THAT(failure(), AllOf(HasSubstr("are of different jobs"), HasSubstr("run.2.json")));
}

TEST(JobStatistics, ReceiversOutsideOfTheJobAreNotCounted) {
  auto processes = four_processes();
  processes[0].sent[7] = {1, 100};
  processes[0].sent[1] = {1, 10};
  const TrafficMatrix matrix = rank_matrix(job_of(std::move(processes)));
  EXPECT_EQ(matrix.cells.at(0).at(1).bytes, 10U);
  EXPECT_EQ(matrix.cells.size(), 4U);
}

}  // namespace
}  // namespace impishim::report
