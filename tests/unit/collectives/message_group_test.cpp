// SPDX-License-Identifier: Apache-2.0
// Local phases by messages, on members in memory.
#include "collectives/local/message_group.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/local/message_phase.hpp"
#include "simulated_job.hpp"

namespace impishim::collectives::test {
namespace {

using testing::Each;
using testing::ElementsAre;

/// Messages in progress by sender and receiver.
struct Mail {
  struct Letter {
    std::int32_t tag;
    std::vector<std::byte> bytes;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, std::deque<Letter>> letters;
  int sent = 0;
  [[nodiscard]] bool empty() const {
    return std::ranges::all_of(letters, [](const auto& each) { return each.second.empty(); });
  }
};

class MemoryPhase final : public MessagePhase {
 public:
  MemoryPhase(Mail& mail, std::int32_t rank) : mail_(mail), rank_(rank) {}

  void send(const ConstData& data, std::int32_t to, std::int32_t tag) override {
    send(std::span(data.first_byte(), data.native_bytes()), to, tag);
  }
  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) override {
    mail_.letters[{rank_, to}].push_back({tag, {bytes.begin(), bytes.end()}});
    ++mail_.sent;
    sends_ = true;
  }
  void receive(const Data& room, std::int32_t from, std::int32_t tag) override {
    receive(std::span(room.base, ConstData(room).native_bytes()), from, tag);
  }
  void receive(std::span<std::byte> room, std::int32_t from, std::int32_t tag) override {
    EXPECT_FALSE(sends_) << "a receive is posted behind a send";
    rooms_.push_back({room, from, tag});
  }
  void expect(std::uint64_t bytes, Piece* told) override {
    expected_ = bytes;
    told_ = told;
  }
  const Data& make_room(const ElementType& type, std::uint64_t count) override {
    room_ = TypedRoom(type, count);
    return room_.data();
  }
  void at_end(std::function<void()> work) override { work_ = std::move(work); }

  bool done() override {
    while (!rooms_.empty()) {
      auto& letters = mail_.letters[{rooms_.front().from, rank_}];
      if (letters.empty()) return false;
      take(letters.front(), rooms_.front());
      letters.pop_front();
      rooms_.pop_front();
    }
    if (work_) std::exchange(work_, nullptr)();
    return true;
  }
  Result<void> outcome() override {
    if (too_little_) return Error{ErrorKind::kTooLittle, "too little"};
    return {};
  }
  [[nodiscard]] bool in_vendor() const override { return false; }

 private:
  struct Room {
    std::span<std::byte> bytes;
    std::int32_t from;
    std::int32_t tag;
  };
  void take(const Mail::Letter& letter, const Room& room) {
    EXPECT_TRUE(room.tag == kAnyTag || room.tag == letter.tag);
    ASSERT_LE(letter.bytes.size(), room.bytes.size());
    std::ranges::copy(letter.bytes, room.bytes.begin());
    if (told_ != nullptr) *told_ = {letter.bytes.size(), letter.tag == kPhaseTag};
    too_little_ = letter.bytes.size() < expected_;
  }

  Mail& mail_;
  std::int32_t rank_;
  bool sends_ = false;
  std::deque<Room> rooms_;
  std::uint64_t expected_ = 0;
  Piece* told_ = nullptr;
  bool too_little_ = false;
  TypedRoom room_;
  std::function<void()> work_;
};

class MemoryMember final : public MessagePhases {
 public:
  MemoryMember(Mail& mail, std::int32_t rank, std::int32_t size)
      : group(*this, rank, size), mail_(mail), rank_(rank) {}
  MessagePhase& begin_messages() override { return phases_.emplace_back(mail_, rank_); }
  MessageGroup group;

 private:
  Mail& mail_;
  std::int32_t rank_;
  std::list<MemoryPhase> phases_;
};

class MessageGroupTest : public testing::TestWithParam<std::int32_t> {
 protected:
  MessageGroupTest() : size(GetParam()) {
    for (std::int32_t rank = 0; rank < size; ++rank)
      members.push_back(std::make_unique<MemoryMember>(mail, rank, size));
  }
  [[nodiscard]] MessageGroup& group(std::int32_t rank) {
    return members[static_cast<std::size_t>(rank)]->group;
  }
  /// Starts a phase on every member, the last one first, and runs all to their ends. Returns the
  /// number of members whose outcome is an error.
  int run(const std::function<Pending&(std::int32_t rank, MessageGroup& group)>& start) {
    std::vector<Pending*> phases;
    for (std::int32_t rank = size - 1; rank >= 0; --rank)
      phases.push_back(&start(rank, group(rank)));
    int failures = 0;
    for (Pending* phase : phases) {
      EXPECT_TRUE(phase->done());
      if (!phase->outcome()) ++failures;
    }
    EXPECT_TRUE(mail.empty());
    return failures;
  }
  [[nodiscard]] static Data data_of(std::vector<std::int32_t>& values, const ElementType& type) {
    return {reinterpret_cast<std::byte*>(values.data()), values.size(), &type};
  }

  std::int32_t size;
  Mail mail;
  std::vector<std::unique_ptr<MemoryMember>> members;
  ElementType type = plain_type(wire::BasicType::kInt32);
};

/// inout = 2 in + inout: neither commutative nor associative, so the order of operands shows.
class Doubling final : public Reduction {
 public:
  Doubling() : Reduction(false, 0) {}
  void combine(const std::byte* in, std::byte* inout, std::uint64_t count) const override {
    const auto* left = reinterpret_cast<const std::int32_t*>(in);
    auto* right = reinterpret_cast<std::int32_t*>(inout);
    for (std::uint64_t i = 0; i < count; ++i) right[i] += 2 * left[i];
  }
};

/// Returns x0 op (x1 op (... op x`last`)) of the contributions 10, 11, ...
std::int32_t doubled(std::int32_t last) {
  std::int32_t total = 10 + last;
  for (std::int32_t member = last - 1; member >= 0; --member) total += 2 * (10 + member);
  return total;
}

TEST_P(MessageGroupTest, BroadcastReachesEveryMember) {
  const std::int32_t root = size - 1;
  std::vector<std::vector<std::int32_t>> values(static_cast<std::size_t>(size), {0, 0});
  values[static_cast<std::size_t>(root)] = {7, 8};
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              return group.broadcast(data_of(values[static_cast<std::size_t>(rank)], type), root);
            }),
            0);
  EXPECT_THAT(values, Each(ElementsAre(7, 8)));
  EXPECT_EQ(mail.sent, size - 1);
}

TEST_P(MessageGroupTest, ABroadcastOfLessThanAskedForIsAnError) {
  std::vector<std::byte> sent(3);
  std::vector<std::vector<std::byte>> rooms(static_cast<std::size_t>(size),
                                            std::vector<std::byte>(4));
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              return rank == 0 ? group.broadcast(sent, 0)
                               : group.broadcast(rooms[static_cast<std::size_t>(rank)], 0);
            }),
            size - 1);
}

TEST_P(MessageGroupTest, APieceTellsItsSizeAndWhetherItIsTheLast) {
  std::vector<std::byte> sent(3);
  std::vector<std::vector<std::byte>> rooms(static_cast<std::size_t>(size),
                                            std::vector<std::byte>(10));
  for (const bool last : {false, true}) {
    std::vector<Piece> pieces(static_cast<std::size_t>(size), Piece{0, !last});
    pieces[0] = {sent.size(), last};
    EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
                const auto at = static_cast<std::size_t>(rank);
                return group.broadcast_piece(rank == 0 ? std::span(sent) : std::span(rooms[at]), 0,
                                             pieces[at]);
              }),
              0);
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.bytes, 3U);
      EXPECT_EQ(piece.last, last);
    }
  }
}

TEST_P(MessageGroupTest, ReduceCombinesInTheOrderOfRanks) {
  const Doubling operation;
  std::vector<std::vector<std::int32_t>> values;
  for (std::int32_t rank = 0; rank < size; ++rank) values.push_back({10 + rank});
  std::vector<std::int32_t> result = {0};
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              return group.reduce(data_of(values[static_cast<std::size_t>(rank)], type),
                                  data_of(result, type), operation, 1);
            }),
            0);
  EXPECT_THAT(result, ElementsAre(doubled(size - 1)));
}

TEST_P(MessageGroupTest, ReduceReadsAContributionInPlace) {
  const Doubling operation;
  std::vector<std::vector<std::int32_t>> values;
  for (std::int32_t rank = 0; rank < size; ++rank) values.push_back({10 + rank});
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              const Data data = data_of(values[static_cast<std::size_t>(rank)], type);
              return group.reduce(data, data, operation, 0);
            }),
            0);
  EXPECT_THAT(values[0], ElementsAre(doubled(size - 1)));
  EXPECT_THAT(values[1], ElementsAre(11)) << "only the root has a result";
}

TEST_P(MessageGroupTest, ScansCombineTheMembersBefore) {
  const Doubling operation;
  for (const bool inclusive : {true, false}) {
    std::vector<std::vector<std::int32_t>> values;
    std::vector<std::vector<std::int32_t>> results(static_cast<std::size_t>(size), {-1});
    for (std::int32_t rank = 0; rank < size; ++rank) values.push_back({10 + rank});
    EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
                const auto at = static_cast<std::size_t>(rank);
                const Data result = data_of(results[at], type);
                return inclusive ? group.scan(data_of(values[at], type), result, operation)
                                 : group.exscan(data_of(values[at], type), result, operation);
              }),
              0);
    for (std::int32_t rank = 0; rank < size; ++rank) {
      const std::int32_t last = inclusive ? rank : rank - 1;
      EXPECT_THAT(results[static_cast<std::size_t>(rank)],
                  ElementsAre(last < 0 ? -1 : doubled(last)));
    }
  }
}

/// Member i's block has i bytes of value i.
class BlocksTest : public MessageGroupTest {
 protected:
  BlocksTest() {
    for (std::int32_t rank = 0; rank < size; ++rank) {
      sizes.push_back(static_cast<std::uint64_t>(rank));
      blocks.emplace_back(static_cast<std::size_t>(rank), static_cast<std::byte>(rank));
      all.insert(all.end(), blocks.back().begin(), blocks.back().end());
    }
  }
  std::vector<std::uint64_t> sizes;
  std::vector<std::vector<std::byte>> blocks;
  std::vector<std::byte> all;
};

TEST_P(BlocksTest, GathervPutsBlocksInOrderAndSendsNoEmptyOne) {
  std::vector<std::byte> gathered(all.size());
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              return group.gatherv(blocks[static_cast<std::size_t>(rank)], gathered, sizes, 1);
            }),
            0);
  EXPECT_EQ(gathered, all);
  EXPECT_EQ(mail.sent, size - 2) << "rank 0's block is empty, the root sends none";
}

TEST_P(BlocksTest, ScattervIsTheReverse) {
  std::vector<std::vector<std::byte>> received;
  for (const std::uint64_t bytes : sizes) received.emplace_back(bytes);
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              return group.scatterv(all, sizes, received[static_cast<std::size_t>(rank)], 1);
            }),
            0);
  EXPECT_EQ(received, blocks);
}

TEST_P(BlocksTest, AllgathervGivesAllToAll) {
  std::vector<std::vector<std::byte>> gathered(static_cast<std::size_t>(size),
                                               std::vector<std::byte>(all.size()));
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              const auto at = static_cast<std::size_t>(rank);
              return group.allgatherv(blocks[at], gathered[at], sizes);
            }),
            0);
  EXPECT_THAT(gathered, Each(all));
}

TEST_P(BlocksTest, GatherTakesBlocksOfOneSize) {
  std::vector<std::byte> gathered(static_cast<std::size_t>(size) * 2);
  std::vector<std::vector<std::byte>> pairs;
  for (std::int32_t rank = 0; rank < size; ++rank) pairs.emplace_back(2, std::byte(rank));
  EXPECT_EQ(run([&](std::int32_t rank, MessageGroup& group) -> Pending& {
              return group.gather(pairs[static_cast<std::size_t>(rank)], gathered, 0);
            }),
            0);
  for (std::size_t i = 0; i < gathered.size(); ++i) EXPECT_EQ(gathered[i], std::byte(i / 2));
}

INSTANTIATE_TEST_SUITE_P(Sizes, MessageGroupTest, testing::Values(2, 3, 8));
INSTANTIATE_TEST_SUITE_P(Sizes, BlocksTest, testing::Values(2, 3, 8));

TEST(MessageGroup, MessagesAreForFewMembersAndShortData) {
  Mail mail;
  const MemoryMember two(mail, 0, 2);
  EXPECT_TRUE(two.group.is_short(262144));
  EXPECT_FALSE(two.group.is_short(262145));
  EXPECT_TRUE(two.group.pieces_are_short());
  const MemoryMember eight(mail, 0, 8);
  EXPECT_TRUE(eight.group.is_short(262144 / 7));
  EXPECT_FALSE(eight.group.pieces_are_short());
  const MemoryMember nine(mail, 0, 9);
  EXPECT_FALSE(nine.group.is_short(0));
}

}  // namespace
}  // namespace impishim::collectives::test
