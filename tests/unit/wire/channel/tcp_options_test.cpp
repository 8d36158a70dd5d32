// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/tcp_options.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>

#include "tests/unit/wire/channel/loopback.hpp"

namespace impishim::wire {
namespace {

using testing::HasSubstr;

/// Every kernel has it.
constexpr const char* kAlwaysThere = "reno";

int number_option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  EXPECT_EQ(getsockopt(socket, level, name, &value, &size), 0);
  return value;
}

std::string congestion_control(int socket) {
  std::array<char, 16> name{};
  socklen_t size = name.size() - 1;
  EXPECT_EQ(getsockopt(socket, SOL_TCP, TCP_CONGESTION, name.data(), &size), 0);
  return name.data();
}

TEST(TcpOptions, ReachTheSocket) {
  const auto [near, far] = test::connected_pair("127.0.0.1");
  const TcpOptions options{.heartbeat = {std::chrono::seconds(7)},
                           .congestion_control = kAlwaysThere};
  set_tcp_options(near.get(), options);
  EXPECT_EQ(congestion_control(near.get()), kAlwaysThere);
  EXPECT_EQ(number_option(near.get(), SOL_TCP, TCP_KEEPINTVL), 7);
  EXPECT_EQ(number_option(near.get(), SOL_TCP, TCP_KEEPIDLE), 21);
  EXPECT_NE(fcntl(near.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(TcpOptions, KeepTheKernelsCongestionControl) {
  const auto [near, far] = test::connected_pair("127.0.0.1");
  const std::string of_the_kernel = congestion_control(near.get());
  set_tcp_options(near.get());
  EXPECT_EQ(congestion_control(near.get()), of_the_kernel);
}

TEST(CongestionControl, IsCheckedBeforeItIsUsed) {
  EXPECT_TRUE(check_congestion_control("X", kAlwaysThere).ok());
  const auto unknown = check_congestion_control("X", "no_such_control");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(unknown.error().text, HasSubstr("X=no_such_control: No such file or directory"));
  EXPECT_THAT(unknown.error().text, HasSubstr(kAlwaysThere));
}

}  // namespace
}  // namespace impishim::wire
