// SPDX-License-Identifier: Apache-2.0
/// Memory of elements, owned or borrowed.
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Memory of a number of elements of type T. Owned memory is aligned to cache lines and not
/// initialized. Borrowed memory may have a keeper that keeps it alive. A storage can be moved but
/// not copied.
template <class T>
class Storage {
 public:
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);

  Storage() = default;
  explicit Storage(Index count)
      : data_(static_cast<T*>(::operator new(
            static_cast<std::size_t>(count > 0 ? count : 1) * sizeof(T), kAlignment))),
        owned_(true) {}
  explicit Storage(T* lent, std::shared_ptr<const void> keeper = nullptr)
      : data_(lent), keeper_(std::move(keeper)) {}
  ~Storage() { release(); }
  Storage(Storage&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        owned_(std::exchange(other.owned_, false)),
        keeper_(std::move(other.keeper_)) {}
  Storage& operator=(Storage&& other) noexcept {
    if (this != &other) {
      release();
      data_ = std::exchange(other.data_, nullptr);
      owned_ = std::exchange(other.owned_, false);
      keeper_ = std::move(other.keeper_);
    }
    return *this;
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] bool is_owned() const { return owned_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  void release() {
    if (owned_) ::operator delete(data_, kAlignment);
  }

  T* data_ = nullptr;
  bool owned_ = false;
  std::shared_ptr<const void> keeper_;
};

}  // namespace impishim::darray
