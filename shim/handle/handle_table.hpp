// SPDX-License-Identifier: Apache-2.0
/// A map from the vendor's handles to descriptions of our own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shim/handle/handle_bits.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// A map from handles to objects that others own. Lookups take no lock and a few nanoseconds.
/// Changes are rare and take a lock. All slots are replaced when the table grows. Old ones live as
/// long as the table, since readers may still use them.
template <class Handle, class Object>
class HandleTable {
 public:
  HandleTable() { publish(std::make_unique<Slots>(kSmallest)); }
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  /// Returns the object of a handle, or null if it has none.
  [[nodiscard]] Object* find(Handle handle) const {
    const Slots* slots = slots_.load(std::memory_order_acquire);
    for (std::size_t i = hash_of(handle) & slots->mask;; i = (i + 1) & slots->mask) {
      const Slot& slot = slots->slot[i];
      const std::uint64_t key = slot.key.load(std::memory_order_acquire);
      if (key == to_bits(handle)) return slot.object.load(std::memory_order_acquire);
      if (key == kEmpty) return nullptr;
    }
  }

  /// Gives a handle its object.
  void insert(Handle handle, Object& object) {
    const MutexLock lock(mutex_);
    Slots* slots = slots_.load(std::memory_order_relaxed);
    if (2 * (slots->count(&Slot::is_used) + 1) > slots->slot.size()) slots = grow(*slots);
    place(*slots, to_bits(handle), hash_of(handle), &object);
  }

  /// Takes it away. The slot keeps its key, so that the same handle can be used again.
  void erase(Handle handle) {
    const MutexLock lock(mutex_);
    place(*slots_.load(std::memory_order_relaxed), to_bits(handle), hash_of(handle), nullptr);
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr std::size_t kSmallest = 64;
  /// Its key never changes once it is set.
  struct Slot {
    std::atomic<std::uint64_t> key{kEmpty};
    std::atomic<Object*> object{nullptr};
    std::size_t hash = 0;
    [[nodiscard]] bool is_used() const { return key.load(std::memory_order_relaxed) != kEmpty; }
    [[nodiscard]] bool is_live() const { return object.load(std::memory_order_relaxed) != nullptr; }
  };
  struct Slots {
    explicit Slots(std::size_t size) : mask(size - 1), slot(size) {}
    [[nodiscard]] std::size_t count(bool (Slot::*is)() const) const {
      return static_cast<std::size_t>(
          std::ranges::count_if(slot, [is](const Slot& each) { return (each.*is)(); }));
    }
    std::size_t mask;
    std::vector<Slot> slot;
  };

  static void place(Slots& slots, std::uint64_t key, std::size_t hash, Object* object) {
    for (std::size_t i = hash & slots.mask;; i = (i + 1) & slots.mask) {
      Slot& slot = slots.slot[i];
      if (slot.is_used() && slot.key.load(std::memory_order_relaxed) != key) continue;
      slot.hash = hash;
      slot.object.store(object, std::memory_order_release);
      slot.key.store(key, std::memory_order_release);
      return;
    }
  }
  Slots* publish(std::unique_ptr<Slots> slots) {
    generations_.push_back(std::move(slots));
    slots_.store(generations_.back().get(), std::memory_order_release);
    return generations_.back().get();
  }
  /// Replaces the slots by others without those of handles that have no object any more.
  Slots* grow(const Slots& old) IMPISHIM_REQUIRES(mutex_) {
    const std::size_t live = old.count(&Slot::is_live);
    auto made = std::make_unique<Slots>(4 * (live + 1) > old.slot.size() ? 2 * old.slot.size()
                                                                         : old.slot.size());
    for (const Slot& each : old.slot) {
      if (each.is_live())
        place(*made, each.key.load(std::memory_order_relaxed), each.hash,
              each.object.load(std::memory_order_relaxed));
    }
    return publish(std::move(made));
  }

  Mutex mutex_;  ///< protects changes
  std::atomic<Slots*> slots_;
  std::vector<std::unique_ptr<Slots>> generations_;
};

}  // namespace impishim::shim
