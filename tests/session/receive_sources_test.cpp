// The table of receives' sources beside a map: growth, gaps that are closed, handles that come again.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>

#include "shim/handle_bits.hpp"
#include "shim/receive_sources.hpp"

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
  ReceiveSources sources;
  std::map<std::uintptr_t, std::int32_t> expected;
  std::mt19937 random(1);
  // Handles as vendors number them, and more of them than the first table holds: many meet on their way to a place.
  for (int step = 0; step < 200000; ++step) {
    const std::uintptr_t number = 0x98000000U + random() % (step < 100000 ? 2000U : 150U);
    const auto found = expected.find(number);
    const std::int32_t source = found == expected.end() ? ReceiveSources::kNone : found->second;
    ASSERT_EQ(sources.find(handle_number(number)), source) << step;
    if (found != expected.end()) {
      ASSERT_EQ(sources.take(handle_number(number)), source) << step;
      expected.erase(found);
    } else if (random() % 3 != 0) {
      sources.put(handle_number(number), step);
      expected.emplace(number, step);
    }
    ASSERT_EQ(sources.empty(), expected.empty());
  }
  for (const auto& [number, source] : expected) ASSERT_EQ(sources.take(handle_number(number)), source);
  EXPECT_TRUE(sources.empty());
}

TEST(ReceiveSources, AreTakenInAnyOrder) {
  // Fewer and more than stand in a row; from the front, from the back, and from the middle on.
  for (const int count : {1, 2, 64, 255, 256, 257, 600}) {
    for (const int first : {0, count - 1, count / 2}) {
      ReceiveSources sources;
      const int step = first == count - 1 ? -1 : 1;
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < count; ++i) sources.put(handle_number(0x98000000U + static_cast<unsigned>(i)), i);
        for (int k = 0; k < count; ++k) {
          const int i = (first + step * k + count) % count;
          ASSERT_EQ(sources.take(handle_number(0x98000000U + static_cast<unsigned>(i))), i) << count << " from " << first;
        }
        ASSERT_TRUE(sources.empty());
      }
    }
  }
}

TEST(CompletingSources, NameWhatIsOverAndGiveBackWhatLivesOn) {
  ReceiveSources sources;
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
    EXPECT_EQ(status.MPI_SOURCE, 10);
  }
  EXPECT_EQ(sources.find(handle_number(16)), 20);
  EXPECT_EQ(sources.find(handle_number(17)), ReceiveSources::kNone);
  EXPECT_EQ(sources.find(handle_number(18)), 12);
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
  EXPECT_EQ(status.MPI_SOURCE, 10);
}

}  // namespace
}  // namespace impishim::shim
