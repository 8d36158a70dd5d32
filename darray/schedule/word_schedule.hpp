// SPDX-License-Identifier: Apache-2.0
/// Schedules of single elements (Adlib's MessSchedule).
#pragma once

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

/// A schedule whose messages are lists of elements of one size, given by their offsets. Regular
/// sequences of offsets are compressed.
class WordSchedule : public Schedule {
 public:
  using Schedule::Schedule;
  void add_send(int peer, std::span<const Index> offsets) {
    Schedule::add_send(peer, words(offsets));
  }
  void add_receive(int peer, std::span<const Index> offsets) {
    Schedule::add_receive(peer, words(offsets));
  }
  void add_local(std::span<const Index> source, std::span<const Index> destination) {
    Schedule::add_local(words(source), words(destination));
  }

 private:
  static Selection words(std::span<const Index> offsets) {
    Selection selection;
    selection.add(offsets);
    return selection;
  }
};

}  // namespace impishim::darray
