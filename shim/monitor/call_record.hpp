// SPDX-License-Identifier: Apache-2.0
/// The call that a thread is in, written by the thread and read by another one while it waits
/// there.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace impishim::shim {

/// What a call waits for, as RecordedWait::Kind says; see wire::Awaited.
struct RecordedWait {
  enum class Kind : std::uint32_t { kReceive, kSend, kCollective, kOther };
  Kind kind = Kind::kOther;
  std::int32_t peer = -1;  ///< world rank; -1: any
  std::int32_t tag = 0;    ///< -1: any
  std::uint64_t group = 0;
  std::uint64_t number = 0;
  const char* function = nullptr;  ///< that began it, if another one waits
};

/// A call as a whole. The functions' names are literals.
struct RecordedContent {
  static constexpr std::size_t kMost = 8;
  const char* function = nullptr;
  bool inside = false;
  bool any_ends = false;
  std::int64_t since_ns = 0;  ///< when the thread has entered or left it, by the monotonic clock
  std::uint32_t count = 0;    ///< of all that it waits for; `waits` has the first kMost
  std::array<RecordedWait, kMost> waits{};

  void add(const RecordedWait& wait) {
    if (count < kMost) waits[count] = wait;
    ++count;
  }
  [[nodiscard]] std::size_t listed() const { return std::min<std::size_t>(count, kMost); }
};

/// A content that one thread writes, without a lock, and that others read as a whole. (A sequence
/// lock: the version is odd while the content changes.)
class CallRecord {
 public:
  /// Returns false if another thread owns the record.
  [[nodiscard]] bool take() { return !owned_.exchange(true, std::memory_order_acquire); }
  /// Ends the ownership, when the thread ends: the record tells nothing then.
  void release() {
    write({});
    owned_.store(false, std::memory_order_release);
  }

  /// For the owner only.
  void write(const RecordedContent& content) {
    const std::uint32_t version = begin();
    put(0, pointer(content.function));
    put(1, flags(content));
    put(2, static_cast<std::uint64_t>(content.since_ns));
    for (std::size_t i = 0; i < content.listed(); ++i) {
      const RecordedWait& wait = content.waits[i];
      const std::size_t at = kHead + i * kWordsOfWait;
      put(at, static_cast<std::uint64_t>(wait.kind) << 32U | static_cast<std::uint32_t>(wait.peer));
      put(at + 1, static_cast<std::uint32_t>(wait.tag));
      put(at + 2, wait.group);
      put(at + 3, wait.number);
      put(at + 4, pointer(wait.function));
    }
    end(version);
  }
  /// Notes that the owner has left the call.
  void leave(std::int64_t now_ns) {
    const std::uint32_t version = begin();
    put(1, 0);
    put(2, static_cast<std::uint64_t>(now_ns));
    end(version);
  }

  /// Returns the content. Nothing if there is none, or if it changed all the time.
  [[nodiscard]] std::optional<RecordedContent> read() const {
    constexpr int kAttempts = 1000;
    for (int i = 0; i < kAttempts; ++i) {
      const std::uint32_t before = version_.load(std::memory_order_acquire);
      if (before % 2 != 0) continue;
      RecordedContent content = content_now();
      if (version_.load(std::memory_order_relaxed) != before) continue;
      if (content.function == nullptr) return std::nullopt;
      return content;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kHead = 3;
  static constexpr std::size_t kWordsOfWait = 5;
  static constexpr std::uint64_t kInside = 1;
  static constexpr std::uint64_t kAnyEnds = 2;

  static std::uint64_t pointer(const char* text) { return std::bit_cast<std::uintptr_t>(text); }
  static const char* text(std::uint64_t word) {
    return std::bit_cast<const char*>(static_cast<std::uintptr_t>(word));
  }
  static std::uint64_t flags(const RecordedContent& content) {
    return (content.inside ? kInside : 0) | (content.any_ends ? kAnyEnds : 0) |
           std::uint64_t{content.count} << 32U;
  }
  // A store that releases does not come before the version's, and a load that acquires does not
  // come behind it. Both cost nothing on x86.
  std::uint32_t begin() {
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    return version;
  }
  void end(std::uint32_t version) { version_.store(version + 2, std::memory_order_release); }
  void put(std::size_t at, std::uint64_t word) {
    words_[at].store(word, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t get(std::size_t at) const {
    return words_[at].load(std::memory_order_acquire);
  }
  [[nodiscard]] RecordedContent content_now() const {
    RecordedContent content;
    content.function = text(get(0));
    const std::uint64_t all_flags = get(1);
    content.inside = (all_flags & kInside) != 0;
    content.any_ends = (all_flags & kAnyEnds) != 0;
    content.count = static_cast<std::uint32_t>(all_flags >> 32U);
    content.since_ns = static_cast<std::int64_t>(get(2));
    for (std::size_t i = 0; i < content.listed(); ++i) {
      const std::size_t at = kHead + i * kWordsOfWait;
      content.waits[i] = {static_cast<RecordedWait::Kind>(get(at) >> 32U),
                          static_cast<std::int32_t>(static_cast<std::uint32_t>(get(at))),
                          static_cast<std::int32_t>(static_cast<std::uint32_t>(get(at + 1))),
                          get(at + 2),
                          get(at + 3),
                          text(get(at + 4))};
    }
    return content;
  }

  std::atomic<bool> owned_{false};
  std::atomic<std::uint32_t> version_{0};
  std::array<std::atomic<std::uint64_t>, kHead + RecordedContent::kMost * kWordsOfWait> words_{};
};

}  // namespace impishim::shim
