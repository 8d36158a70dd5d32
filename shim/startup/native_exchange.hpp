// SPDX-License-Identifier: Apache-2.0
/// Small exchanges among the processes of one system during startup. They use the vendor's
/// nonblocking collectives: its blocking ones spin, and where processes share processors each of
/// their rounds waits for the end of the spinning processes' time slices.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::shim {

/// Blocks until all processes of `comm` have called it. Sleeps between polls: the vendor's barrier
/// would spin while others wait for the network.
void sleeping_barrier(MPI_Comm comm);
/// Completes a request of the vendor's. Yields between polls, and sleeps if it takes long.
void wait_politely(MPI_Request request);
/// Returns a duplicate of `comm`. Collective over it.
[[nodiscard]] MPI_Comm duplicate(MPI_Comm comm);
/// Returns the bytes of every process in rank order on `root`, and an empty vector elsewhere.
[[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, int root,
                                                               std::span<const std::byte> mine);
/// Returns the root's bytes on every process.
[[nodiscard]] std::vector<std::byte> broadcast_bytes(MPI_Comm comm, int root,
                                                     std::vector<std::byte> bytes);
/// Returns the error of the lowest rank that has one, on every process; nothing if no rank has one.
/// An error that only follows from the error of another process (kAborted) is returned only if
/// there is no other.
[[nodiscard]] std::optional<Error> first_error(MPI_Comm comm, const std::optional<Error>& mine);
/// Checks that the variable `name` has the same value as on rank 0 (empty: not set). Error
/// kConfiguration on a process where it differs.
[[nodiscard]] Result<void> same_as_first(MPI_Comm comm, const char* name, const std::string& value);

}  // namespace impishim::shim
