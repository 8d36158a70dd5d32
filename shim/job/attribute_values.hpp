// SPDX-License-Identifier: Apache-2.0
/// Attributes of communicators: what the job keeps about them beside the vendor.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// The user's attributes on MPI_COMM_SELF, in the order in which they were set. MPI_Finalize
/// deletes them before anything else (MPI-3.1 8.7.1), which must happen while the joined world
/// still works: the vendor would do it when that is gone.
class SelfAttributes {
 public:
  void set(int keyval);
  void deleted(int keyval);
  /// The one set last, no longer kept here; or nothing.
  [[nodiscard]] std::optional<int> take_last();

 private:
  Mutex mutex_;
  std::vector<int> keyvals_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Places for the values of predefined attributes, which a program reads through an int* at any
/// later time.
class AttributeValues {
 public:
  /// An int that holds `value`; valid as long as this object.
  [[nodiscard]] int* of(int value);

 private:
  Mutex mutex_;
  std::map<int, int> values_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
