// SPDX-License-Identifier: Apache-2.0
// What the systems' contributions become.
#include "wire/startup/job_secret.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace impishim::wire {
namespace {

LabelData contributions(std::uint32_t mask, std::size_t count) {
  LabelData label{mask, {}};
  for (std::size_t i = 0; i < count * JobSecret::kSize; ++i)
    label.data.push_back(static_cast<std::byte>(i));
  return label;
}

std::vector<Client> clients(std::uint32_t impishim, std::size_t count) {
  std::vector<Client> all(count);
  for (std::size_t c = 0; c < count; ++c) all[c].impishim = (impishim >> c & 1U) != 0;
  return all;
}

TEST(JobSecret, DependsOnEveryContribution) {
  const LabelData all = contributions(0b101, 2);
  auto secret = combine_secret(&all, clients(0b101, 3));
  ASSERT_TRUE(secret.ok()) << secret.error().text;
  for (std::size_t i = 0; i < all.data.size(); ++i) {
    LabelData other = all;
    other.data[i] ^= std::byte{1};
    auto changed = combine_secret(&other, clients(0b101, 3));
    ASSERT_TRUE(changed.ok());
    EXPECT_FALSE(equal_in_constant_time(changed->bytes(), secret->bytes())) << i;
  }
  auto again = combine_secret(&all, clients(0b101, 3));
  EXPECT_TRUE(equal_in_constant_time(again->bytes(), secret->bytes()));
}

TEST(JobSecret, NeedsOneContributionOfEachImpishimClient) {
  EXPECT_FALSE(combine_secret(nullptr, clients(0b1, 1)).ok());
  for (const LabelData& label : {contributions(0b01, 2), contributions(0b11, 1),
                                 contributions(0b111, 3), contributions(0, 0)}) {
    auto secret = combine_secret(&label, clients(0b11, 3));
    ASSERT_FALSE(secret.ok());
    EXPECT_EQ(secret.error().kind, ErrorKind::kProtocol);
  }
}

}  // namespace
}  // namespace impishim::wire
