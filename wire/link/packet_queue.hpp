// SPDX-License-Identifier: Apache-2.0
/// A first-in first-out queue that allocates memory only when it grows beyond its previous maximum.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace impishim::wire {

template <class Item>
class PacketQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - first_; }
  [[nodiscard]] Item& front() { return items_[first_]; }
  [[nodiscard]] auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(first_); }
  [[nodiscard]] auto end() const { return items_.end(); }

  void push_back(Item item) {
    // Room at the front is reused before more is allocated. Each move of an item is paid for by one
    // item that has left.
    if (items_.size() == items_.capacity() && first_ > items_.size() / 2) {
      items_.erase(items_.begin(), begin());
      first_ = 0;
    }
    items_.push_back(std::move(item));
  }

  void pop_front() {
    items_[first_++] = Item{};
    if (empty()) clear();
  }

  /// Erases an item; `item` is an iterator of this queue.
  template <class Iterator>
  void erase(Iterator item) {
    items_.erase(item);
    if (empty()) clear();
  }

  void clear() {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<Item> items_;
  std::size_t first_ = 0;  ///< items before it have left
};

}  // namespace impishim::wire
