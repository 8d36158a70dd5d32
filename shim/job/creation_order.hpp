// SPDX-License-Identifier: Apache-2.0
/// Duplications of communicators that the vendor has not completed.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// The duplications in progress in the vendor's MPI (MPI_Comm_idup of spanning communicators), and
/// the holds that delay further ones. Any thread.
class CreationOrder {
 public:
  /// Returns the number of the new duplication, for end_duplication(). Returns nothing while a
  /// blocking function is being entered; the caller must retry later.
  [[nodiscard]] std::optional<std::uint64_t> begin_duplication();
  void end_duplication(std::uint64_t number);
  /// Delays further duplications until release(). Returns the number of the latest duplication in
  /// progress, or 0.
  [[nodiscard]] std::uint64_t hold();
  void release();
  /// Returns the number of the latest duplication in progress, or 0.
  [[nodiscard]] std::uint64_t latest();
  /// Returns true if all duplications up to `number` are complete.
  [[nodiscard]] bool over(std::uint64_t number);

 private:
  [[nodiscard]] std::uint64_t latest_in_progress() const IMPISHIM_REQUIRES(mutex_) {
    return under_way_.empty() ? 0 : *under_way_.rbegin();
  }

  Mutex mutex_;
  std::set<std::uint64_t> under_way_ IMPISHIM_GUARDED_BY(mutex_);
  std::uint64_t begun_ IMPISHIM_GUARDED_BY(mutex_) = 0;
  std::uint64_t holders_ IMPISHIM_GUARDED_BY(mutex_) = 0;
};

}  // namespace impishim::shim
