// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace impishim::shim {

/// The room that the attached buffer stands for. The vendor uses the buffer itself for its own
/// messages.
class BufferedSpace {
 public:
  void attached(std::int64_t bytes) { room_.store(bytes); }
  /// Reserves room. Returns false if the message does not fit.
  [[nodiscard]] bool take(std::int64_t bytes) {
    if (used_.fetch_add(bytes) + bytes <= room_.load()) return true;
    used_.fetch_sub(bytes);
    return false;
  }
  void give_back(std::int64_t bytes) { used_.fetch_sub(bytes); }
  [[nodiscard]] std::int64_t used() const { return used_.load(); }

 private:
  std::atomic<std::int64_t> room_{0};
  std::atomic<std::int64_t> used_{0};
};

}  // namespace impishim::shim
