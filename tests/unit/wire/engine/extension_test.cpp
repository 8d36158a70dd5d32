// SPDX-License-Identifier: Apache-2.0
// Two jobs that are connected while they run (MPI_Comm_accept, MPI_Comm_connect). Each numbers the
// processes of the other behind its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/channel/memory_channel.hpp"
#include "wire/engine/engine.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire::test {
namespace {

/// Describes all processes of `there` for a job that has `clients` clients.
std::vector<AddedProc> procs_of(const JobMap& there, std::int32_t clients) {
  std::vector<AddedProc> added;
  for (const Proc& proc : there.procs())
    added.push_back({clients + proc.client, there.host(proc.host).address, proc.id});
  return added;
}

/// Two jobs, and the channels between each process of one and each of the other.
class TwoJobs {
 public:
  TwoJobs(const JobShape& first, const JobShape& second) : a_(first), b_(second) { connect(); }

  SimulatedJob& a() { return a_; }
  SimulatedJob& b() { return b_; }
  /// Connects them once more: the same processes get new numbers.
  void connect() {
    const JobMap old_a = a_.engine(0).job();
    const JobMap old_b = b_.engine(0).job();
    const JobMap new_a = grown(old_a, b_.job());
    const JobMap new_b = grown(old_b, a_.job());
    std::vector<std::vector<HostChannel>> of_a(static_cast<std::size_t>(a_.size()));
    std::vector<std::vector<HostChannel>> of_b(static_cast<std::size_t>(b_.size()));
    for (int i = 0; i < a_.size(); ++i) {
      for (int j = 0; j < b_.size(); ++j) {
        MemoryChannelOptions options;
        options.seed = static_cast<std::uint32_t>(++channels_);
        auto [left, right] = MemoryChannel::make_pair(options);
        of_a[static_cast<std::size_t>(i)].push_back(
            {new_a.proc(old_a.size() + j).host, std::move(left)});
        of_b[static_cast<std::size_t>(j)].push_back(
            {new_b.proc(old_b.size() + i).host, std::move(right)});
      }
    }
    for (int i = 0; i < a_.size(); ++i)
      extend(a_.engine(i), new_a, of_a[static_cast<std::size_t>(i)]);
    for (int j = 0; j < b_.size(); ++j)
      extend(b_.engine(j), new_b, of_b[static_cast<std::size_t>(j)]);
    first_b_ = old_a.size();
    first_a_ = old_b.size();
  }
  /// Numbers of the other job's processes since the latest connect().
  [[nodiscard]] int b_in_a(int rank) const { return first_b_ + rank; }
  [[nodiscard]] int a_in_b(int rank) const { return first_a_ + rank; }

  bool run_until(const std::function<bool()>& done) {
    for (int quiet = 0; quiet < 200; ++quiet) {
      if (done()) return true;
      std::size_t events = 0;
      for (int i = 0; i < a_.size(); ++i) events += a_.engine(i).poll(true);
      for (int j = 0; j < b_.size(); ++j) events += b_.engine(j).poll(true);
      if (events > 0) quiet = 0;
    }
    return done();
  }

  void release_all() {
    for (int i = 0; i < a_.size(); ++i)
      for (int j = 0; j < b_.size(); ++j)
        a_.engine(i).release(a_.engine(i).job().proc(b_in_a(j)).host);
    for (int j = 0; j < b_.size(); ++j)
      for (int i = 0; i < a_.size(); ++i)
        b_.engine(j).release(b_.engine(j).job().proc(a_in_b(i)).host);
  }

 private:
  static JobMap grown(const JobMap& here, const JobMap& there) {
    return here.extended(there.clients(),
                         procs_of(there, static_cast<std::int32_t>(here.clients().size())));
  }
  static void extend(Engine& engine, const JobMap& job, std::vector<HostChannel>& channels) {
    engine.extend(job, std::vector<Format>(job.clients().size(), Format::kNative),
                  std::move(channels));
  }

  SimulatedJob a_;
  SimulatedJob b_;
  int first_a_ = 0;
  int first_b_ = 0;
  int channels_ = 0;
};

JobShape shape_of(std::vector<std::vector<int>> procs_of_hosts, int job) {
  JobShape shape;
  shape.procs_of_hosts = std::move(procs_of_hosts);
  shape.seed = static_cast<std::uint32_t>(job + 1);
  shape.job = job;
  return shape;
}

std::vector<std::byte> bytes(std::size_t count, int salt) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(salt));
  return made;
}

TEST(Extension, EachProcessReachesEachOfTheOtherJob) {
  TwoJobs jobs(shape_of({{2}, {1}}, 0), shape_of({{1}, {2}}, 1));
  for (int i = 0; i < jobs.a().size(); ++i) {
    for (int j = 0; j < jobs.b().size(); ++j) {
      const auto short_data = bytes(40, i + j);
      const auto long_data = bytes(300'000, i * j);
      Receive at_b(jobs.b(), j, i, 5, short_data.size());
      Receive at_a(jobs.a(), i, j, 6, long_data.size());
      Send to_b(jobs.a(), i, jobs.b_in_a(j), 5, short_data);
      Send to_a(jobs.b(), j, jobs.a_in_b(i), 6, long_data, SendMode::kSynchronous);
      to_b.operation.source_rank = i;
      ASSERT_TRUE(jobs.run_until([&] {
        return at_a.operation.complete() && at_b.operation.complete() &&
               to_a.operation.complete() && to_b.operation.complete();
      }));
      EXPECT_EQ(at_b.bytes(), short_data);
      EXPECT_EQ(at_a.bytes(), long_data);
    }
  }
}

TEST(Extension, MessagesInsideEachJobTravelAsBefore) {
  TwoJobs jobs(shape_of({{2}, {1}}, 0), shape_of({{1}, {1}}, 1));
  const auto data = bytes(1000, 3);
  Receive receive(jobs.a(), 2, 1, 9, data.size());
  Send send(jobs.a(), 1, 2, 9, data);
  ASSERT_TRUE(jobs.run_until([&] { return receive.operation.complete(); }));
  EXPECT_EQ(receive.bytes(), data);
}

TEST(Extension, TheJobItselfStaysAsItWas) {
  TwoJobs jobs(shape_of({{2}, {1}}, 0), shape_of({{1}, {1}}, 1));
  EXPECT_EQ(jobs.a().engine(0).job().size(), 5);
  EXPECT_EQ(jobs.a().engine(0).job_at_start().size(), 3);
  EXPECT_EQ(jobs.a().engine(0).job_at_start().clients().size(), 2U);
}

TEST(Extension, ClosesWithTheJobs) {
  TwoJobs jobs(shape_of({{1}, {1}}, 0), shape_of({{1}, {1}}, 1));
  for (int i = 0; i < 2; ++i) jobs.a().engine(i).close();
  EXPECT_FALSE(jobs.run_until([&] { return jobs.a().engine(0).closed(); }));
  for (int j = 0; j < 2; ++j) jobs.b().engine(j).close();
  EXPECT_TRUE(jobs.run_until([&] {
    return jobs.a().engine(0).closed() && jobs.a().engine(1).closed() &&
           jobs.b().engine(0).closed() && jobs.b().engine(1).closed();
  }));
}

TEST(Extension, AReleasedJobEndsWithoutTheOther) {
  TwoJobs jobs(shape_of({{1}, {1}}, 0), shape_of({{1}, {1}}, 1));
  const auto data = bytes(100'000, 1);
  Receive receive(jobs.b(), 1, 0, 2, data.size());
  Send send(jobs.a(), 0, jobs.b_in_a(1), 2, data);
  jobs.release_all();
  ASSERT_TRUE(jobs.run_until([&] { return receive.operation.complete(); }));
  EXPECT_EQ(receive.bytes(), data);
  jobs.run_until([] { return false; });
  for (int i = 0; i < 2; ++i) jobs.a().engine(i).close();
  ASSERT_TRUE(
      jobs.run_until([&] { return jobs.a().engine(0).closed() && jobs.a().engine(1).closed(); }));
  for (int i = 0; i < 2; ++i) jobs.a().kill(i);
  for (int j = 0; j < 2; ++j) static_cast<void>(jobs.b().engine(j).poll(true));
  EXPECT_EQ(jobs.b().engine(0).failure(), nullptr);
  EXPECT_EQ(jobs.b().engine(1).failure(), nullptr);
}

TEST(Extension, ReleasedLinksLeaveNothingButTheirCounts) {
  TwoJobs jobs(shape_of({{1}, {1}}, 0), shape_of({{1}}, 1));
  const auto data = bytes(5000, 1);
  for (int round = 0; round < 3; ++round) {
    Receive receive(jobs.b(), 0, 1, 2, data.size());
    Send send(jobs.a(), 1, jobs.b_in_a(0), 2, data);
    ASSERT_TRUE(jobs.run_until([&] { return receive.operation.complete(); }));
    const std::uint64_t sent = jobs.a().engine(1).counters().remote_origin.bytes;
    jobs.release_all();
    jobs.run_until([] { return false; });
    EXPECT_GE(jobs.a().engine(1).counters().remote_origin.bytes, sent);
    // The report has a line for each link.
    const std::string report = jobs.b().engine(0).report();
    EXPECT_EQ(report.find("memory"), std::string::npos) << report;
    jobs.connect();
    EXPECT_NE(jobs.b().engine(0).report().find("memory"), std::string::npos);
  }
}

TEST(Extension, ProcessesCanBeConnectedAgain) {
  TwoJobs jobs(shape_of({{1}, {1}}, 0), shape_of({{1}}, 1));
  jobs.release_all();
  jobs.connect();
  const auto data = bytes(5000, 1);
  Receive receive(jobs.b(), 0, 1, 2, data.size());
  Send send(jobs.a(), 1, jobs.b_in_a(0), 2, data);
  ASSERT_TRUE(jobs.run_until([&] { return receive.operation.complete(); }));
  EXPECT_EQ(receive.bytes(), data);
  EXPECT_EQ(jobs.a().engine(0).failure(), nullptr);
}

TEST(Extension, AConnectedProcessThatDiesEndsTheJob) {
  TwoJobs jobs(shape_of({{1}, {1}}, 0), shape_of({{1}}, 1));
  jobs.b().kill(0);
  jobs.a().settle();
  ASSERT_NE(jobs.a().engine(0).failure(), nullptr);
  EXPECT_NE(jobs.a().engine(0).failure()->text.find("ended without FINI"), std::string::npos);
}

}  // namespace
}  // namespace impishim::wire::test
