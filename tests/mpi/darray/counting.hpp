// SPDX-License-Identifier: Apache-2.0
/// What a program really sends: MPI's profiling interface counts, whatever libraries say about
/// themselves.
#pragma once

namespace impishim_test {

/// Point-to-point messages that this process has begun to send.
struct Traffic {
  long messages = 0;
  long bytes = 0;
};

/// Counts from here on.
void count_from_here();
Traffic counted();

}  // namespace impishim_test
