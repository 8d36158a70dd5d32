// SPDX-License-Identifier: Apache-2.0
/// Blocking calls of the vendor's, marked for the progress thread.
#pragma once

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Marks a blocking call of the vendor's on a communicator, window or file inside this system.
/// Costs a test of a counter, unless something is outstanding that needs the thread: then that goes
/// as far as it can before the call.
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
