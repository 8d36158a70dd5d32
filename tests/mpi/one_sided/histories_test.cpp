// SPDX-License-Identifier: Apache-2.0
// The judge of tests/mpi/one_sided/atomicity.cpp: it accepts histories that have an order, and
// rejects those that have none.
#include "tests/mpi/one_sided/histories.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace {

using impishim_test::CountingFetch;
using impishim_test::CountingSwap;
using impishim_test::is_linearizable;

TEST(Histories, FetchesInOrderAreAccepted) {
  EXPECT_TRUE(is_linearizable(std::vector<CountingFetch>{}));
  EXPECT_TRUE(is_linearizable(std::vector<CountingFetch>{{0, 1, 0}, {2, 3, 1}, {4, 5, 2}}));
}

TEST(Histories, FetchesThatOverlapMayHaveAnyOrder) {
  EXPECT_TRUE(is_linearizable(std::vector<CountingFetch>{{0, 9, 2}, {1, 8, 0}, {2, 7, 1}}));
}

TEST(Histories, AValueThatIsFetchedTwiceIsRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingFetch>{{0, 9, 0}, {1, 8, 0}, {2, 7, 1}}));
}

TEST(Histories, AValueThatIsSkippedIsRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingFetch>{{0, 9, 0}, {1, 8, 2}}));
}

TEST(Histories, AFetchThatOvertakesOneThatHasEndedIsRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingFetch>{{0, 1, 1}, {2, 3, 0}}));
  // Not between neighbours only.
  EXPECT_FALSE(is_linearizable(std::vector<CountingFetch>{{0, 1, 2}, {0, 9, 1}, {2, 9, 0}}));
}

TEST(Histories, SwapsThatCountAreAccepted) {
  EXPECT_TRUE(is_linearizable(std::vector<CountingSwap>{{0, 1, 0, 0}, {2, 3, 0, 1}, {4, 5, 1, 1}}));
  // The one that fails overlaps the one that it has seen.
  EXPECT_TRUE(is_linearizable(std::vector<CountingSwap>{{0, 5, 0, 0}, {1, 2, 0, 1}}));
}

TEST(Histories, TwoSwapsOfOneValueAreRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingSwap>{{0, 5, 0, 0}, {1, 2, 0, 0}}));
}

TEST(Histories, ASwapThatReadsWhatIsNotWrittenYetIsRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingSwap>{{0, 1, 0, 1}, {2, 3, 0, 0}}));
}

TEST(Histories, ASwapThatReadsWhatIsWrittenOverIsRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingSwap>{{0, 1, 0, 0}, {2, 3, 7, 0}}));
}

TEST(Histories, ValuesThatWereNeverWrittenAreRejected) {
  EXPECT_FALSE(is_linearizable(std::vector<CountingSwap>{{0, 1, 0, 0}, {2, 3, 7, 2}}));
  EXPECT_FALSE(is_linearizable(std::vector<CountingSwap>{{0, 1, 0, -1}}));
}

/// Wing and Gong's search: tries all orders, each of which it runs.
template <class Call, class Run>
bool has_an_order(const std::vector<Call>& calls, Run run) {
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    bool right = true;
    for (std::size_t later = 1; later < order.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier)
        right = right && calls[order[later]].end >= calls[order[earlier]].begin;
    }
    std::int64_t value = 0;
    for (const std::size_t each : order) right = right && run(calls[each], value);
    if (right) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

bool run_fetch(const CountingFetch& fetch, std::int64_t& value) { return fetch.fetched == value++; }

bool run_swap(const CountingSwap& swap, std::int64_t& value) {
  if (swap.fetched != value) return false;
  if (swap.expected == value) ++value;
  return true;
}

class Random {
 public:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(limit));
  }
  template <class Call>
  Call timed() {
    Call call;
    call.begin = below(12);
    call.end = call.begin + below(6);
    return call;
  }

 private:
  std::mt19937_64 generator_{20};
};

TEST(Histories, TheVerdictIsThatOfASearchOfAllOrders) {
  Random random;
  int accepted = 0;
  int rejected = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<CountingFetch> fetches(5);
    std::vector<CountingSwap> swaps(5);
    std::vector<std::int64_t> values{0, 1, 2, 3, 4};
    for (std::size_t i = 0; i < values.size(); ++i)
      std::swap(values[i], values[static_cast<std::size_t>(random.below(5))]);
    for (std::size_t i = 0; i < values.size(); ++i) {
      fetches[i] = random.timed<CountingFetch>();
      fetches[i].fetched = random.below(20) == 0 ? random.below(5) : values[i];
      swaps[i] = random.timed<CountingSwap>();
      swaps[i].expected = random.below(3);
      swaps[i].fetched = random.below(3);
    }
    const bool fetches_right = has_an_order(fetches, run_fetch);
    const bool swaps_right = has_an_order(swaps, run_swap);
    ASSERT_EQ(is_linearizable(fetches), fetches_right) << round;
    ASSERT_EQ(is_linearizable(swaps), swaps_right) << round;
    accepted += (fetches_right ? 1 : 0) + (swaps_right ? 1 : 0);
    rejected += (fetches_right ? 0 : 1) + (swaps_right ? 0 : 1);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(rejected, 50);
}

}  // namespace
