// SPDX-License-Identifier: Apache-2.0
/// Memory for what a call stores for each element of a user's array.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace impishim::shim {

/// An array of `size` values of T. A small array is in the object itself. A larger one uses the
/// memory that this thread's last call left, so that repeated calls do not allocate.
template <class T>
class CallArray {
 public:
  explicit CallArray(std::size_t size) {
    if (size > few_.size()) {
      many_ = std::exchange(spare(), {});
      many_.resize(size);
    }
    all_ = size > few_.size() ? std::span<T>(many_) : std::span<T>(few_).first(size);
  }
  CallArray(const CallArray&) = delete;
  CallArray& operator=(const CallArray&) = delete;
  ~CallArray() {
    many_.clear();
    if (many_.capacity() > 0 && many_.capacity() <= kSpare) std::swap(many_, spare());
  }

  [[nodiscard]] std::span<T> all() { return all_; }
  [[nodiscard]] std::span<const T> all() const { return all_; }

 private:
  static constexpr std::size_t kFew = 8;  ///< most calls need no more
  static constexpr std::size_t kSpare = 4096;
  static std::vector<T>& spare() {
    static thread_local std::vector<T> values;
    return values;
  }

  std::array<T, kFew> few_{};
  std::vector<T> many_;
  std::span<T> all_;
};

}  // namespace impishim::shim
