// SPDX-License-Identifier: Apache-2.0
/// A whole job in one process: engines joined by socket pairs, each driven by its progress thread
/// alone.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "wire/channel/tcp_channel.hpp"
#include "wire/progress/progress_thread.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire::test {

/// The two ends of a stream that the kernel carries.
inline std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> socket_channels() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {std::make_unique<TcpChannel>(Descriptor(ends[0]), "left"),
          std::make_unique<TcpChannel>(Descriptor(ends[1]), "right")};
}

class ThreadedJob {
 public:
  explicit ThreadedJob(JobMap job_map) : job(std::move(job_map)) {
    std::vector<EngineOptions> options(static_cast<std::size_t>(job.size()));
    for (WorldRank rank = 0; rank < job.size(); ++rank) {
      EngineOptions& mine = options[static_cast<std::size_t>(rank)];
      mine.job = job;
      mine.here = rank;
      mine.format_of_client.assign(job.clients().size(), Format::kNative);
      for (const WorldRank partner : local_partners(job, rank)) {
        if (partner < rank) continue;
        auto [left, right] = socket_channels();
        mine.local_channels.push_back({partner, std::move(left)});
        options[static_cast<std::size_t>(partner)].local_channels.push_back(
            {rank, std::move(right)});
      }
      const std::int32_t my_host = job.proc(rank).host;
      for (const std::int32_t host : hosts_represented_by(job, rank)) {
        if (host < my_host) continue;
        auto [left, right] = socket_channels();
        mine.host_channels.push_back({host, std::move(left)});
        options[static_cast<std::size_t>(receiving_representative(job, rank, host))]
            .host_channels.push_back({my_host, std::move(right)});
      }
    }
    for (EngineOptions& each : options) {
      engines.push_back(std::make_unique<Engine>(std::move(each)));
      progress.push_back(std::make_unique<ProgressThread>(
          *engines.back(), [](const Error& error) { ADD_FAILURE() << error.text; }));
    }
  }
  ThreadedJob(const ThreadedJob&) = delete;
  ThreadedJob& operator=(const ThreadedJob&) = delete;
  ~ThreadedJob() {
    for (auto& engine : engines) engine->close();
    for (auto& engine : engines) {
      while (!engine->closed() && engine->failure() == nullptr) {
        if (engine->poll(true) == 0) engine->wait_for_event(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(engine->failure(), nullptr);
    }
  }

  JobMap job;
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<ProgressThread>> progress;
};

}  // namespace impishim::wire::test
