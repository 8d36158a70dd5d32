// SPDX-License-Identifier: Apache-2.0
// Systems that agree while others are lost: messages arrive late, in order between each two, and
// each system hears of a loss at a time of its own.
#include "shim/values/survivor_agreement.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace impishim::shim {
namespace {

std::uint64_t set_of(const std::vector<std::int32_t>& systems) {
  std::uint64_t set = 0;
  for (const std::int32_t each : systems) set |= std::uint64_t{1} << static_cast<unsigned>(each);
  return set;
}

AgreedWords words_of(std::int32_t system) {
  const std::uint64_t own = std::uint64_t{1} << static_cast<unsigned>(system);
  return {.flags = ~own, .acknowledged = own, .context = 100 + own, .lost = 0};
}

/// Systems in one process. Each step delivers one message, loses a system, or tells one system of a
/// loss, by chance.
class Systems {
 public:
  Systems(std::int32_t count, std::uint32_t seed) : random_(seed) {
    std::vector<std::int32_t> all;
    for (std::int32_t each = 0; each < count; ++each) all.push_back(each);
    for (const std::int32_t each : all) {
      systems_.emplace(each, SurvivorAgreement(each, all, words_of(each)));
      collect(each);
    }
  }

  /// Loses a system: a part of what it has sent may still arrive, until the receiver hears of it.
  void lose(std::int32_t system) {
    lost_.push_back(system);
    for (auto& [other, agreement] : systems_) unheard_.emplace_back(other, system);
  }
  [[nodiscard]] bool is_lost(std::int32_t system) const {
    return (set_of(lost_) >> static_cast<unsigned>(system) & 1U) != 0;
  }

  /// Returns false if nothing is left to happen.
  bool step() {
    std::vector<std::pair<std::int32_t, std::int32_t>> ways;
    for (const auto& [way, messages] : messages_) {
      if (!messages.empty() && !is_lost(way.second)) ways.push_back(way);
    }
    std::erase_if(unheard_, [this](const auto& each) { return is_lost(each.first); });
    const std::size_t choices = ways.size() + unheard_.size();
    if (choices == 0) return false;
    const std::size_t choice = random_() % choices;
    if (choice < ways.size()) {
      deliver(ways[choice]);
    } else {
      hear(choice - ways.size());
    }
    return true;
  }
  bool chance(std::uint32_t of) { return random_() % of == 0; }

  [[nodiscard]] const std::optional<AgreedWords>& decision(std::int32_t system) const {
    return systems_.at(system).decision();
  }

 private:
  void deliver(const std::pair<std::int32_t, std::int32_t>& way) {
    auto& messages = messages_[way];
    const AgreementMessage message = messages.front();
    messages.pop_front();
    const auto decoded = decode_agreement(encode(message));
    ASSERT_TRUE(decoded);
    systems_.at(way.second).receive(way.first, *decoded);
    collect(way.second);
  }
  void hear(std::size_t which) {
    const auto [system, lost] = unheard_[which];
    unheard_.erase(unheard_.begin() + static_cast<std::ptrdiff_t>(which));
    messages_.erase({lost, system});
    systems_.at(system).lose(set_of({lost}));
    collect(system);
  }
  void collect(std::int32_t from) {
    for (const auto& [to, message] : systems_.at(from).take_messages())
      messages_[{from, to}].push_back(message);
  }

  std::mt19937 random_;
  std::map<std::int32_t, SurvivorAgreement> systems_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::deque<AgreementMessage>> messages_;
  std::vector<std::int32_t> lost_;
  std::vector<std::pair<std::int32_t, std::int32_t>> unheard_;
};

TEST(SurvivorAgreement, CombinesTheWordsOfAll) {
  Systems systems(3, 1);
  while (systems.step()) {
  }
  for (const std::int32_t each : {0, 1, 2}) {
    ASSERT_TRUE(systems.decision(each));
    EXPECT_EQ(systems.decision(each)->flags, ~std::uint64_t{7});
    EXPECT_EQ(systems.decision(each)->acknowledged, 0U);
    EXPECT_EQ(systems.decision(each)->context, 104U);
    EXPECT_EQ(systems.decision(each)->lost, 0U);
  }
}

TEST(SurvivorAgreement, OneSystemAgreesAlone) {
  Systems systems(1, 1);
  ASSERT_TRUE(systems.decision(0));
  EXPECT_EQ(systems.decision(0)->flags, words_of(0).flags);
}

TEST(SurvivorAgreement, NeedsNothingOfTheLost) {
  Systems systems(3, 2);
  systems.lose(1);
  while (systems.step()) {
  }
  for (const std::int32_t each : {0, 2}) {
    ASSERT_TRUE(systems.decision(each));
    EXPECT_EQ(systems.decision(each)->lost & ~std::uint64_t{2}, 0U);
  }
}

/// Whatever is lost at whatever time: all that decide decide the same, and all that go on decide.
TEST(SurvivorAgreement, AllDecideTheSame) {
  for (std::uint32_t seed = 0; seed < 20000; ++seed) {
    const std::int32_t count = 2 + static_cast<std::int32_t>(seed % 5);
    Systems systems(count, seed);
    std::int32_t next_lost = 0;
    do {
      if (next_lost < count - 1 && systems.chance(12)) systems.lose(next_lost++);
    } while (systems.step());
    std::optional<AgreedWords> first;
    for (std::int32_t each = 0; each < count; ++each) {
      const auto& decision = systems.decision(each);
      ASSERT_TRUE(decision || systems.is_lost(each)) << "seed " << seed << " system " << each;
      if (!decision) continue;
      if (!first) first = decision;
      ASSERT_EQ(*first, *decision) << "seed " << seed << " system " << each;
    }
  }
}

TEST(SurvivorAgreement, OtherBytesAreNoMessage) {
  AgreementBytes bytes = encode({});
  EXPECT_TRUE(decode_agreement(bytes));
  bytes[0] += 7;
  EXPECT_FALSE(decode_agreement(bytes));
  EXPECT_FALSE(decode_agreement({}));
}

}  // namespace
}  // namespace impishim::shim
