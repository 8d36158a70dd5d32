// SPDX-License-Identifier: Apache-2.0
/// Where the processes can come to run that no word of the command line or of a job file sends
/// away.
#pragma once

namespace impishim::launch {

/// Returns true if a launcher can start processes on other nodes although no section names a
/// launcher or hosts: IMPISHIM_MPIEXEC is no mpiexec, or names hosts; or impirun runs in an
/// allocation of several nodes (Slurm, PBS), which an mpiexec finds by itself.
[[nodiscard]] bool may_reach_other_nodes();

}  // namespace impishim::launch
