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
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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

bool ask(const Descriptor& client, const SocketAddress& server) {
  constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
  return connect(client.get(), server.get(), server.size) == 0 &&
         send(client.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(kRequest.size());
}

/// A server in a thread, whose job has one process.
class MetricsServerTest : public testing::Test {
 protected:
  MetricsServerTest() : stop_(eventfd(0, EFD_CLOEXEC)) {
    auto server = MetricsServer::open({"127.0.0.1", 0});
    EXPECT_TRUE(server.ok());
    const std::string& url = server->url();
    const std::size_t colon = url.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::atoi(url.c_str() + colon + 1));
    address_ = SocketAddress::of(*parse_address("127.0.0.1"), port);
    std::promise<void> begun;
    auto has_begun = begun.get_future();
    thread_ = std::thread([this, begun = std::move(begun), served = std::move(*server)]() mutable {
      begun.set_value();
      const auto answer = [] {
        JobState state;
        state.size = 1;
        return Result<JobState>(state);
      };
      EXPECT_TRUE(served.serve(answer, stop_.get()).ok());
    });
    has_begun.wait();
  }
  ~MetricsServerTest() override {
    eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  Descriptor stop_;
  SocketAddress address_;
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
  ASSERT_TRUE(ask(client, address_));
  ASSERT_TRUE(readable(client.get(), kLongMs));
  std::array<char, 4096> room{};
  const ssize_t size = recv(client.get(), room.data(), room.size(), 0);
  ASSERT_GT(size, 0);
  EXPECT_THAT(std::string(room.data(), static_cast<std::size_t>(size)),
              StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsServerTest, RestsWithoutDescriptorsAndGoesOn) {
  const Descriptor client = new_socket();
  const SocketAddress address = address_;
  bool asked = false;
  bool answered = true;
  milliseconds used{};
  {
    // Nothing else is called here: UBSan needs a descriptor for its check of an object's type.
    const NoDescriptors all;
    const milliseconds before = processor_time();
    asked = ask(client, address);
    answered = readable(client.get(), 500);
    used = processor_time() - before;
  }
  EXPECT_TRUE(asked);
  EXPECT_FALSE(answered);
  // A server that polled a listener it cannot accept from would compute all the time.
  EXPECT_LT(used, milliseconds(250));
  EXPECT_TRUE(readable(client.get(), kLongMs));
}

}  // namespace
}  // namespace impishim::wire
