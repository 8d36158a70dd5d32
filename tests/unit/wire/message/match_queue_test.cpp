// SPDX-License-Identifier: Apache-2.0
// MPI's matching order (MPI-3.1 3.5), and contests between remote messages and receives with a
// native twin.
#include "wire/message/match_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

namespace impishim::wire {
namespace {

Message message(std::int32_t source, std::int32_t tag, std::uint64_t id = 0) {
  Message made;
  made.context = 4;
  made.source_rank = source;
  made.source = source;
  made.tag = tag;
  made.request_id = id;
  made.payload_bytes = 8;
  return made;
}

void prepare(ReceiveOperation& receive, std::int32_t source, std::int32_t tag, bool twin = false) {
  receive.context = 4;
  receive.source = source;
  receive.tag = tag;
  receive.has_native_twin = twin;
}

TEST(MatchQueue, ReceivesMatchInPostingOrder) {
  MatchQueue queue;
  ReceiveOperation first;
  ReceiveOperation second;
  prepare(first, kAnySource, 7);
  prepare(second, 2, kAnyTag);
  EXPECT_TRUE(queue.post(first).empty());
  EXPECT_TRUE(queue.post(second).empty());
  EXPECT_EQ(queue.match_arrival(4, 2, 7), &first);
  EXPECT_EQ(queue.match_arrival(4, 2, 7), &second);
  EXPECT_EQ(queue.match_arrival(4, 2, 7), nullptr);
}

TEST(MatchQueue, ContextsAreSeparate) {
  MatchQueue queue;
  ReceiveOperation receive;
  prepare(receive, kAnySource, kAnyTag);
  EXPECT_TRUE(queue.post(receive).empty());
  EXPECT_EQ(queue.match_arrival(5, 2, 7), nullptr);
  EXPECT_EQ(queue.match_arrival(4, 2, 7), &receive);
}

TEST(MatchQueue, UnexpectedMessagesMatchInArrivalOrder) {
  MatchQueue queue;
  EXPECT_FALSE(queue.store(message(1, 5, 100)));
  EXPECT_FALSE(queue.store(message(2, 5, 101)));
  EXPECT_FALSE(queue.store(message(1, 5, 102)));
  EXPECT_EQ(queue.unexpected_bytes(), 24U);
  ASSERT_NE(queue.find(4, kAnySource, 5), nullptr);
  EXPECT_EQ(queue.find(4, kAnySource, 5)->request_id, 100U);
  ReceiveOperation from_two;
  prepare(from_two, 2, kAnyTag);
  auto got = queue.post(from_two);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got.front().request_id, 101U);
  auto taken = queue.take(4, 1, 5);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken.front().request_id, 100U);
  EXPECT_EQ(queue.unexpected_bytes(), 8U);
}

TEST(MatchQueue, NewestMessageWithTheRequestIdIsCancelled) {
  MatchQueue queue;
  EXPECT_FALSE(queue.store(message(1, 5, 100)));
  EXPECT_FALSE(queue.store(message(1, 6, 100)));
  auto cancelled = queue.take_cancelled(1, 100);
  ASSERT_EQ(cancelled.size(), 1U);
  EXPECT_EQ(cancelled.front().tag, 6);
  EXPECT_TRUE(queue.take_cancelled(2, 100).empty());
}

TEST(MatchQueue, AMessageContestsAReceiveWithATwinAndHoldsBackWhatFollows) {
  MatchQueue queue;
  ReceiveOperation wildcard;
  ReceiveOperation behind;
  prepare(wildcard, kAnySource, kAnyTag, true);
  prepare(behind, 1, 5);
  EXPECT_TRUE(queue.post(wildcard).empty());
  EXPECT_TRUE(queue.post(behind).empty());
  EXPECT_EQ(queue.match_arrival(4, 1, 5), nullptr);
  EXPECT_FALSE(queue.store(message(1, 5, 100)));
  EXPECT_EQ(queue.contested(), 1U);
  EXPECT_EQ(queue.match_arrival(4, 1, 5), nullptr)
      << "the second message may not overtake the first";
  EXPECT_FALSE(queue.store(message(1, 5, 101)));
  EXPECT_EQ(queue.find(4, 1, 5), nullptr)
      << "a probe may not see a message that an older receive may take";
  EXPECT_EQ(queue.next_contested(), &wildcard);
  EXPECT_EQ(queue.next_contested(), nullptr) << "only one thread settles";
  auto matches = queue.settle(wildcard, false);
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].receive, &wildcard);
  EXPECT_EQ(matches[0].message.front().request_id, 100U);
  EXPECT_EQ(matches[1].receive, &behind);
  EXPECT_EQ(matches[1].message.front().request_id, 101U);
  EXPECT_EQ(queue.contested(), 0U);
}

TEST(MatchQueue, ALostContestGivesTheMessageToTheNextReceive) {
  MatchQueue queue;
  ReceiveOperation first;
  ReceiveOperation second;
  ReceiveOperation third;
  prepare(first, kAnySource, kAnyTag, true);
  prepare(second, kAnySource, kAnyTag, true);
  prepare(third, 1, 9);
  EXPECT_TRUE(queue.post(first).empty());
  EXPECT_TRUE(queue.post(second).empty());
  EXPECT_TRUE(queue.post(third).empty());
  EXPECT_FALSE(queue.store(message(1, 9, 100)));
  EXPECT_EQ(queue.next_contested(), &first);
  EXPECT_TRUE(queue.settle(first, true).empty());
  EXPECT_EQ(queue.next_contested(), &second);
  EXPECT_TRUE(queue.settle(second, true).empty() == false);
  EXPECT_EQ(queue.contested(), 0U);
}

TEST(MatchQueue, AReceivePostedDuringAContestWaitsItsTurn) {
  MatchQueue queue;
  ReceiveOperation wildcard;
  prepare(wildcard, kAnySource, kAnyTag, true);
  EXPECT_TRUE(queue.post(wildcard).empty());
  EXPECT_FALSE(queue.store(message(1, 5, 100)));
  ReceiveOperation late;
  prepare(late, 1, 5);
  EXPECT_TRUE(queue.post(late).empty());
  auto matches = queue.settle(wildcard, true);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].receive, &late);
}

TEST(MatchQueue, AMessageThatIsThereNeedsNoTwin) {
  MatchQueue queue;
  EXPECT_FALSE(queue.store(message(3, 5, 100)));
  ReceiveOperation wildcard;
  prepare(wildcard, kAnySource, kAnyTag, true);
  EXPECT_EQ(queue.post(wildcard).size(), 1U);
  EXPECT_FALSE(wildcard.has_native_twin);
}

TEST(MatchQueue, AMessageWhoseReceiveNoContestTouchesNeedNotWait) {
  MatchQueue queue;
  ReceiveOperation wildcard;
  ReceiveOperation named;
  ReceiveOperation shared;
  prepare(wildcard, kAnySource, 5, true);
  prepare(named, 2, 6);
  prepare(shared, kAnySource, 7);
  EXPECT_TRUE(queue.post(wildcard).empty());
  EXPECT_TRUE(queue.post(named).empty());
  EXPECT_TRUE(queue.post(shared).empty());
  EXPECT_FALSE(queue.store(message(1, 5, 100)));
  EXPECT_EQ(queue.match_arrival(4, 2, 6), &named)
      << "no other message and no twin can take this receive";
  EXPECT_EQ(queue.match_arrival(4, 1, 5), nullptr) << "what contests is first";
  EXPECT_EQ(queue.match_arrival(4, 3, 7), &shared);
  auto matches = queue.settle(wildcard, false);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].receive, &wildcard);
}

TEST(MatchQueue, AMessageWaitsWhereAnEarlierOneMayTakeItsReceive) {
  MatchQueue queue;
  ReceiveOperation wildcard;
  ReceiveOperation behind;
  prepare(wildcard, kAnySource, 5, true);
  prepare(behind, kAnySource, kAnyTag);
  EXPECT_TRUE(queue.post(wildcard).empty());
  EXPECT_TRUE(queue.post(behind).empty());
  EXPECT_FALSE(queue.store(message(1, 5, 100)));
  EXPECT_EQ(queue.match_arrival(4, 2, 6), nullptr)
      << "if the native message wins, the first message goes there";
  EXPECT_FALSE(queue.store(message(2, 6, 101)));
  auto matches = queue.settle(wildcard, true);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].receive, &behind);
  EXPECT_EQ(matches[0].message.front().request_id, 100U);
}

TEST(MatchQueue, CountsEachUnexpectedMessageOnce) {
  MatchQueue queue;
  EXPECT_FALSE(queue.store(message(1, 5)));
  EXPECT_FALSE(queue.store(message(2, 5)));
  EXPECT_EQ(queue.uncounted(), 2U);
  int visits = 0;
  queue.count_all([&](const Message&) { ++visits; });
  queue.count_all([&](const Message&) { ++visits; });
  EXPECT_EQ(visits, 2);
  EXPECT_EQ(queue.uncounted(), 0U);
}

/// Reference: plain deques searched in order. Twins always lose or always win at once, so the
/// reference needs no contests.
TEST(MatchQueue, AgreesWithAReferenceOnRandomTraffic) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    MatchQueue queue;
    std::deque<ReceiveOperation> operations;
    std::deque<ReceiveOperation*> posted;
    std::deque<Message> unexpected;
    const auto fits = [](const ReceiveOperation& receive, const Message& m) {
      return (receive.source == kAnySource || receive.source == m.source_rank) &&
             (receive.tag == kAnyTag || receive.tag == m.tag);
    };
    for (std::uint64_t id = 1; id < 2000; ++id) {
      const auto source = static_cast<std::int32_t>(random() % 3);
      const auto tag = static_cast<std::int32_t>(random() % 3);
      if (random() % 2 == 0) {
        Message m = message(source, tag, id);
        const auto expected =
            std::find_if(posted.begin(), posted.end(), [&](auto* r) { return fits(*r, m); });
        ReceiveOperation* got = queue.match_arrival(4, source, tag);
        if (got == nullptr) {
          auto match = queue.store(message(source, tag, id));
          ASSERT_FALSE(match) << "only a contest can hide a match from match_arrival";
          if (ReceiveOperation* contested = queue.next_contested()) {
            auto matches = queue.settle(*contested, false);
            ASSERT_EQ(matches.size(), 1U);
            got = matches[0].receive;
          }
        }
        ASSERT_EQ(got, expected == posted.end() ? nullptr : *expected);
        if (expected == posted.end()) {
          unexpected.push_back(std::move(m));
        } else {
          posted.erase(expected);
        }
      } else {
        ReceiveOperation& receive = operations.emplace_back();
        prepare(receive, random() % 3 == 0 ? kAnySource : source, random() % 3 == 0 ? kAnyTag : tag,
                random() % 2 == 0);
        const auto expected = std::find_if(unexpected.begin(), unexpected.end(),
                                           [&](auto& m) { return fits(receive, m); });
        auto got = queue.post(receive);
        ASSERT_EQ(got.empty(), expected == unexpected.end());
        if (got.empty()) {
          posted.push_back(&receive);
        } else {
          ASSERT_EQ(got.front().request_id, expected->request_id);
          unexpected.erase(expected);
        }
      }
    }
  }
}

/// Contests that last, and end in either way, give every message the receive that it gets where
/// each ends at once.
TEST(MatchQueue, LastingContestsEndAsThoseThatAreSettledAtOnce) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    MatchQueue queue;
    std::deque<ReceiveOperation> operations;
    std::vector<bool> native_wins;
    std::map<std::uint64_t, const ReceiveOperation*> expected;
    std::map<std::uint64_t, const ReceiveOperation*> got;
    std::deque<ReceiveOperation*> posted;
    std::deque<Message> unexpected;
    const auto fits = [](const ReceiveOperation& receive, const Message& m) {
      return (receive.source == kAnySource || receive.source == m.source_rank) &&
             (receive.tag == kAnyTag || receive.tag == m.tag);
    };
    const auto note = [&](std::vector<Match>&& matches) {
      for (const Match& match : matches) got[match.message.front().request_id] = match.receive;
    };
    const auto index_of = [&](const ReceiveOperation* receive) {
      return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(receive->owner)) - 1;
    };
    const auto settle_one = [&] {
      ReceiveOperation* contested = queue.next_contested();
      if (contested != nullptr) note(queue.settle(*contested, native_wins[index_of(contested)]));
      return contested != nullptr;
    };
    for (std::uint64_t id = 1; id < 300; ++id) {
      const auto source = static_cast<std::int32_t>(random() % 3);
      const auto tag = static_cast<std::int32_t>(random() % 3);
      if (random() % 2 == 0) {
        Message m = message(source, tag, id);
        for (auto receive = posted.begin();; receive = posted.erase(receive)) {
          receive = std::find_if(receive, posted.end(), [&](auto* r) { return fits(*r, m); });
          if (receive == posted.end()) break;
          if (native_wins[index_of(*receive)]) continue;
          expected[id] = *receive;
          posted.erase(receive);
          break;
        }
        if (expected.count(id) == 0) unexpected.push_back(message(source, tag, id));
        if (const ReceiveOperation* taker = queue.match_arrival(4, source, tag)) {
          got[id] = taker;
        } else if (auto match = queue.store(std::move(m))) {
          got[id] = match->receive;
        }
      } else {
        ReceiveOperation& receive = operations.emplace_back();
        const bool twin = random() % 2 == 0;
        prepare(receive, random() % 3 == 0 ? kAnySource : source, random() % 3 == 0 ? kAnyTag : tag,
                twin);
        native_wins.push_back(twin && random() % 2 == 0);
        receive.owner = reinterpret_cast<void*>(static_cast<std::uintptr_t>(native_wins.size()));
        const auto there = std::find_if(unexpected.begin(), unexpected.end(),
                                        [&](auto& m) { return fits(receive, m); });
        if (there == unexpected.end()) {
          posted.push_back(&receive);
        } else {
          native_wins.back() = false;  // a message that is there already takes it
          expected[there->request_id] = &receive;
          unexpected.erase(there);
        }
        auto taken = queue.post(receive);
        if (!taken.empty()) got[taken.front().request_id] = &receive;
      }
      if (random() % 8 == 0) settle_one();
    }
    while (settle_one()) {
    }
    ASSERT_EQ(got, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace impishim::wire
