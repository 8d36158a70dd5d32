// SPDX-License-Identifier: Apache-2.0
// Remote access: one side names what it wants (Adlib's DataSchedule), and the directory that finds
// it by label.
#pragma once

#include <span>
#include <vector>

#include "darray/schedule/word_schedule.hpp"

namespace impishim::darray {

/// Where an element lies: a rank, and an offset in that rank's buffer. Rank kNowhere: the element
/// is not wanted, or not found.
struct Location {
  static constexpr int kNowhere = -1;
  int rank = kNowhere;
  Index offset = 0;
  bool operator==(const Location&) const = default;
};

/// A schedule that brings the elements at `wanted` here: the k-th goes to offset destination[k] of
/// the destination buffer, or to offset k if `destination` is empty; kNowhere skips it. The owners
/// learn at construction what is wanted of them. Forwards it gathers (owners' buffers are the
/// source); backwards it scatters to the owners, with an operator where several meet: use
/// ScheduleOptions::ordered for "highest rank wins" without one. Collective. Errors: kArgument for
/// a rank that is none or another number of destinations than wanted elements (with checks, of all
/// ranks).
WordSchedule lookup_schedule(const Communicator& communicator, Element element,
                             std::span<const Location> wanted,
                             std::span<const Index> destination = {}, ScheduleOptions options = {});

/// Finds elements by labels, any 64-bit numbers. Each label's entry is kept by the rank that a hash
/// of the label gives.
class Directory {
 public:
  /// Every rank names the labels that it owns; labels[k] is at offset k of its buffer, or at
  /// offsets[k]. A label of several ranks is found at the lowest. Collective. Errors: kMpi.
  Directory(const Communicator& communicator, std::span<const Index> labels,
            std::span<const Index> offsets = {});
  ~Directory();
  Directory(Directory&&) noexcept;
  Directory& operator=(Directory&&) noexcept;

  /// Where these labels are; kNowhere for those that nobody owns. Collective; each rank has its own
  /// list.
  std::vector<Location> find(std::span<const Index> labels, Checks checks = Checks::kOn) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impishim::darray
