// SPDX-License-Identifier: Apache-2.0
// How connected sockets become channels over libfabric, and how they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/wire/channel/support.hpp"
#include "tests/unit/wire/fabric/fabric_support.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/fabric/fabric_offer.hpp"

namespace impishim::wire {
namespace {

using test::meet;
using test::one_link;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

FabricChoice named(const std::string& text) { return *FabricChoice::parse(text); }

TEST(FabricProviders, AreFoundByTheirNames) {
  auto tcp = usable_providers(named("tcp"));
  ASSERT_TRUE(tcp.ok()) << tcp.error().text;
  EXPECT_THAT(*tcp, ElementsAre(HasSubstr("tcp")));
  auto local = usable_providers(named("shm"));
  ASSERT_TRUE(local.ok()) << local.error().text;
  EXPECT_THAT(*local, IsEmpty()) << "between hosts shm is no use";
  EXPECT_THAT(*usable_providers(named("none")), IsEmpty());
  EXPECT_TRUE(usable_providers(named("auto")).ok());
}

TEST(FabricProviders, ThatAreMissingAreToldWithThoseThatAreThere) {
  auto missing = usable_providers(named("tcp,quantum"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(missing.error().text, AllOf(HasSubstr("no provider quantum"), HasSubstr("shm"),
                                          HasSubstr("tcp"), HasSubstr("none")));
}

/// What a peer that says `bytes` and closes is answered.
Error answer_to(const std::vector<std::byte>& bytes) {
  auto [near, far] = test::guard_pair("tcp");
  EXPECT_EQ(send(far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  shutdown(far.get(), SHUT_WR);
  auto made =
      make_fabric_channels("tcp", one_link(std::move(near), "the stranger"), test::kMeetingMs);
  EXPECT_FALSE(made.ok());
  return made ? Error{ErrorKind::kSystem, "a channel was made"} : made.error();
}

TEST(FabricLink, RefusesGarbageAndShortOffers) {
  const Error garbage = answer_to(std::vector<std::byte>(100, std::byte{'x'}));
  EXPECT_EQ(garbage.kind, ErrorKind::kProtocol);
  EXPECT_THAT(garbage.text, AllOf(HasSubstr("the stranger"), HasSubstr("garbled")));
  EXPECT_THAT(answer_to({}).text, AllOf(HasSubstr("the stranger"), HasSubstr("closed")));
  FabricOffer offer;
  offer.provider = "tcp;ofi_rxm";
  offer.message_size = 16384;
  offer.credits = 16;
  offer.address.resize(16);
  auto cut = offer.encode();
  cut.pop_back();
  EXPECT_EQ(answer_to(cut).kind, ErrorKind::kConnection);
}

TEST(FabricLink, IsBoundedInTime) {
  auto [near, far] = test::guard_pair("tcp");
  auto made = make_fabric_channels("tcp", one_link(std::move(near), "the silent one"), 50);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kTimeout);
  EXPECT_THAT(made.error().text, HasSubstr("the silent one"));
}

TEST(FabricLink, DifferentProvidersAreToldAtBothEnds) {
  auto [near, far] = test::guard_pair("tcp");
  auto [mine, other] =
      meet("tcp", one_link(std::move(near), "near"), "shm", one_link(std::move(far), "far"));
  ASSERT_FALSE(mine.ok());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(mine.error().text, AllOf(HasSubstr("near"), HasSubstr("it uses the provider shm"),
                                       HasSubstr("IMPISHIM_FABRIC")));
  EXPECT_THAT(other.error().text, AllOf(HasSubstr("far"), HasSubstr("it uses the provider tcp")));
}

/// The peer hears why.
TEST(FabricLink, AMissingProviderIsToldAtBothEnds) {
  auto [near, far] = test::guard_pair("tcp");
  auto [mine, other] =
      meet("quantum", one_link(std::move(near), "near"), "tcp", one_link(std::move(far), "far"));
  ASSERT_FALSE(mine.ok());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(mine.error().text, HasSubstr("no provider quantum"));
  EXPECT_THAT(other.error().text,
              AllOf(HasSubstr("far"), HasSubstr("it refuses"), HasSubstr("no provider quantum")));
}

/// Nothing of the failed attempt is left on the socket.
TEST(FabricLink, FallsBackToTheSocketAtBothEnds) {
  const SocketFallback fallback = [](FabricLink link) {
    return std::make_unique<TcpChannel>(std::move(link.socket), link.peer_name);
  };
  for (const char* other_provider : {"quantum", "shm"}) {
    auto [near, far] = test::guard_pair("tcp");
    auto [mine, other] = meet("tcp", one_link(std::move(near), "near"), other_provider,
                              one_link(std::move(far), "far"), fallback);
    ASSERT_TRUE(mine.ok()) << mine.error().text;
    ASSERT_TRUE(other.ok()) << other.error().text;
    Channel& left = *mine->front();
    Channel& right = *other->front();
    EXPECT_EQ(left.peer_name(), "near");
    const auto bytes = test::random_bytes(5000, 1);
    std::vector<std::byte> got(bytes.size());
    for (auto [from, to] : {std::pair(&left, &right), std::pair(&right, &left)}) {
      ASSERT_TRUE(test::send_all(*from, bytes).ok());
      ASSERT_TRUE(test::receive_all(*to, got).ok());
      EXPECT_EQ(got, bytes);
    }
  }
}

}  // namespace
}  // namespace impishim::wire
