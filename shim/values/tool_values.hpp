// SPDX-License-Identifier: Apache-2.0
/// Arithmetic of the tool information interface (MPI-4.0 15.3) without MPI: indices of variables of
/// two owners, texts for buffers of any length, and counters that a tool starts and stops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace impishim::shim {

/// Numbers the variables of the vendor and of this library in one sequence. This library's stand
/// behind the ones that the vendor had when they were first asked for. Those that the vendor adds
/// later (Open MPI does, in MPI_Init) stand behind both, since an index never changes its meaning.
class ToolIndices {
 public:
  explicit ToolIndices(int own) : own_(own) {}

  struct Place {
    bool own;   ///< this library's, not the vendor's
    int index;  ///< among the owner's
  };

  /// Takes the vendor's number of variables. The first call fixes where this library's begin.
  void settle(int vendors) {
    if (begin_ < 0) begin_ = vendors;
  }
  [[nodiscard]] int total(int vendors) const { return vendors + own_; }
  /// Returns what an index of the sequence means. An index out of range is the vendor's to reject.
  [[nodiscard]] Place place(int index) const {
    if (index < begin_) return {.own = false, .index = index};
    if (index < begin_ + own_) return {.own = true, .index = index - begin_};
    return {.own = false, .index = index - own_};
  }
  [[nodiscard]] int of_vendor(int index) const { return index < begin_ ? index : index + own_; }
  [[nodiscard]] int of_own(int index) const { return begin_ + index; }

 private:
  int own_;
  int begin_ = -1;
};

/// Gives a text to a tool (MPI-4.0 15.3.3): at most *length - 1 characters and a null character.
/// Sets *length to the length of the whole text with the null character. Writes no text if `buffer`
/// is null or *length is 0, and nothing at all if `length` is null.
inline void give_text(std::string_view text, char* buffer, int* length) {
  if (length == nullptr) return;
  if (buffer != nullptr && *length > 0) {
    const std::size_t count = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(buffer, text.data(), count);
    buffer[count] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

/// What one handle counts of a counter that never stops: from start to stop, from zero.
class ToolCount {
 public:
  [[nodiscard]] std::uint64_t value(std::uint64_t now) const {
    return running_ ? counted_ + (now - since_) : counted_;
  }
  void start(std::uint64_t now) {
    if (running_) return;
    running_ = true;
    since_ = now;
  }
  void stop(std::uint64_t now) {
    counted_ = value(now);
    running_ = false;
  }
  /// Goes on from `value`, running or not.
  void set(std::uint64_t value, std::uint64_t now) {
    counted_ = value;
    since_ = now;
  }

 private:
  bool running_ = false;
  std::uint64_t counted_ = 0;
  std::uint64_t since_ = 0;
};

}  // namespace impishim::shim
