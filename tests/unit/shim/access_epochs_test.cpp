// SPDX-License-Identifier: Apache-2.0
// The epochs of a window: which calls follow each other, and which targets may be accessed.
#include "shim/values/access_epochs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace impishim::shim {
namespace {

using testing::ElementsAre;

bool says(const char* text, const std::string& part) {
  return text != nullptr && std::string(text).find(part) != std::string::npos;
}

TEST(AccessEpochs, NothingMayBeAccessedAtFirst) {
  const AccessEpochs epochs;
  EXPECT_FALSE(epochs.may_access(0));
  EXPECT_FALSE(epochs.is_passive(-1));
  EXPECT_TRUE(epochs.idle());
}

TEST(AccessEpochs, BetweenFencesAllTargetsMayBeAccessed) {
  AccessEpochs epochs;
  EXPECT_EQ(epochs.fence(false), nullptr);
  EXPECT_TRUE(epochs.may_access(5));
  EXPECT_FALSE(epochs.is_passive(5));
  EXPECT_EQ(epochs.fence(true), nullptr);
  EXPECT_FALSE(epochs.may_access(5));
}

TEST(AccessEpochs, AStartedEpochHasItsTargetsOnly) {
  AccessEpochs epochs;
  EXPECT_EQ(epochs.fence(false), nullptr);
  EXPECT_EQ(epochs.start({1, 3}), nullptr);
  EXPECT_TRUE(epochs.may_access(3));
  EXPECT_FALSE(epochs.may_access(2));
  EXPECT_TRUE(says(epochs.start({2}), "MPI_Win_complete"));
  EXPECT_TRUE(says(epochs.fence(false), "MPI_Win_complete"));
  EXPECT_TRUE(says(epochs.lock(0, WindowLock::kShared), "MPI_Win_complete"));
  EXPECT_TRUE(says(epochs.lock_all(WindowLock::kShared), "MPI_Win_complete"));
  EXPECT_THAT(epochs.started(), ElementsAre(1, 3));
  EXPECT_EQ(epochs.complete(), nullptr);
  EXPECT_TRUE(says(epochs.complete(), "no epoch"));
  EXPECT_TRUE(epochs.may_access(2)) << "the epoch between fences is still open";
}

TEST(AccessEpochs, ExposureAndAccessDoNotExcludeEachOther) {
  AccessEpochs epochs;
  EXPECT_EQ(epochs.post({0, 2}), nullptr);
  EXPECT_EQ(epochs.start({0}), nullptr);
  EXPECT_TRUE(says(epochs.post({1}), "MPI_Win_wait"));
  EXPECT_THAT(epochs.posted(), ElementsAre(0, 2));
  EXPECT_EQ(epochs.complete(), nullptr);
  EXPECT_TRUE(says(epochs.fence(false), "MPI_Win_wait"));
  EXPECT_TRUE(epochs.exposes());
  EXPECT_EQ(epochs.wait(), nullptr);
  EXPECT_FALSE(epochs.exposes());
  EXPECT_TRUE(says(epochs.wait(), "no epoch"));
}

TEST(AccessEpochs, ALockIsOfOneTarget) {
  AccessEpochs epochs;
  EXPECT_EQ(epochs.fence(false), nullptr);
  EXPECT_EQ(epochs.lock(1, WindowLock::kExclusive), nullptr);
  EXPECT_TRUE(epochs.may_access(1));
  EXPECT_FALSE(epochs.may_access(0));
  EXPECT_TRUE(says(epochs.lock(1, WindowLock::kShared), "MPI_Win_unlock"));
  EXPECT_EQ(epochs.lock(2, WindowLock::kShared), nullptr);
  EXPECT_TRUE(says(epochs.lock_all(WindowLock::kShared), "is open"));
  EXPECT_TRUE(says(epochs.start({0}), "is open"));
  EXPECT_TRUE(says(epochs.unlock(0), "no lock"));
  EXPECT_TRUE(says(epochs.unlock_all(), "no epoch"));
  EXPECT_EQ(epochs.unlock(1), nullptr);
  EXPECT_TRUE(epochs.is_passive(-1));
  EXPECT_EQ(epochs.unlock(2), nullptr);
  EXPECT_TRUE(epochs.idle());
}

TEST(AccessEpochs, ALockIsRequestedOnce) {
  AccessEpochs epochs;
  EXPECT_FALSE(epochs.is_lock_due(1));
  EXPECT_EQ(epochs.take_due_lock(1), std::nullopt);
  EXPECT_EQ(epochs.lock(1, WindowLock::kExclusive), nullptr);
  EXPECT_THAT(epochs.requested(-1), ElementsAre());
  EXPECT_TRUE(epochs.is_lock_due(1));
  EXPECT_EQ(epochs.take_due_lock(1), WindowLock::kExclusive);
  EXPECT_FALSE(epochs.is_lock_due(1));
  EXPECT_EQ(epochs.take_due_lock(1), std::nullopt);
  EXPECT_THAT(epochs.requested(-1), ElementsAre(1));
  EXPECT_EQ(epochs.unlock(1), nullptr);
  EXPECT_EQ(epochs.lock(1, WindowLock::kUnchecked), nullptr);
  EXPECT_FALSE(epochs.is_lock_due(1));
  EXPECT_EQ(epochs.take_due_lock(1), std::nullopt);
  EXPECT_THAT(epochs.requested(-1), ElementsAre());
}

TEST(AccessEpochs, ALockOfAllIsRequestedFromThoseThatAreAccessed) {
  AccessEpochs epochs;
  EXPECT_EQ(epochs.lock_all(WindowLock::kShared), nullptr);
  EXPECT_TRUE(epochs.may_access(7));
  EXPECT_TRUE(epochs.is_lock_due(7));
  EXPECT_EQ(epochs.take_due_lock(7), WindowLock::kShared);
  EXPECT_FALSE(epochs.is_lock_due(7));
  EXPECT_EQ(epochs.take_due_lock(7), std::nullopt);
  EXPECT_EQ(epochs.take_due_lock(3), WindowLock::kShared);
  EXPECT_THAT(epochs.requested(-1), ElementsAre(3, 7));
  EXPECT_THAT(epochs.requested(7), ElementsAre(7));
  EXPECT_TRUE(says(epochs.lock(1, WindowLock::kShared), "MPI_Win_unlock_all"));
  EXPECT_TRUE(says(epochs.unlock(7), "no lock"));
  EXPECT_EQ(epochs.unlock_all(), nullptr);
  EXPECT_TRUE(epochs.idle());
}

}  // namespace
}  // namespace impishim::shim
