// SPDX-License-Identifier: Apache-2.0
/// How a process tells impirun its rank in the joined job, for labels before its output.
#pragma once

#include <cstdint>

namespace impishim::wire {

/// The variable by which impirun asks: the number of a descriptor, and device and inode of the pipe
/// that it must be, with colons between them.
constexpr const char* kRankPipeVariable = "IMPISHIM_RANK_PIPE";

/// Writes the rank to the pipe and closes it, if the variable names a pipe that is open in this
/// process. A process that has inherited the variable alone, and another descriptor of that number,
/// does nothing.
void tell_rank(std::int32_t rank);

}  // namespace impishim::wire
