// SPDX-License-Identifier: Apache-2.0
/// Duplications of communicators that the vendor has not finished.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// Duplications under way at the vendor (MPI_Comm_idup of spanning communicators), and what holds
/// further ones up. Any thread.
class CreationOrder {
 public:
  /// Its number, for end_duplication(). Nothing: a blocking function is being entered; ask again
  /// later.
  [[nodiscard]] std::optional<std::uint64_t> begin_duplication();
  void end_duplication(std::uint64_t number);
  /// Holds further ones up until release(). Returns the number of the latest that is under way, or
  /// 0.
  [[nodiscard]] std::uint64_t hold();
  void release();
  /// All up to this number are over.
  [[nodiscard]] bool over(std::uint64_t number);

 private:
  Mutex mutex_;
  std::set<std::uint64_t> under_way_ IMPISHIM_GUARDED_BY(mutex_);
  std::uint64_t begun_ IMPISHIM_GUARDED_BY(mutex_) = 0;
  std::uint64_t holders_ IMPISHIM_GUARDED_BY(mutex_) = 0;
};

}  // namespace impishim::shim
