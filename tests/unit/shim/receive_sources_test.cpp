// SPDX-License-Identifier: Apache-2.0
// The table of receives' sources beside a map: growth, gaps that are closed, handles that come
// again.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>

#include "shim/handle/handle_bits.hpp"
#include "shim/values/receive_sources.hpp"

namespace impishim::shim {
namespace {

/// Vendors' handles are ints or pointers; the table takes any bits.
MPI_Request handle_number(std::uintptr_t number) { return from_bits<MPI_Request>(number); }

TEST(ReceiveSources, KeepsWhatWasPutUntilItIsTaken) {
  ReceiveSources sources;
  EXPECT_TRUE(sources.empty());
  EXPECT_EQ(sources.find(handle_number(7)), ReceiveSources::kNone);
  EXPECT_EQ(sources.take(handle_number(7)), ReceiveSources::kNone);
  sources.put(handle_number(7), 3);
  EXPECT_FALSE(sources.empty());
  EXPECT_EQ(sources.find(handle_number(7)), 3);
  EXPECT_EQ(sources.find(handle_number(8)), ReceiveSources::kNone);
  EXPECT_EQ(sources.take(handle_number(7)), 3);
  EXPECT_EQ(sources.take(handle_number(7)), ReceiveSources::kNone);
  EXPECT_TRUE(sources.empty());
}

TEST(ReceiveSources, BehavesAsAMapDoes) {
  constexpr std::int32_t kWorld = 7;
  ReceiveSources sources(kWorld);
  std::map<std::uintptr_t, std::int32_t> expected;
  std::mt19937 random(1);
  // Handles as vendors number them, and more of them than the first table holds: many meet on their
  // way to a place.
  for (int step = 0; step < 200000; ++step) {
    const std::uintptr_t number = 0x98000000U + random() % (step < 100000 ? 2000U : 150U);
    const auto found = expected.find(number);
    const std::int32_t offset = found == expected.end() ? ReceiveSources::kNone : found->second;
    // Now and then: a look sends the row to its places.
    if (random() % 8 == 0) {
      ASSERT_EQ(sources.find(handle_number(number)), offset) << step;
    }
    if (found != expected.end()) {
      ASSERT_EQ(sources.take(handle_number(number)), offset) << step;
      expected.erase(found);
    } else if (random() % 3 != 0) {
      const std::int32_t another = random() % 4 == 0 ? step + 1 : kWorld;
      sources.put(handle_number(number), another);
      expected.emplace(number, another);
    }
    ASSERT_EQ(sources.empty(), expected.empty());
  }
  for (const auto& [number, offset] : expected)
    ASSERT_EQ(sources.take(handle_number(number)), offset);
  EXPECT_TRUE(sources.empty());
}

TEST(ReceiveSources, KeepsNothingThatNeedsNoOtherName) {
  ReceiveSources first;
  first.put(handle_number(7), 0);
  EXPECT_TRUE(first.empty());
  ReceiveSources second(2);
  second.put(handle_number(7), 0);
  EXPECT_TRUE(second.empty());
}

TEST(ReceiveSources, AreTakenInAnyOrder) {
  // Fewer and more than stand in a row; from the front, from the back, and from the middle on.
  for (const int count : {1, 2, 64, 255, 256, 257, 600}) {
    for (const int first : {0, count - 1, count / 2}) {
      ReceiveSources sources(2);
      const int step = first == count - 1 ? -1 : 1;
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < count; ++i) {
          sources.put(handle_number(0x98000000U + static_cast<unsigned>(i)), i % 100 == 99 ? i : 2);
        }
        for (int k = 0; k < count; ++k) {
          const int i = (first + step * k + count) % count;
          ASSERT_EQ(sources.take(handle_number(0x98000000U + static_cast<unsigned>(i))),
                    i % 100 == 99 ? i : 2)
              << count << " from " << first;
        }
        ASSERT_TRUE(sources.empty());
      }
    }
  }
}

TEST(ReceiveSources, AreTakenAtOnceOnlyInTurn) {
  std::array<MPI_Request, 5> requests{};
  for (std::size_t i = 0; i < requests.size(); ++i)
    requests[i] = handle_number(0x98000000U + 16 * (i + 1));
  ReceiveSources sources(2);
  EXPECT_FALSE(sources.take_in_turn(0, nullptr));
  EXPECT_FALSE(sources.take_in_turn(-1, nullptr));
  EXPECT_FALSE(sources.take_in_turn(1, requests.data()));
  for (int round = 0; round < 2; ++round) {
    for (const MPI_Request request : requests) sources.put(request, 2);
    EXPECT_FALSE(sources.take_in_turn(2, &requests[1]));
    EXPECT_TRUE(sources.take_in_turn(2, requests.data()));
    EXPECT_EQ(sources.take(requests[2]), 2);
    EXPECT_FALSE(sources.take_in_turn(3, &requests[3]));  // one more than there is
    EXPECT_TRUE(sources.take_in_turn(2, &requests[3]));
    EXPECT_TRUE(sources.empty());
  }
  // After one that was asked for out of turn there is no row.
  for (const MPI_Request request : requests) sources.put(request, 2);
  EXPECT_EQ(sources.take(requests[4]), 2);
  EXPECT_FALSE(sources.take_in_turn(4, requests.data()));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(sources.take(requests[i]), 2);
  EXPECT_TRUE(sources.empty());
}

/// Three requests that need another name, of which a call completes the first ones.
struct FinishInTurn : testing::Test {
  FinishInTurn() {
    for (const MPI_Request request : requests) sources.put(request, 2);
  }

  std::array<MPI_Request, 3> requests{handle_number(16), handle_number(32), handle_number(48)};
  std::array<MPI_Status, 3> statuses{};
  ReceiveSources sources{2};
};

TEST_F(FinishInTurn, NamesAll) {
  ASSERT_TRUE(sources.take_in_turn(2, requests.data()));
  requests[0] = MPI_REQUEST_NULL;
  requests[1] = MPI_REQUEST_NULL;
  statuses[1].MPI_SOURCE = 1;
  finish_in_turn(MPI_SUCCESS, sources, 2, requests.data(), statuses.data());
  EXPECT_EQ(statuses[0].MPI_SOURCE, 2);
  EXPECT_EQ(statuses[1].MPI_SOURCE, 3);
  EXPECT_EQ(statuses[2].MPI_SOURCE, 0);
  ASSERT_TRUE(sources.take_in_turn(1, &requests[2]));
  requests[2] = MPI_REQUEST_NULL;
  finish_in_turn(MPI_SUCCESS, sources, 1, &requests[2], MPI_STATUSES_IGNORE);
  EXPECT_TRUE(sources.empty());
}

TEST_F(FinishInTurn, GivesBackWhatAnErrorHasLeft) {
  ASSERT_TRUE(sources.take_in_turn(3, requests.data()));
  requests[0] = MPI_REQUEST_NULL;
  requests[2] = MPI_REQUEST_NULL;
  finish_in_turn(MPI_ERR_IN_STATUS, sources, 3, requests.data(), statuses.data());
  EXPECT_EQ(statuses[0].MPI_SOURCE, 2);
  EXPECT_EQ(sources.take(handle_number(16)), ReceiveSources::kNone);
  EXPECT_EQ(sources.take(handle_number(32)), 2);
  EXPECT_TRUE(sources.empty());
}

TEST(ReceiveSources, NeverCountOnThatWhatMayLiveOnIsGone) {
  // A persistent request is never taken with others at once, neither when it is new nor when a call
  // has given it back.
  std::array<MPI_Request, 2> requests{handle_number(16), handle_number(32)};
  ReceiveSources sources(2);
  for (const MPI_Request request : requests) sources.put_to_stay(request, 2);
  EXPECT_FALSE(sources.take_in_turn(2, requests.data()));
  { const CompletingSources completing(sources, 2, requests.data()); }
  EXPECT_FALSE(sources.take_in_turn(2, requests.data()));
  EXPECT_EQ(sources.take(requests[0]), 2);
  EXPECT_EQ(sources.take(requests[1]), 2);
  EXPECT_TRUE(sources.empty());
}

TEST(CompletingSources, NameWhatIsOverAndGiveBackWhatLivesOn) {
  for (const std::int32_t world : {0, 10}) {
    ReceiveSources sources(world);
    std::array<MPI_Request, 3> requests{handle_number(16), handle_number(17), handle_number(18)};
    sources.put(requests[0], 10);
    sources.put(requests[2], 12);
    MPI_Status status{};
    status.MPI_SOURCE = 1;
    {
      const CompletingSources completing(sources, 3, requests.data());
      EXPECT_TRUE(sources.empty());
      requests[0] = MPI_REQUEST_NULL;
      // Another request may get its handle at once.
      sources.put(handle_number(16), 20);
      completing.name(1, &status);
      EXPECT_EQ(status.MPI_SOURCE, 1);
      completing.name(0, MPI_STATUS_IGNORE);
      completing.name(0, &status);
      EXPECT_EQ(status.MPI_SOURCE, 11);
    }
    EXPECT_EQ(sources.find(handle_number(16)), 20);
    EXPECT_EQ(sources.find(handle_number(17)), ReceiveSources::kNone);
    EXPECT_EQ(sources.find(handle_number(18)), 12);
  }
}

TEST(CompletingSources, LeaveAloneWhatIsEmptyOrUnknown) {
  ReceiveSources sources;
  std::array<MPI_Request, 1> requests{handle_number(16)};
  sources.put(requests[0], 10);
  const CompletingSources completing(sources, 1, requests.data());
  MPI_Status status{};
  status.MPI_SOURCE = MPI_ANY_SOURCE;  // of a persistent request that is inactive
  completing.name(0, &status);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  status.MPI_SOURCE = 1;
  const int index = MPI_UNDEFINED;
  completing.name_any(&index, &status);
  const int outcount = MPI_UNDEFINED;
  completing.name_some(&outcount, &index, &status);
  completing.name_any(nullptr, &status);
  completing.name_some(nullptr, nullptr, &status);
  EXPECT_EQ(status.MPI_SOURCE, 1);
  const int first = 0;
  completing.name_any(&first, &status);
  EXPECT_EQ(status.MPI_SOURCE, 11);
}

}  // namespace
}  // namespace impishim::shim
