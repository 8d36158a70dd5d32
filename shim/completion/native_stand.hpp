// SPDX-License-Identifier: Apache-2.0
/// Blocking vendor calls, marked for the progress thread.
#pragma once

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Marks a blocking vendor call on a communicator, window or file inside this system. It costs a
/// test of a counter, unless an outstanding operation needs the thread: that operation then makes
/// as much progress as possible before the call.
class NativeStand {
 public:
  NativeStand(Job& job, const VendorCallKind& call);
  ~NativeStand() {
    if (stands_) leave();
  }
  NativeStand(const NativeStand&) = delete;
  NativeStand& operator=(const NativeStand&) = delete;

 private:
  [[nodiscard]] bool enter(const VendorCallKind& call);
  void leave();

  Job& job_;
  const bool stands_;
};

}  // namespace impishim::shim
