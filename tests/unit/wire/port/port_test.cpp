// SPDX-License-Identifier: Apache-2.0
// Ports: their names, and the connections between the two ends.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/channel/address.hpp"
#include "wire/port/conversation.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {
namespace {

HostId loopback() { return parse_address("127.0.0.1").value(); }

std::unique_ptr<OpenPort> open_port() {
  auto port = OpenPort::open(loopback());
  EXPECT_TRUE(port.ok());
  return std::move(*port);
}

std::vector<std::byte> bytes(std::size_t count) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i * 13);
  return made;
}

TEST(PortName, ItsTextCanBeParsed) {
  const auto port = open_port();
  const std::string text = port->name().text();
  EXPECT_LT(text.size(), 256U);  // the least MPI_MAX_PORT_NAME
  ASSERT_TRUE(is_port_name(text));
  const auto parsed = PortName::parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->text(), text);
}

TEST(PortName, AnIpv6AddressCanBeParsed) {
  const PortName name{parse_address("::1").value(), 4711, JobSecret::random().value()};
  const auto parsed = PortName::parse(name.text());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->port, 4711);
  EXPECT_TRUE(same_address(parsed->address, name.address));
}

TEST(PortName, OtherTextsAreRefusedWithoutBeingRepeated) {
  const std::string good = open_port()->name().text();
  for (const std::string& text :
       {std::string(), std::string("impishim://"), std::string("tag#0$description#x$"),
        good.substr(1), good + "0", good.substr(0, good.size() - 1),
        good.substr(0, good.size() - 1) + "g",
        std::string("impishim://1.2.3.4:0/") + std::string(64, 'a'),
        std::string("impishim:///") + std::string(64, 'a')}) {
    const auto parsed = PortName::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kConfiguration);
    if (text.size() < 64) continue;
    EXPECT_EQ(parsed.error().text.find(text.substr(30)), std::string::npos);
  }
}

TEST(Port, BothEndsTalk) {
  const auto port = open_port();
  auto connecting = std::async(std::launch::async, [&] { return connect_to_port(port->name()); });
  auto accepted = port->accept();
  auto connected = connecting.get();
  ASSERT_TRUE(accepted.ok() && accepted->has_value() && connected.ok());
  EXPECT_TRUE((*accepted)->conversation.accepted());
  EXPECT_FALSE(connected->conversation.accepted());
  const auto small = bytes(10);
  const auto large = bytes(3'000'000);
  auto answer = std::async(std::launch::async, [&] {
    auto first = connected->conversation.receive();
    auto second = connected->conversation.receive();
    EXPECT_TRUE(connected->conversation.send({}).ok());
    return std::pair(std::move(first), std::move(second));
  });
  EXPECT_TRUE((*accepted)->conversation.send(small).ok());
  EXPECT_TRUE((*accepted)->conversation.send(large).ok());
  const auto empty = (*accepted)->conversation.receive();
  const auto [first, second] = answer.get();
  ASSERT_TRUE(first.ok() && second.ok() && empty.ok());
  EXPECT_EQ(*first, small);
  EXPECT_EQ(*second, large);
  EXPECT_TRUE(empty->empty());
}

TEST(Port, AnEndThatClosesIsNoticed) {
  const auto port = open_port();
  auto connecting = std::async(std::launch::async, [&] { return connect_to_port(port->name()); });
  auto accepted = port->accept();
  { auto connected = connecting.get(); }
  const auto received = (*accepted)->conversation.receive();
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.error().kind, ErrorKind::kConnection);
}

TEST(Port, SeveralConnectBeforeOneAccepts) {
  const auto port = open_port();
  std::vector<std::future<Result<PortConnection>>> connecting;
  for (int i = 0; i < 3; ++i) {
    connecting.push_back(
        std::async(std::launch::async, [&] { return connect_to_port(port->name()); }));
  }
  std::vector<Conversation> accepted;
  for (int i = 0; i < 3; ++i) {
    auto each = port->accept();
    ASSERT_TRUE(each.ok() && each->has_value());
    accepted.push_back(std::move((**each).conversation));
    ASSERT_TRUE(accepted.back().send(bytes(static_cast<std::size_t>(i) + 1)).ok());
  }
  std::size_t sum = 0;
  for (auto& each : connecting) {
    auto connected = each.get();
    ASSERT_TRUE(connected.ok());
    sum += connected->conversation.receive()->size();
  }
  EXPECT_EQ(sum, 6U);
}

TEST(Port, AWrongSecretIsRefusedAndTheRightOneIsServed) {
  const auto port = open_port();
  PortName wrong = port->name();
  wrong.secret = JobSecret::random().value();
  auto stranger = std::async(std::launch::async, [&] { return connect_to_port(wrong); });
  auto friendly = std::async(std::launch::async, [&] {
    stranger.wait();
    return connect_to_port(port->name());
  });
  const auto accepted = port->accept();
  EXPECT_TRUE(accepted.ok() && accepted->has_value());
  EXPECT_TRUE(friendly.get().ok());
  const auto refused = stranger.get();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().kind, ErrorKind::kConnection);
}

TEST(Port, AClosedPortIsAnErrorAtOnce) {
  const PortName name = open_port()->name();
  const auto connected = connect_to_port(name);
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.error().kind, ErrorKind::kConnection);
  EXPECT_NE(connected.error().text.find("127.0.0.1"), std::string::npos);
}

TEST(Port, AWatchedDescriptorEndsTheWait) {
  const auto port = open_port();
  const Descriptor event(eventfd(1, EFD_CLOEXEC));
  const auto accepted = port->accept(event.get());
  ASSERT_TRUE(accepted.ok());
  EXPECT_FALSE(accepted->has_value());
}

TEST(Conversation, AMessageThatIsTooLongIsRefused) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Descriptor raw(ends[1]);
  Conversation conversation(Descriptor(ends[0]), true);
  const std::vector<std::byte> lie(8, std::byte{0x7f});
  ASSERT_EQ(write(raw.get(), lie.data(), lie.size()), 8);
  const auto received = conversation.receive();
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.error().kind, ErrorKind::kProtocol);
}

}  // namespace
}  // namespace impishim::wire
