// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/connection_slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/memory_channel.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::readable;

using Connection = std::unique_ptr<Channel>;

/// Returns what can be read, or nothing if the other end is closed.
std::optional<std::string> text_from(Channel& channel) {
  std::string text(100, ' ');
  const iovec room = piece(std::as_bytes(std::span(text)));
  auto got = channel.try_receive(std::span(&room, 1));
  if (!got) return std::nullopt;
  text.resize(*got);
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class ConnectionSlotTest : public testing::Test {
 protected:
  /// Delivers a connection, and returns its other end.
  Connection deliver(const MemoryChannelOptions& options = {}) {
    auto [near, far] = MemoryChannel::make_pair(options);
    slot->deliver(std::move(near));
    return std::move(far);
  }

  std::shared_ptr<WakeEvent> service = WakeEvent::make().value();
  std::shared_ptr<ConnectionSlot> slot = ConnectionSlot::make(service).value();
};

TEST_F(ConnectionSlotTest, IsEmptyAtFirst) {
  EXPECT_FALSE(slot->has_delivery());
  EXPECT_FALSE(slot->take().has_value());
  EXPECT_FALSE(slot->take_loss().has_value());
  EXPECT_FALSE(readable(slot->descriptor(), 0));
  EXPECT_FALSE(readable(service->descriptor(), 0));
}

TEST_F(ConnectionSlotTest, PassesALossToTheService) {
  slot->report_loss("cut");
  EXPECT_TRUE(readable(service->descriptor(), 0));
  EXPECT_FALSE(readable(slot->descriptor(), 0)) << "it is not for the channel";
  EXPECT_EQ(slot->take_loss(), "cut");
  EXPECT_FALSE(slot->take_loss().has_value()) << "taken once";
  service->clear();
  EXPECT_FALSE(readable(service->descriptor(), 0));
}

TEST_F(ConnectionSlotTest, PassesTheLatestOfSeveralLosses) {
  slot->report_loss("first");
  slot->report_loss("second");
  EXPECT_EQ(slot->take_loss(), "second");
}

TEST_F(ConnectionSlotTest, WakesTheChannelUntilItTakesTheDelivery) {
  const Connection far = deliver();
  EXPECT_TRUE(slot->has_delivery());
  EXPECT_TRUE(readable(slot->descriptor(), 0));
  EXPECT_FALSE(readable(service->descriptor(), 0)) << "it is not for the service";
  auto taken = slot->take();
  ASSERT_TRUE(taken.has_value());
  const auto* const connection = std::get_if<Connection>(&*taken);
  ASSERT_NE(connection, nullptr);
  const std::string text = "through it";
  const iovec one = piece(bytes_of(text));
  EXPECT_EQ(*(*connection)->try_send(std::span(&one, 1)), text.size());
  EXPECT_EQ(text_from(*far), text);
  EXPECT_FALSE(slot->has_delivery());
  EXPECT_FALSE(readable(slot->descriptor(), 0));
  EXPECT_FALSE(slot->take().has_value());
}

TEST_F(ConnectionSlotTest, KeepsTheLatestDeliveryAndClosesTheOthers) {
  const Connection first = deliver();
  const Connection second = deliver();
  EXPECT_FALSE(text_from(*first).has_value());
  EXPECT_EQ(text_from(*second), "");
  slot->give_up({ErrorKind::kTimeout, "not in time"});
  EXPECT_FALSE(text_from(*second).has_value());
  const Connection third = deliver();
  auto taken = slot->take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(std::holds_alternative<Connection>(*taken));
  EXPECT_EQ(text_from(*third), "");
}

TEST_F(ConnectionSlotTest, PassesTheEndOfAllAttempts) {
  slot->give_up({ErrorKind::kTimeout, "not in time"});
  EXPECT_TRUE(slot->has_delivery());
  EXPECT_TRUE(readable(slot->descriptor(), 0));
  auto taken = slot->take();
  ASSERT_TRUE(taken.has_value());
  const auto* const error = std::get_if<Error>(&*taken);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->kind, ErrorKind::kTimeout);
  EXPECT_EQ(error->text, "not in time");
}

TEST_F(ConnectionSlotTest, ForgetsALossWhenItIsMadeGood) {
  slot->report_loss("cut");
  const Connection far = deliver();
  EXPECT_FALSE(slot->take_loss().has_value());
  slot->report_loss("cut again");
  EXPECT_EQ(slot->take_loss(), "cut again");
}

TEST_F(ConnectionSlotTest, AnnouncesAnEndForGood) {
  slot->announce_end();
  EXPECT_TRUE(readable(slot->descriptor(), 0));
  EXPECT_FALSE(slot->has_delivery());
  const Connection far = deliver();
  EXPECT_TRUE(slot->take().has_value());
  EXPECT_TRUE(readable(slot->descriptor(), 0));
}

TEST_F(ConnectionSlotTest, SaysLastWordsOnEachConnectionAfterTheEnd) {
  const std::string words = "farewell";
  const Connection waiting = deliver();
  slot->report_loss("cut");
  slot->finish(bytes_of(words));
  EXPECT_EQ(text_from(*waiting), words);
  EXPECT_EQ(text_from(*waiting), "") << "still open, so that nothing destroys them";
  EXPECT_FALSE(slot->has_delivery());
  EXPECT_FALSE(slot->take_loss().has_value());
  const Connection later = deliver();
  EXPECT_EQ(text_from(*later), words);
  EXPECT_FALSE(slot->has_delivery());
  slot->give_up({ErrorKind::kTimeout, "not in time"});
  EXPECT_FALSE(slot->has_delivery());
}

TEST_F(ConnectionSlotTest, ClosesAConnectionThatDoesNotTakeTheLastWords) {
  const std::string words = "farewell";
  slot->finish(bytes_of(words));
  MemoryChannelOptions narrow;
  narrow.capacity = words.size() - 1;
  const Connection far = deliver(narrow);
  EXPECT_EQ(text_from(*far), "farewel");
  EXPECT_FALSE(text_from(*far).has_value());
  const Connection next = deliver();
  EXPECT_EQ(text_from(*next), words);
}

}  // namespace
}  // namespace impishim::wire
