// SPDX-License-Identifier: Apache-2.0
/// Letters between processes of this system that no communicator connects: the messages by which
/// the members of a group meet (comm/named_meeting.hpp).
///
/// A letter has a name of 64 bits, and the vendor's tags are shorter. So all letters have one tag,
/// and a thread may receive the letter of another thread's meeting. It puts each into this box.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

struct Letter {
  std::uint64_t name;
  std::uint64_t value;
};

/// The letters that have arrived and have not been read. Any thread.
class LetterBox {
 public:
  /// Returns the value of the first letter with this name from native rank `sender`. If there is
  /// none and no thread receives from `sender`, sets `receive`: the caller must then receive one
  /// letter and deliver() it.
  [[nodiscard]] std::optional<std::uint64_t> take(int sender, std::uint64_t name, bool& receive) {
    const MutexLock lock(mutex_);
    const auto found = letters_.find({sender, name});
    receive = found == letters_.end() && receiving_.insert(sender).second;
    if (found == letters_.end()) return std::nullopt;
    const std::uint64_t value = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) letters_.erase(found);
    return value;
  }
  /// Stores a letter that has been received. Another thread may receive the next one.
  void deliver(int sender, const Letter& letter) {
    const MutexLock lock(mutex_);
    letters_[{sender, letter.name}].push_back(letter.value);
    receiving_.erase(sender);
  }

 private:
  Mutex mutex_;
  std::map<std::pair<int, std::uint64_t>, std::deque<std::uint64_t>> letters_
      IMPISHIM_GUARDED_BY(mutex_);
  std::set<int> receiving_
      IMPISHIM_GUARDED_BY(mutex_);  ///< the senders that a thread receives from
};

}  // namespace impishim::shim
