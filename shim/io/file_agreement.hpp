// SPDX-License-Identifier: Apache-2.0
/// What the processes that open a file agree on: which system has it, and which systems see it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "shim/job/communicator.hpp"
#include "wire/file/file_probe.hpp"
#include "wire/file/file_status.hpp"

namespace impishim::shim {

struct File;
struct Job;

/// Returns the system of this process, an index in the communicator's `masters`, as everywhere
/// here. That is in the order of ranks; IMPI_CLIENT_COLOR is in the order of clients.
[[nodiscard]] std::int32_t own_system(const Communicator& communicator);

/// Returns the processes of a system, as ranks in `communicator`.
[[nodiscard]] std::vector<std::int32_t> ranks_of_system(const Communicator& communicator,
                                                        std::int32_t system);

/// Sets `home` to the system that rank 0 asks for by the hint `impishim_file_system`, or to its
/// own. Compares the access modes. Returns a code that has been raised on MPI_FILE_NULL.
[[nodiscard]] int agree_on_home(Job& job, Communicator& communicator, int mode, MPI_Info hints,
                                std::int32_t& home);

/// Returns false if the hint `impishim_file_sharing` is `never`: the program does not trust a file
/// system that several systems see, for example for the caches of its clients.
[[nodiscard]] bool may_share(MPI_Info hints);

/// What the first process of the file's system tells the others.
struct HomeNews {
  wire::FileStatus status = wire::FileStatus::kDone;
  wire::FileProbeToken token;
};

/// Sends the news of rank `from` to all. Returns a code that was not raised.
[[nodiscard]] int share_news(Job& job, Communicator& communicator, std::int32_t from,
                             HomeNews& news);

/// Returns for each system whether all of its processes see the file. `here` is what this process
/// found. Sets `code` to one that was not raised.
[[nodiscard]] std::vector<int> agree_on_sight(Job& job, Communicator& communicator, bool here,
                                              int& code);

/// Sets `status` to an error of some process, if there is one. Returns a code that was not raised.
[[nodiscard]] int agree_on_status(Job& job, Communicator& communicator, wire::FileStatus& status);

/// Waits until what all processes have written before is in the file. Sets `status` to an error of
/// some process, or to kDone. Returns a code that was not raised.
[[nodiscard]] int finish_writes_of_all(Job& job, File& file, wire::FileStatus& status);

}  // namespace impishim::shim
