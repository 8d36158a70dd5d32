// SPDX-License-Identifier: Apache-2.0
// Two groups that are connected over a port, one thread for each process.
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/channel/address.hpp"
#include "wire/connect/host_mesh.hpp"
#include "wire/port/group_agreement.hpp"
#include "wire/port/open_port.hpp"

namespace impishim::wire {
namespace {

HostId loopback() { return parse_address("127.0.0.1").value(); }

/// The members of a group, and their listening sockets.
struct Group {
  explicit Group(int size, int first_pid) {
    for (int i = 0; i < size; ++i) {
      listeners.push_back(HostListener::open(loopback()).value());
      GroupMember member;
      member.id = {loopback(), first_pid + i};
      member.address = loopback();
      member.port = listeners.back().port();
      member.job = static_cast<std::uint64_t>(first_pid);
      info.members.push_back(std::move(member));
    }
  }
  GroupInfo info;
  std::vector<HostListener> listeners;
};

/// The two ends of a port's connection.
struct Ends {
  Ends() : port(OpenPort::open(loopback()).value()) {
    auto connecting = std::async(std::launch::async, [&] { return connect_to_port(port->name()); });
    auto came = port->accept();
    auto made = connecting.get();
    accepted.emplace(std::move(came.value()->conversation));
    connected.emplace(std::move(made->conversation));
  }
  std::unique_ptr<OpenPort> port;
  std::optional<Conversation> accepted;
  std::optional<Conversation> connected;
};

TEST(GroupAgreement, BothRootsKnowTheSame) {
  Ends ends;
  const Group one(2, 100);
  const Group two(3, 200);
  const JobSecret& secret = ends.port->name().secret;
  auto other = std::async(std::launch::async,
                          [&] { return agree_on_groups(*ends.connected, secret, two.info, 22); });
  const auto here = agree_on_groups(*ends.accepted, secret, one.info, 11);
  const auto there = other.get();
  ASSERT_TRUE(here.ok() && there.ok());
  EXPECT_EQ(here->remote.members.size(), 3U);
  EXPECT_EQ(there->remote.members.size(), 2U);
  EXPECT_EQ(here->context, 11U);
  EXPECT_EQ(there->context, 11U);
  EXPECT_TRUE(equal_in_constant_time(here->secret.bytes(), there->secret.bytes()));
  EXPECT_FALSE(equal_in_constant_time(here->secret.bytes(), secret.bytes()));
}

TEST(GroupAgreement, JobsWithOtherSettingsAreRefusedAtBothEnds) {
  Ends ends;
  const Group one(1, 100);
  Group two(1, 200);
  two.info.terms.values.hiwater = 7;
  const JobSecret& secret = ends.port->name().secret;
  auto other = std::async(std::launch::async,
                          [&] { return agree_on_groups(*ends.connected, secret, two.info, 0); });
  const auto here = agree_on_groups(*ends.accepted, secret, one.info, 0);
  const auto there = other.get();
  ASSERT_FALSE(here.ok() || there.ok());
  EXPECT_NE(here.error().text.find("IMPISHIM_HIWATER is 20 here and 7 there"), std::string::npos);
  EXPECT_NE(there.error().text.find("IMPISHIM_HIWATER is 7 here and 20 there"), std::string::npos);
}

TEST(GroupAgreement, AnErrorIsToldToTheOtherEnd) {
  Ends ends;
  auto other = std::async(std::launch::async, [&] {
    return agree_on_outcome(*ends.connected, Error{ErrorKind::kTimeout, "a port is closed"});
  });
  const auto here = agree_on_outcome(*ends.accepted, std::nullopt);
  const auto there = other.get();
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here->text, "the other group reports: a port is closed");
  EXPECT_EQ(there->text, "a port is closed");
}

TEST(GroupAgreement, EachMemberIsConnectedWithEachOfTheOtherGroup) {
  Group one(2, 100);
  Group two(3, 200);
  const JobSecret secret = JobSecret::random().value();
  const GroupSide accepting{one.info.members, true};
  const GroupSide connecting{two.info.members, false};
  using Channels = Result<std::vector<std::unique_ptr<Channel>>>;
  std::vector<std::future<Channels>> waiting;
  for (std::size_t i = 0; i < 2; ++i) {
    waiting.push_back(std::async(std::launch::async, [&, i] {
      return connect_members(accepting, connecting, static_cast<std::int32_t>(i),
                             std::move(one.listeners[i]), secret, 20'000);
    }));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    waiting.push_back(std::async(std::launch::async, [&, i] {
      return connect_members(connecting, accepting, static_cast<std::int32_t>(i),
                             std::move(two.listeners[i]), secret, 20'000);
    }));
  }
  std::vector<Channels> channels;
  for (auto& each : waiting) {
    channels.push_back(each.get());
    ASSERT_TRUE(channels.back().ok()) << channels.back().error().text;
  }
  // The byte that member i sends to member j arrives at the channel that j has for i.
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      auto byte = static_cast<std::byte>(16 * i + j);
      const iovec out{&byte, 1};
      ASSERT_EQ(channels[i].value()[j]->try_send({&out, 1}).value(), 1U);
      std::byte came{0xff};
      const iovec in{&came, 1};
      while (channels[2 + j].value()[i]->try_receive({&in, 1}).value() == 0) {
      }
      EXPECT_EQ(came, byte);
    }
  }
}

TEST(GroupAgreement, MembersOfOneJobAreNotConnectedOnceMore) {
  Group one(1, 100);
  Group two(2, 200);
  two.info.members[1].job = one.info.members[0].job;
  const JobSecret secret = JobSecret::random().value();
  const GroupSide accepting{one.info.members, true};
  const GroupSide connecting{two.info.members, false};
  auto of_other_job = std::async(std::launch::async, [&] {
    return connect_members(connecting, accepting, 0, std::move(two.listeners[0]), secret, 20'000);
  });
  const auto of_same_job =
      connect_members(connecting, accepting, 1, std::move(two.listeners[1]), secret, 20'000);
  const auto here =
      connect_members(accepting, connecting, 0, std::move(one.listeners[0]), secret, 20'000);
  ASSERT_TRUE(here.ok() && of_same_job.ok() && of_other_job.get().ok());
  EXPECT_NE(here.value()[0], nullptr);
  EXPECT_EQ(here.value()[1], nullptr);
  EXPECT_EQ(of_same_job.value()[0], nullptr);
}

TEST(GroupAgreement, AWrongSecretConnectsNothing) {
  Group one(1, 100);
  Group two(1, 200);
  const GroupSide accepting{one.info.members, true};
  const GroupSide connecting{two.info.members, false};
  auto other = std::async(std::launch::async, [&] {
    return connect_members(connecting, accepting, 0, std::move(two.listeners[0]),
                           JobSecret::random().value(), 2'000);
  });
  const auto here = connect_members(accepting, connecting, 0, std::move(one.listeners[0]),
                                    JobSecret::random().value(), 2'000);
  EXPECT_FALSE(here.ok());
  EXPECT_FALSE(other.get().ok());
}

}  // namespace
}  // namespace impishim::wire
