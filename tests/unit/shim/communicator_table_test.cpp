// SPDX-License-Identifier: Apache-2.0
// The table from a native handle to its spanning communicator: insertion, removal, growth, readers
// without locks, and its cost.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "shim/job/communicator.hpp"

namespace impishim::shim {
namespace {

/// Handles as the vendor makes them are ints or pointers; the table takes any bits.
MPI_Comm handle_number(std::uintptr_t number) {
  MPI_Comm handle;
  std::memcpy(&handle, &number, sizeof(handle));
  return handle;
}

std::unique_ptr<Communicator> communicator_of(MPI_Comm handle, wire::ContextId context) {
  auto communicator = std::make_unique<Communicator>();
  communicator->handle = handle;
  communicator->context = context;
  return communicator;
}

/// What the end of a communicator does to the table; nothing if it is native.
void remove(CommunicatorTable& table, MPI_Comm handle) {
  Communicator* communicator = table.find(handle);
  if (communicator == nullptr) return;
  table.hide(*communicator);
  table.retire(*communicator);
  for (const Communicator* ended : table.take_ended()) table.drop(*ended);
}

TEST(CommunicatorTable, FindsWhatWasInsertedAndNothingElse) {
  CommunicatorTable table;
  EXPECT_EQ(table.find(MPI_COMM_WORLD), nullptr);
  Communicator* world = table.insert(communicator_of(MPI_COMM_WORLD, 0));
  EXPECT_EQ(table.find(MPI_COMM_WORLD), world);
  EXPECT_EQ(world->context, 0U);
  EXPECT_EQ(table.find(MPI_COMM_SELF), nullptr);
  EXPECT_EQ(table.find(MPI_COMM_NULL), nullptr);
}

TEST(CommunicatorTable, ARemovedHandleIsNativeAgainAndMayComeBack) {
  CommunicatorTable table;
  const MPI_Comm handle = handle_number(0x84000001U);
  table.insert(communicator_of(handle, 2));
  EXPECT_EQ(table.all().size(), 1U);
  remove(table, handle);
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_TRUE(table.all().empty());

  table.insert(communicator_of(handle, 4));
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(table.find(handle)->context, 4U);
}

TEST(CommunicatorTable, AFreedCommunicatorLivesWhileRequestsReferToIt) {
  // Under AddressSanitizer the reads below prove it.
  CommunicatorTable table;
  const MPI_Comm handle = handle_number(0x84000001U);
  Communicator* freed = table.insert(communicator_of(handle, 2));
  freed->pending.store(1);
  remove(table, handle);
  Communicator* second = table.insert(communicator_of(handle, 4));
  EXPECT_EQ(table.find(handle), second);
  remove(table, handle);
  EXPECT_EQ(freed->context, 2U);
  EXPECT_EQ(freed->pending.load(), 1);
}

TEST(CommunicatorTable, AHiddenCommunicatorComesBackAndIsNotInTheWayOfItsHandlesNextUse) {
  CommunicatorTable table;
  const MPI_Comm handle = handle_number(0x84000001U);
  Communicator* first = table.insert(communicator_of(handle, 2));
  table.hide(*first);
  EXPECT_EQ(table.find(handle), nullptr);
  table.show(*first);
  EXPECT_EQ(table.find(handle), first);

  // Freed by the vendor, and given to another thread before the first one is retired, while the
  // table grows.
  table.hide(*first);
  Communicator* second = table.insert(communicator_of(handle, 4));
  for (std::uintptr_t i = 2; i < 100; ++i)
    table.insert(communicator_of(handle_number(0x84000000U + i), 2 * i));
  EXPECT_EQ(table.find(handle), second);
  table.retire(*first);
  EXPECT_EQ(table.find(handle), second);
}

TEST(CommunicatorTable, RemovalHidesNoOtherHandleOfTheSameChain) {
  // With as many handles as half the slots, chains of colliding handles are certain.
  constexpr std::uintptr_t kHandles = 30;
  CommunicatorTable table;
  for (std::uintptr_t i = 0; i < kHandles; ++i)
    table.insert(communicator_of(handle_number(0x84000000U + i), 2 * i));
  for (std::uintptr_t i = 0; i < kHandles; i += 3) remove(table, handle_number(0x84000000U + i));
  for (std::uintptr_t i = 0; i < kHandles; ++i) {
    Communicator* found = table.find(handle_number(0x84000000U + i));
    if (i % 3 == 0) {
      EXPECT_EQ(found, nullptr) << i;
    } else {
      ASSERT_NE(found, nullptr) << i;
      EXPECT_EQ(found->context, 2 * i);
    }
  }
}

TEST(CommunicatorTable, GrowsAndKeepsPointersValid) {
  constexpr std::uintptr_t kHandles = 5000;
  CommunicatorTable table;
  std::vector<Communicator*> made;
  for (std::uintptr_t i = 0; i < kHandles; ++i)
    made.push_back(table.insert(communicator_of(handle_number(0x84000000U + i), i)));
  for (std::uintptr_t i = 0; i < kHandles; ++i)
    EXPECT_EQ(table.find(handle_number(0x84000000U + i)), made[i]);
  EXPECT_EQ(table.all().size(), kHandles);
}

TEST(CommunicatorTable, ManyShortLivedHandlesNeverFillIt) {
  // Libraries that dup and free for every solve: always other handles, few at once. find() must
  // still end.
  CommunicatorTable table;
  table.insert(communicator_of(MPI_COMM_WORLD, 0));
  for (std::uintptr_t i = 0; i < 100000; ++i) {
    const MPI_Comm handle = handle_number(0x84000000U + i);
    table.insert(communicator_of(handle, i));
    ASSERT_NE(table.find(handle), nullptr);
    remove(table, handle);
    ASSERT_EQ(table.find(handle), nullptr);
  }
  EXPECT_NE(table.find(MPI_COMM_WORLD), nullptr);
  EXPECT_EQ(table.all().size(), 1U);
}

TEST(CommunicatorTable, ReadersNeedNoLock) {
  // Under ThreadSanitizer this proves more; without it, readers must at least never see a wrong
  // communicator.
  CommunicatorTable table;
  const MPI_Comm stable = handle_number(0x44000000U);
  table.insert(communicator_of(stable, 7));
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::atomic<std::uint64_t> looked{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const Communicator* found = table.find(stable);
        if (found == nullptr || found->context != 7) wrong.fetch_add(1);
        if (table.find(MPI_COMM_SELF) != nullptr) wrong.fetch_add(1);
        looked.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  // At least until the readers have met every stage of the table's growth often.
  std::uintptr_t next = 0;
  while (looked.load(std::memory_order_relaxed) < 20000 || next < 2000) {
    const MPI_Comm handle = handle_number(0x84000000U + next++);
    table.insert(communicator_of(handle, next));
    if (next % 2 == 0) remove(table, handle);
    if (next % 500 == 0) {
      for (Communicator* each : table.all()) {
        if (each->handle != stable) remove(table, each->handle);
      }
    }
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0U);
}

}  // namespace
}  // namespace impishim::shim
