// SPDX-License-Identifier: Apache-2.0
/// Remote access in which one side names the elements that it wants (Adlib's DataSchedule), and the
/// directory that finds elements by label.
#pragma once

#include <span>
#include <vector>

#include "darray/schedule/word_schedule.hpp"

namespace impishim::darray {

/// The location of an element: a rank, and an offset in that rank's buffer. The rank kNowhere means
/// that the element is not wanted, or was not found.
struct Location {
  static constexpr int kNowhere = -1;
  int rank = kNowhere;
  Index offset = 0;
  bool operator==(const Location&) const = default;
};

/// Returns a schedule that brings the elements at `wanted` to this rank. Element k goes to offset
/// destination[k] of the destination buffer, or to offset k if `destination` is empty. A location
/// with rank kNowhere is skipped. The owners learn at construction which elements are wanted.
///
/// A forward execution gathers: the owners' buffers are the source. A backward execution scatters
/// to the owners, with an operator where several values meet at one element. Without an operator,
/// ScheduleOptions::ordered gives "highest rank wins".
///
/// Collective. Throws Error(kArgument) if a rank is invalid, or if the number of destinations is
/// not the number of wanted elements. With checks, all ranks throw.
WordSchedule lookup_schedule(const Communicator& communicator, Element element,
                             std::span<const Location> wanted,
                             std::span<const Index> destination = {}, ScheduleOptions options = {});

/// A directory that finds elements by labels, which are arbitrary 64-bit numbers. The rank that the
/// hash of a label selects keeps the entry of that label.
class Directory {
 public:
  /// Every rank names the labels that it owns. labels[k] is at offset k of its buffer, or at
  /// offsets[k] if `offsets` is given. A label that several ranks own is found at the lowest of
  /// them. Collective. Throws Error(kArgument) if the numbers of labels and offsets differ. Throws
  /// Error(kMpi) if an MPI call fails.
  Directory(const Communicator& communicator, std::span<const Index> labels,
            std::span<const Index> offsets = {});
  ~Directory();
  Directory(Directory&&) noexcept;
  Directory& operator=(Directory&&) noexcept;

  /// Returns the locations of these labels, with rank kNowhere for labels that no rank owns.
  /// Collective; each rank has a list of its own.
  std::vector<Location> find(std::span<const Index> labels, Checks checks = Checks::kOn) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace impishim::darray
