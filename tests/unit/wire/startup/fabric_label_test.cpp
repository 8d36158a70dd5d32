// SPDX-License-Identifier: Apache-2.0
// Which of libfabric's providers systems have, as startup tells.
#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"

namespace impishim::wire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<JoinOptions> clients_with(const std::vector<std::vector<std::string>>& fabrics) {
  std::vector<JoinOptions> clients;
  for (std::size_t i = 0; i < fabrics.size(); ++i) {
    clients.push_back(test::joining(static_cast<int>(i), {1}));
    clients.back().fabrics = fabrics[i];
  }
  return clients;
}

Result<JobMap> negotiated(const std::vector<JoinOptions>& clients) {
  return negotiate(static_cast<std::int32_t>(clients.size()), test::concatenate(clients));
}

TEST(Fabrics, NothingIsSaidOfNone) {
  auto clients = clients_with({{}, {}});
  EXPECT_EQ(test::concatenate(clients).count(static_cast<std::uint32_t>(StartupLabel::kFabrics)),
            0U);
  EXPECT_TRUE(negotiated(clients).ok());
}

TEST(Fabrics, TheFirstThatBothHaveIsTaken) {
  auto map = negotiated(clients_with({{"cxi", "verbs;ofi_rxm"}, {}, {"verbs;ofi_rxm", "cxi"}}));
  ASSERT_TRUE(map.ok()) << map.error().text;
  const auto& clients = map->clients();
  EXPECT_THAT(clients[0].fabrics, ElementsAre("cxi", "verbs;ofi_rxm"));
  EXPECT_THAT(clients[1].fabrics, IsEmpty());
  EXPECT_EQ(common_fabric(clients[0], clients[2]), "cxi");
  EXPECT_EQ(common_fabric(clients[2], clients[2]), "verbs;ofi_rxm");
  EXPECT_EQ(common_fabric(clients[0], clients[1]), "");
}

TEST(Fabrics, WhatIsAskedForByNameIsNotLeftOut) {
  auto clients = clients_with({{}, {"tcp;ofi_rxm"}});
  EXPECT_TRUE(negotiated(clients).ok()) << "nobody insists";
  clients[1].fabric_required = true;
  auto map = negotiated(clients);
  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().kind, ErrorKind::kConfiguration);
  EXPECT_THAT(map.error().text,
              AllOf(HasSubstr("systems 0 and 1"), HasSubstr("one has none, the other tcp;ofi_rxm"),
                    HasSubstr("IMPISHIM_FABRIC")));
  clients[0].fabrics = {"tcp;ofi_rxm"};
  EXPECT_TRUE(negotiated(clients).ok());
}

TEST(Fabrics, AForeignImplementationHasNone) {
  auto clients = clients_with({{"tcp;ofi_rxm"}, {}});
  clients[0].fabric_required = true;
  auto labels = test::concatenate(clients);
  LabelData& ours = labels[static_cast<std::uint32_t>(StartupLabel::kImpishim)];
  ours.client_mask = 1;
  ours.data.resize(ours.data.size() / 2);
  auto map = negotiate(2, labels);
  ASSERT_TRUE(map.ok()) << map.error().text;
  EXPECT_EQ(common_fabric(map->clients()[0], map->clients()[1]), "");
}

TEST(Fabrics, AListThatIsCutIsRefused) {
  auto labels = test::concatenate(clients_with({{"tcp;ofi_rxm"}, {"tcp;ofi_rxm"}}));
  LabelData& fabrics = labels[static_cast<std::uint32_t>(StartupLabel::kFabrics)];
  while (!fabrics.data.empty()) {
    fabrics.data.pop_back();
    auto map = negotiate(2, labels);
    ASSERT_FALSE(map.ok());
    EXPECT_EQ(map.error().kind, ErrorKind::kProtocol);
  }
}

}  // namespace
}  // namespace impishim::wire
