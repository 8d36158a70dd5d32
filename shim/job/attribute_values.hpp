// SPDX-License-Identifier: Apache-2.0
/// Attributes of communicators that the job stores in addition to the vendor's.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// The user's attributes on MPI_COMM_SELF, in the order of setting. MPI_Finalize deletes them
/// before anything else (MPI-3.1 8.7.1). This must happen while the joined world still works; the
/// vendor would do it only after that.
class SelfAttributes {
 public:
  void set(int keyval);
  void deleted(int keyval);
  /// Removes and returns the key that was set last, or nothing.
  [[nodiscard]] std::optional<int> take_last();

 private:
  Mutex mutex_;
  std::vector<int> keyvals_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Storage for the values of predefined attributes, which a program reads through an int* at any
/// later time.
class AttributeValues {
 public:
  /// Returns an int that holds `value`. It is valid as long as this object.
  [[nodiscard]] int* of(int value);

 private:
  Mutex mutex_;
  std::map<int, int> values_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
