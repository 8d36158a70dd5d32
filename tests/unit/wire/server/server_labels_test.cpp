// SPDX-License-Identifier: Apache-2.0
// COLL: which labels the server answers when, and with what (IMPI 2.3.4).
#include <gmock/gmock.h>

#include "tests/unit/wire/startup/support.hpp"

namespace impishim::wire {
namespace {

using test::Bytes;
using test::bytes_of;
using test::command;
using test::DrivenServer;
using test::number_of;
using testing::HasSubstr;

/// Clients 0 ... n-1 on connections of the same numbers, after IMPI.
class Labels : public testing::Test {
 protected:
  void SetUp() override {
    for (const int client : {1, 2, 0}) driven.join(client, client);
    for (int client = 0; client < 3; ++client) static_cast<void>(driven.take(client));
  }
  void coll(int client, std::uint32_t label, const Bytes& data) {
    driven.say(client, encode_coll(label, data));
  }
  void done(int client) { driven.say(client, command(StartupCommand::kDone)); }
  /// The next answer for all clients is this one.
  void expect_answer(std::uint32_t label, std::uint32_t mask, const Bytes& data) {
    Bytes expected = bytes_of(label, mask);
    expected.insert(expected.end(), data.begin(), data.end());
    for (int client = 0; client < 3; ++client) {
      const StartupMessage message = driven.next(client);
      EXPECT_EQ(message.command, static_cast<std::uint32_t>(StartupCommand::kColl));
      EXPECT_EQ(message.payload, expected) << "system " << client << ", label " << label;
    }
  }
  void expect_nothing() {
    for (int client = 0; client < 3; ++client) EXPECT_TRUE(driven.nothing_for(client)) << client;
  }

  DrivenServer driven{3};
};

TEST_F(Labels, DataFollowsInAscendingClientOrder) {
  coll(2, 0x1100, bytes_of(22U));
  coll(0, 0x1100, bytes_of(20U));
  expect_nothing();
  coll(1, 0x1100, bytes_of(21U));
  expect_answer(0x1100, 7, bytes_of(20U, 21U, 22U));
  expect_nothing();
}

TEST_F(Labels, AnsweredAsSoonAsNobodyCanStillSendIt) {
  coll(0, 0x1000, bytes_of(1U));
  coll(1, 0x1100, bytes_of(2U));
  expect_nothing();  // client 2 may still send 0x1000
  coll(2, 0x1200, bytes_of(3U));
  expect_answer(0x1000, 1, bytes_of(1U));
  expect_nothing();  // client 0 may still send 0x1100
  done(0);
  expect_answer(0x1100, 2, bytes_of(2U));
  done(1);
  expect_answer(0x1200, 4, bytes_of(3U));
  done(2);
  for (int client = 0; client < 3; ++client)
    EXPECT_EQ(driven.take(client), command(StartupCommand::kDone));
}

TEST_F(Labels, UnknownOnesOfTheSpecificationsRangeAreTreatedLikeAnyOther) {
  coll(0, 0x7777, bytes_of(std::uint8_t{1}));
  coll(2, 0xFFFF, {});
  done(0);
  done(1);
  expect_answer(0x7777, 1, bytes_of(std::uint8_t{1}));
  expect_answer(0xFFFF, 4, {});
}

TEST_F(Labels, AnswersToPrivateLabelsGoOnlyToThoseThatSubmittedThem) {
  const auto secret = number_of(StartupLabel::kImpishim);
  coll(0, 0x1000, bytes_of(0U));
  coll(0, secret, bytes_of(7U));
  coll(2, secret, bytes_of(9U));
  for (const int client : {0, 1, 2}) done(client);
  for (const int client : {0, 2}) {
    EXPECT_EQ(driven.next(client).payload, bytes_of(0x1000U, 1U, 0U));
    EXPECT_EQ(driven.next(client).payload, bytes_of(secret, 5U, 7U, 9U));
    EXPECT_EQ(driven.take(client), command(StartupCommand::kDone));
  }
  // To a peer such as LAM/MPI the message after the answer to its last label is DONE.
  EXPECT_EQ(driven.next(1).payload, bytes_of(0x1000U, 1U, 0U));
  EXPECT_EQ(driven.take(1), command(StartupCommand::kDone));
}

TEST(PrivateLabels, ReachClientsThatHaveAnnouncedThemselves) {
  DrivenServer driven(2);
  driven.announce(0, 0);
  driven.announce(1, 1);
  for (const int client : {0, 1}) static_cast<void>(driven.take(client));
  driven.say(0, encode_coll(number_of(StartupLabel::kGateways), bytes_of(3U)));
  for (const int client : {0, 1}) driven.say(client, command(StartupCommand::kDone));
  for (const int client : {0, 1}) {
    while (driven.next(client).payload != bytes_of(number_of(StartupLabel::kGateways), 1U, 3U)) {
    }
  }
}

TEST_F(Labels, NumberAndBytesOfAClientAreBounded) {
  for (std::uint32_t label = 0; label < LabelCollection::kMaxLabels; ++label)
    coll(0, 0x1000 + label, {});
  EXPECT_FALSE(driven.server.failure().has_value());
  coll(0, 0x2000, {});
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_THAT(driven.server.failure()->text,
              HasSubstr("system 0 at peer 0: it sent more than 256 labels"));

  LabelCollection labels;
  Bytes payload(kMaxStartupPayload);
  for (std::uint32_t label = 0; label < 4; ++label) {
    store_big_endian(payload.data(), label);
    EXPECT_TRUE(labels.add(3, payload).ok());
  }
  store_big_endian(payload.data(), std::uint32_t{4});
  auto fifth = labels.add(3, payload);
  ASSERT_FALSE(fifth.ok());
  EXPECT_EQ(fifth.error().text, "it sent labels of more than 64 MiB");
  EXPECT_TRUE(labels.add(4, payload).ok()) << "another client has its own bound";
}

TEST_F(Labels, EmptyDataStillSetsTheBit) {
  for (const int client : {0, 1, 2}) coll(client, 0x2000, client == 1 ? bytes_of(5U) : Bytes{});
  expect_answer(0x2000, 7, bytes_of(5U));
}

TEST_F(Labels, MustAscend) {
  for (const std::uint32_t second : {0x1100U, 0x1000U, 0U}) {
    DrivenServer other(1);
    other.join(0, 0);
    static_cast<void>(other.take(0));
    other.say(0, encode_coll(0x1100, {}));
    static_cast<void>(other.next(0));
    other.say(0, encode_coll(second, {}));
    ASSERT_TRUE(other.server.failure().has_value());
    EXPECT_EQ(other.server.failure()->kind, ErrorKind::kProtocol);
    EXPECT_THAT(other.server.failure()->text, HasSubstr("labels must ascend"));
    EXPECT_TRUE(other.closed(0));
  }
}

TEST_F(Labels, CollWithoutALabelIsAProtocolError) {
  driven.say(1, encode_startup(StartupCommand::kColl, Bytes(3)));
  ASSERT_TRUE(driven.server.failure().has_value());
  EXPECT_THAT(driven.server.failure()->text,
              HasSubstr("system 1 at peer 1: it sent COLL without a label"));
  for (int client = 0; client < 3; ++client) EXPECT_TRUE(driven.closed(client));
}

TEST_F(Labels, AfterDoneNoMore) {
  done(0);
  coll(0, 0x3000, bytes_of(1U));
  done(1);
  done(2);
  for (int client = 0; client < 3; ++client)
    EXPECT_EQ(driven.take(client), command(StartupCommand::kDone));
}

TEST(EarlyLabels, SentBeforeAllHaveJoinedAreKept) {
  DrivenServer driven(2);
  driven.join(1, 1);
  driven.say(1, encode_coll(0x1100, bytes_of(9U)));
  driven.say(1, command(StartupCommand::kDone));
  EXPECT_TRUE(driven.nothing_for(1));
  driven.join(0, 0);
  EXPECT_EQ(driven.next(1).command, static_cast<std::uint32_t>(StartupCommand::kImpi));
  driven.say(0, encode_coll(0x1100, bytes_of(8U)));
  EXPECT_EQ(driven.next(1).payload, bytes_of(0x1100U, 3U, 8U, 9U));
}

TEST(AllLabels, OfFullJobOf32Clients) {
  constexpr int kClients = 32;
  DrivenServer driven(kClients);
  std::vector<JoinOptions> options;
  for (int client = 0; client < kClients; ++client)
    options.push_back(test::joining(client % 20, {1}));
  for (int client = kClients - 1; client >= 0; --client) driven.join(client, client);
  for (int client = 0; client < kClients; ++client) {
    for (const auto& [label, data] : contributions(options[static_cast<std::size_t>(client)])) {
      driven.say(client, encode_coll(label, data));
    }
    driven.say(client, command(StartupCommand::kDone));
  }
  const auto expected = test::concatenate(options);
  for (int client = 0; client < kClients; ++client) {
    EXPECT_EQ(driven.next(client).payload, bytes_of(kClients));
    for (const auto& [label, value] : expected) {
      const StartupMessage message = driven.next(client);
      auto answer = parse_coll_answer(message.payload);
      ASSERT_TRUE(answer.ok());
      EXPECT_EQ(answer->label, label);
      EXPECT_EQ(answer->client_mask, 0xFFFFFFFFU);
      EXPECT_THAT(answer->data, testing::ElementsAreArray(value.data));
    }
    EXPECT_EQ(driven.take(client), command(StartupCommand::kDone));
  }
}

}  // namespace
}  // namespace impishim::wire
