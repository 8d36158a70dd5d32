// SPDX-License-Identifier: Apache-2.0
#include "shim/job/attribute_values.hpp"
#include <optional>
#include <vector>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

void SelfAttributes::set(int keyval) {
  const MutexLock lock(mutex_);
  std::erase(keyvals_, keyval);
  keyvals_.push_back(keyval);
}

void SelfAttributes::deleted(int keyval) {
  const MutexLock lock(mutex_);
  std::erase(keyvals_, keyval);
}

std::optional<int> SelfAttributes::take_last() {
  const MutexLock lock(mutex_);
  if (keyvals_.empty()) return std::nullopt;
  const int last = keyvals_.back();
  keyvals_.pop_back();
  return last;
}

int* AttributeValues::of(int value) {
  const MutexLock lock(mutex_);
  return &values_.try_emplace(value, value).first->second;
}

}  // namespace impishim::shim
