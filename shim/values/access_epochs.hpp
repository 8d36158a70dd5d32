// SPDX-License-Identifier: Apache-2.0
/// Which targets of a window a process may access, and which origins may access it: the rules of
/// MPI-4.0 12.5, with no MPI type or function.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace impishim::shim {

/// How an origin holds the lock of a target.
enum class WindowLock : std::uint8_t {
  kUnchecked,  ///< MPI_MODE_NOCHECK: no process has to be asked
  kShared,
  kExclusive
};

/// The epochs of one process on one window. Ranks are those of the window. Not thread-safe.
///
/// Functions that begin or end an epoch return null, or a text that says why the call is erroneous;
/// nothing has changed then.
class AccessEpochs {
 public:
  /// Ends an epoch between fences, and begins one unless `last`.
  [[nodiscard]] const char* fence(bool last);

  /// Begins and ends an access epoch for a group of targets.
  [[nodiscard]] const char* start(std::vector<std::int32_t> targets);
  [[nodiscard]] const char* complete();
  /// Begins and ends an exposure epoch for a group of origins.
  [[nodiscard]] const char* post(std::vector<std::int32_t> origins);
  [[nodiscard]] const char* wait();
  /// Return the groups of the epochs that are open.
  [[nodiscard]] const std::vector<std::int32_t>& started() const { return *started_; }
  [[nodiscard]] const std::vector<std::int32_t>& posted() const { return *posted_; }
  [[nodiscard]] bool is_started() const { return started_.has_value(); }
  [[nodiscard]] bool exposes() const { return posted_.has_value(); }

  /// Begins and ends a passive-target epoch for one target, or for all.
  [[nodiscard]] const char* lock(std::int32_t target, WindowLock lock);
  [[nodiscard]] const char* unlock(std::int32_t target);
  [[nodiscard]] const char* lock_all(WindowLock lock);
  [[nodiscard]] const char* unlock_all();

  /// Returns true if an epoch is open in which this process may access a target.
  [[nodiscard]] bool may_access(std::int32_t target) const;
  /// Returns true if that is a passive-target epoch. For a negative number: if one is open for
  /// any target.
  [[nodiscard]] bool is_passive(std::int32_t target) const;
  /// Returns true if nothing is open but an epoch between fences.
  [[nodiscard]] bool idle() const;

  /// Returns true if take_due_lock() would return a lock.
  [[nodiscard]] bool is_lock_due(std::int32_t target) const;
  /// Returns the lock that must be requested from a target before it is accessed for the first time
  /// in this epoch, or nothing. Records it as requested.
  [[nodiscard]] std::optional<WindowLock> take_due_lock(std::int32_t target);
  /// Returns the targets of which the lock was requested, in ascending order: `target` if it is one
  /// of them, or all for a negative number.
  [[nodiscard]] std::vector<std::int32_t> requested(std::int32_t target) const;

 private:
  struct Held {
    WindowLock lock;
    bool requested;
  };
  bool fenced_ = false;
  std::optional<std::vector<std::int32_t>> started_;
  std::set<std::int32_t> targets_;  ///< of `started_`
  std::optional<std::vector<std::int32_t>> posted_;
  std::optional<WindowLock> all_;  ///< by lock_all()
  /// By lock(), or of targets that were accessed under lock_all().
  std::map<std::int32_t, Held> locks_;
};

}  // namespace impishim::shim
