// SPDX-License-Identifier: Apache-2.0
/// Schedules of strided patches (Adlib's BlockMessSchedule).
#pragma once

#include "darray/schedule/schedule.hpp"

namespace impishim::darray {

/// A schedule whose messages consist of patches, given by extents and strides.
class BlockSchedule : public Schedule {
 public:
  using Schedule::Schedule;
  void add_send(int peer, const Patch& patch) { Schedule::add_send(peer, patch); }
  void add_receive(int peer, const Patch& patch) { Schedule::add_receive(peer, patch); }
  void add_local(const Patch& source, const Patch& destination) {
    Schedule::add_local(source, destination);
  }
};

}  // namespace impishim::darray
