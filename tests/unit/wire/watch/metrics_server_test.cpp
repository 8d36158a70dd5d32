// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/metrics_server.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/channel/address.hpp"
#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {
namespace {

using std::chrono::milliseconds;
using testing::StartsWith;

constexpr int kLongMs = 30000;

bool readable(int socket, int ms) {
  pollfd ready{socket, POLLIN, 0};
  return poll(&ready, 1, ms) == 1;
}

milliseconds processor_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(used.tv_sec) +
                                                  std::chrono::nanoseconds(used.tv_nsec));
}

/// A server in a thread, whose job has one process.
class MetricsServerTest : public testing::Test {
 protected:
  MetricsServerTest() : stop_(eventfd(0, EFD_CLOEXEC)) {
    auto server = MetricsServer::open({"127.0.0.1", 0});
    EXPECT_TRUE(server.ok());
    const std::string& url = server->url();
    const std::size_t colon = url.rfind(':');
    port_ = static_cast<std::uint16_t>(std::atoi(url.c_str() + colon + 1));
    thread_ = std::thread([this, served = std::move(*server)]() mutable {
      const auto answer = [] {
        JobState state;
        state.size = 1;
        return Result<JobState>(state);
      };
      EXPECT_TRUE(served.serve(answer, stop_.get()).ok());
    });
  }
  ~MetricsServerTest() override {
    eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  void ask(const Descriptor& client) const {
    constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
    const SocketAddress there = SocketAddress::of(*parse_address("127.0.0.1"), port_);
    ASSERT_EQ(connect(client.get(), there.get(), there.size), 0);
    ASSERT_EQ(send(client.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kRequest.size()));
  }

  Descriptor stop_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

Descriptor new_socket() { return Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

/// All descriptors that this process may have.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    constexpr rlim_t kFew = 256;
    const rlimit few{kFew, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int fd = fcntl(0, F_DUPFD_CLOEXEC, 0); fd >= 0; fd = fcntl(0, F_DUPFD_CLOEXEC, 0))
      taken_.emplace_back(fd);
  }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;
  ~NoDescriptors() {
    taken_.clear();
    setrlimit(RLIMIT_NOFILE, &before_);
  }

 private:
  rlimit before_{};
  std::vector<Descriptor> taken_;
};

TEST_F(MetricsServerTest, AnswersARequest) {
  const Descriptor client = new_socket();
  ask(client);
  ASSERT_TRUE(readable(client.get(), kLongMs));
  std::array<char, 4096> room{};
  const ssize_t size = recv(client.get(), room.data(), room.size(), 0);
  ASSERT_GT(size, 0);
  EXPECT_THAT(std::string(room.data(), static_cast<std::size_t>(size)),
              StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsServerTest, RestsWithoutDescriptorsAndGoesOn) {
  const Descriptor client = new_socket();
  {
    const NoDescriptors all;
    const milliseconds before = processor_time();
    ask(client);
    EXPECT_FALSE(readable(client.get(), 500));
    // A server that polled a listener it cannot accept from would compute all the time.
    EXPECT_LT(processor_time() - before, milliseconds(250));
  }
  EXPECT_TRUE(readable(client.get(), kLongMs));
}

}  // namespace
}  // namespace impishim::wire
