// SPDX-License-Identifier: Apache-2.0
// Hosts that meet at a relay, because they cannot connect to each other or before they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/connect/open_hosts.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/channel/address.hpp"
#include "wire/connect/host_listener.hpp"
#include "wire/relay/relay_service.hpp"

namespace impishim::wire {
namespace {

using test::connect_all;
using test::expect_joined;
using test::Floor;
using test::host_id;
using test::job_of;
using testing::HasSubstr;

/// A relay in a thread of its own.
class RunningRelay {
 public:
  RunningRelay() : listener_(std::move(HostListener::open(host_id("127.0.0.1")).value())) {
    EXPECT_TRUE(fill_with_random(point_.token).ok());
    point_.address = SocketAddress::of(host_id("127.0.0.1"), listener_.port());
    thread_ = std::thread([this] { run(); });
  }
  ~RunningRelay() {
    ended_ = true;
    thread_.join();
  }
  RunningRelay(const RunningRelay&) = delete;
  RunningRelay& operator=(const RunningRelay&) = delete;
  [[nodiscard]] const RelayPoint& point() const { return point_; }

 private:
  void run() {
    auto service = RelayService::open(point_.token);
    while (service && !ended_) {
      std::array<pollfd, 2> polled{pollfd{listener_.sockets().front().get(), POLLIN, 0},
                                   pollfd{service->descriptor(), POLLIN, 0}};
      ASSERT_GE(poll(polled.data(), polled.size(), 10), 0);
      const auto now = RelayService::Clock::now();
      if (polled[0].revents != 0) {
        Descriptor socket(accept4(listener_.sockets().front().get(), nullptr, nullptr,
                                  SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket.valid()) service->adopt(std::move(socket), "a host", {}, now);
      }
      service->handle(now);
      static_cast<void>(service->take_reports());
    }
  }

  HostListener listener_;
  RelayPoint point_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST(HostMeshRelay, JoinsHostsThatAcceptNothing) {
  const RunningRelay relay;
  Floor floor({"127.0.0.2", "127.0.0.3", "127.0.0.4"});
  std::vector<std::uint16_t> ports;
  for (const HostListener& each : floor.listeners) ports.push_back(each.port());
  // Nothing listens at what they advertise.
  floor.job = job_of({host_id("127.0.0.7"), host_id("127.0.0.8"), host_id("127.0.0.9")}, ports);
  floor.options.relay = relay.point();
  floor.options.relay_delay = std::chrono::milliseconds(20);
  testing::internal::CaptureStderr();
  auto connected = connect_all(floor);
  const std::string log = testing::internal::GetCapturedStderr();
  expect_joined(connected);
  EXPECT_THAT(log, HasSubstr("reach each other only through the relay"));
}

/// All three ways race; each pair must agree on one connection.
TEST(HostMeshRelay, KeepsOneConnectionOfThree) {
  constexpr int kRounds = 60;
  const RunningRelay relay;
  testing::internal::CaptureStderr();
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    Floor floor({"127.0.0.1", "127.0.0.1", "127.0.0.1", "127.0.0.1"});
    floor.options.reversal_delay = std::chrono::milliseconds(round % 3);
    floor.options.relay = relay.point();
    floor.options.relay_delay = std::chrono::milliseconds(round % 2);
    auto connected = connect_all(floor);
    expect_joined(connected);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(log.find("turned away"), std::string::npos) << log;
}

}  // namespace
}  // namespace impishim::wire
